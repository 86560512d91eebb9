#include "mapping/classes/catalogue/equals.h"

#include <algorithm>
#include <array>

#include "mapping/classes/catalogue/table.h"

namespace onnx_tag::catalogue {
namespace {

// Families whose position ids count the tokens without padding, with a CumSum.
// A file with the same structure but without CumSum is a BERT.
constexpr std::array<std::string_view, 12> kCountPositions = {
    "roberta",    "xlm_roberta",    "camembert",
    "data2vec",   "xlm_roberta_xl", "roberta_prelayernorm",
    "longformer", "mpnet",          "esm",
    "ibert",      "xmod",           "lilt"};

std::string_view LastAtom(std::string_view path) {
  return path.substr(path.rfind('.') + 1);
}

bool Contains(const std::vector<std::string_view>& names,
              std::string_view part) {
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
    return name.find(part) != std::string_view::npos;
  });
}

}  // namespace

EqualsOrder::EqualsOrder(const Table& table, const Observation& observation)
    : table_(table),
      observation_(observation),
      likely_versions_(LikelyVersions(table, observation.torch_version)) {
  for (const SeenModule& module : observation.seen) {
    for (const SeenParameter& parameter : module.parameters) {
      if (parameter.rank == 2 && parameter.rows > 0 &&
          parameter.rows < 0x7fffffff &&
          (rows_.empty() || rows_.back() != parameter.rows)) {
        rows_.push_back(parameter.rows);
      }
    }
  }
  std::sort(rows_.begin(), rows_.end());
}

int EqualsOrder::SizesFit(TextId family) const {
  const auto seen = [&](std::uint32_t rows) {
    return std::binary_search(rows_.begin(), rows_.end(), rows);
  };
  int best = 0;
  for (const SizesRecord& sizes : table_.Sizes()) {
    if (sizes.family != family || sizes.vocabulary == kNoRows) continue;
    if (!seen(sizes.vocabulary)) continue;
    int fit = 1;
    if (sizes.positions != kNoRows && sizes.positions != kRowsNotStated &&
        seen(sizes.positions)) {
      ++fit;
    }
    if (sizes.types != kNoRows && sizes.types != kRowsNotStated &&
        seen(sizes.types)) {
      ++fit;
    }
    best = std::max(best, fit);
  }
  return best;
}

bool EqualsOrder::HasCurrentMembers(ClassId id, ModuleId at) const {
  // An old exporter says little about the version of the library.
  if (!IsToday(observation_.torch_version)) return true;
  const ModuleTree& tree = observation_.modules;
  for (const ModuleId child : tree.Children(at)) {
    const TextId name = table_.FindText(tree.Atom(child));
    for (const MemberRecord& member : table_.Members(id)) {
      if (name != kNo<TextId> && member.name == name &&
          (member.versions & likely_versions_) == 0) {
        return false;
      }
    }
  }
  return true;
}

int EqualsOrder::PositionsFit(TextId family) const {
  const std::string_view name = LastAtom(table_.Text(family));
  const bool counts = std::find(kCountPositions.begin(), kCountPositions.end(),
                                name) != kCountPositions.end();
  return counts == observation_.counts_positions ? 1 : 0;
}

// Heads of one family often have equal names, but different outputs.
int EqualsOrder::HeadFits(std::string_view name) const {
  const auto has = [&](std::string_view part) {
    return name.find(part) != std::string_view::npos;
  };
  int fit = 0;
  if (Contains(observation_.outputs, "start_logits")) {
    fit += has("QuestionAnswering") ? 2 : 0;
  } else if (has("QuestionAnswering")) {
    fit -= 1;
  }
  const bool past = Contains(observation_.inputs, "past") ||
                    Contains(observation_.outputs, "present") ||
                    Contains(observation_.outputs, "past");
  if (past && (has("CausalLM") || has("LMHead") || has("Decoder"))) fit += 1;
  if (has("MultipleChoice")) fit -= 1;
  if (observation_.output_rank == 2) {
    if (has("SequenceClassification") || has("ImageClassification")) fit += 1;
    if (has("TokenClassification") || has("MaskedLM")) fit -= 1;
  } else if (observation_.output_rank == 3) {
    if (has("SequenceClassification") || has("ImageClassification")) fit -= 1;
    if (has("TokenClassification") || has("MaskedLM") || has("CausalLM")) {
      fit += 1;
    }
    if (has("CTC")) fit += 3;
    // A decoder without a cache is the rarer export.
    if (has("MaskedLM") && !past) fit += 1;
  }
  const bool bare = Contains(observation_.outputs, "last_hidden_state") ||
                    Contains(observation_.outputs, "pooler_output");
  if (bare && has("For")) fit -= 1;
  return fit;
}

}  // namespace onnx_tag::catalogue
