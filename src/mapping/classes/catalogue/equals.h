// Orders classes that fit equally well.
#pragma once

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include "base/lists.h"
#include "base/parse_number.h"
#include "core/hierarchy/name_parts.h"
#include "mapping/classes/catalogue/observation.h"
#include "mapping/classes/catalogue/table.h"

namespace onnx_tag::catalogue {

class EqualsOrder {
 public:
  EqualsOrder(const Table& table, const Observation& observation,
              const LibraryVersion& version)
      : table_(table), observation_(observation), version_(version) {
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
    for (const ClassRule* rule : RulesOf("head")) {
      if (FitsOutputs(*rule)) heads_.push_back(rule);
    }
    for (const ClassRule* rule : RulesOf("family")) {
      if (rule->name == "counts_positions") counting_ = (*rule)["any"];
    }
  }

  // Greater is better. `at`: the module that may be of this class.
  auto Key(ClassId id, ModuleId at, double score) const {
    const SectionRecord& section = table_.SectionOf(id);
    const int rank =
        section.rank == 0 ? -1'000'000 : -static_cast<int>(section.rank);
    // Whether the class existed when the file was exported.
    const bool current = (table_[id].versions & version_.likely) != 0;
    return std::tuple(SizesFit(section.family), PositionsFit(section.family),
                      HasCurrentMembers(id, at), rank,
                      static_cast<int>(table_[id].mark), current,
                      HeadFits(table_.Name(id)), std::lround(score * 100),
                      -static_cast<int>(table_.Name(id).size()),
                      -static_cast<int>(Index(id)));
  }

 private:
  // The number of the file's embedding sizes that equal those of a published
  // model.
  int SizesFit(TextId family) const {
    const auto seen = [&](std::uint32_t rows) {
      return std::binary_search(rows_.begin(), rows_.end(), rows);
    };
    int best = 0;
    for (const SizesRecord& sizes : table_.Sizes()) {
      // kNoRows and kRowsNotStated are no rows of a file.
      if (sizes.family != family || !seen(sizes.vocabulary)) continue;
      best = std::max(best, 1 + (seen(sizes.positions) ? 1 : 0) +
                                (seen(sizes.types) ? 1 : 0));
    }
    return best;
  }

  // Whether the class had the attributes of the file when it was exported. For
  // example, the class with `text_model`, which was CLIPTextModel, has another
  // name today.
  bool HasCurrentMembers(ClassId id, ModuleId at) const {
    // An old exporter says little about the version of the library.
    if (!version_.today) return true;
    const ModuleTree& tree = observation_.modules;
    for (const ModuleId child : tree.Children(at)) {
      const TextId name = table_.FindText(tree.Atom(child));
      for (const MemberRecord& member : table_.Members(id)) {
        if (name != kNo<TextId> && member.name == name &&
            (member.versions & version_.likely) == 0) {
          return false;
        }
      }
    }
    return true;
  }

  bool PositionsFit(TextId family) const {
    const std::string_view name = hierarchy::LastPart(table_.Text(family), '.');
    const bool counts = IsAmong(name, counting_);
    return counts == observation_.counts_positions;
  }

  bool FitsOutputs(const ClassRule& head) const {
    const auto seen = [&](const Words& parts) {
      return AnyIn(observation_.values,
                   [&](std::string_view name) { return HasOne(name, parts); });
    };
    const auto rank = ParseWhole<int>(head.One("rank"));
    return (head["values"].empty() || seen(head["values"])) &&
           !seen(head["no_values"]) &&
           (!rank || *rank == observation_.output_rank);
  }

  int HeadFits(std::string_view name) const {
    int fit = 0;
    for (const ClassRule* head : heads_) {
      if (HasOne(name, (*head)["words"])) fit += *ParseWhole<int>(head->name);
    }
    return fit;
  }

  static bool HasOne(std::string_view text, const Words& parts) {
    return AnyIn(parts, [&](std::string_view part) {
      return text.find(part) != std::string_view::npos;
    });
  }

  const Table& table_;
  const Observation& observation_;
  const LibraryVersion& version_;
  std::vector<std::uint32_t> rows_;      // of the file's embeddings
  std::vector<const ClassRule*> heads_;  // that fit the file's outputs
  Words counting_;  // families whose position ids count tokens
};

}  // namespace onnx_tag::catalogue
