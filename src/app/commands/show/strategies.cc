
#include <array>
#include <optional>

#include "app/commands/commands.h"
#include "app/commands/output/destinations.h"
#include "app/commands/read/coverage.h"
#include "app/commands/read/tagged_model.h"
#include "app/render/render.h"
#include "file/model/model_file.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

// In the order of Need.
constexpr std::array<std::string_view, 4> kNeedTexts = {
    "", "better with --hierarchy", "needs --trace",
    "needs --fx or the metadata of a dynamo export"};

// How far two strategies say the same.
struct Agreement {
  std::uint64_t both = 0;  // nodes that both tag
  std::uint64_t same = 0;  // of these, with the same module
};

Agreement Compare(const Tagging& a, const Tagging& b) {
  IdVector<ModuleId, ModuleId> in_b(a.modules.size(), kNo<ModuleId>);
  for (const ModuleId id : a.modules.All()) {
    if (id == ModuleTree::kRoot) {
      in_b[id] = ModuleTree::kRoot;
    } else if (const ModuleId parent = in_b[a.modules.Parent(id)];
               parent != kNo<ModuleId>) {
      in_b[id] = b.modules.FindChild(parent, a.modules.Atom(id));
    }
  }
  Agreement result;
  for (const NodeId node : AllIds<NodeId>(a.tags.size())) {
    if (!a.tags[node].tagged() || !b.tags[node].tagged()) continue;
    ++result.both;
    result.same += in_b[a.tags[node].module] == b.tags[node].module;
  }
  return result;
}

// One strategy on one model.
struct Outcome {
  StrategyInfo info;
  std::string missing;  // why it could not run
  Coverage coverage;
  Agreement agreement;
};

std::vector<Outcome> RunAll(const Model& model, const MappingOptions& mapping,
                            const MappingFacts& facts) {
  std::vector<Outcome> outcomes;
  std::optional<Tagging> first;
  for (const StrategyInfo& info : Strategies()) {
    Outcome& outcome = outcomes.emplace_back(Outcome{info, "", {}, {}});
    MappingOptions options = mapping;
    options.strategy = info.name;
    try {
      Tagging tagging = MapNodes(model, options, facts);
      outcome.coverage = CountTags(tagging);
      if (!first)
        first = std::move(tagging);
      else
        outcome.agreement = Compare(tagging, *first);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kUsage) throw;
      outcome.missing = error.what();
    }
  }
  return outcomes;
}

std::uint64_t Auxiliary(const Coverage& coverage) {
  return coverage.by_source[Index(Source::kAuxiliary)];
}

// `first`: the strategy that the others are compared with.
Facts OutcomeFacts(const Outcome& row, std::string_view first) {
  const Coverage& coverage = row.coverage;
  Facts facts = {
      {{.key = "name", .heading = "strategy", .width = 18}, row.info.name},
      {{"help", "", For::kJson}, row.info.help},
      {{"missing", "", For::kJson}, Datum::OrNull(row.missing)}};
  const auto add_text = [&](const std::string& key, std::string_view heading,
                            std::size_t width, Datum value) {
    facts.push_back({NumberColumn(key, heading, width), std::move(value)});
  };
  const auto add = [&](const char* key, Datum value) {
    facts.push_back({{key, "", For::kJson}, std::move(value)});
  };
  if (!row.missing.empty()) {
    add_text("", "tagged", 9, "-");
    return facts;
  }
  for (const auto& [key, value] : TaggedMembers(coverage)) {
    add(key.c_str(), value);
  }
  add("auxiliary", Auxiliary(coverage));
  add_text("", "tagged", 9, PercentText(coverage.tagged, coverage.nodes));
  add_text("", "sure", 7, PercentText(coverage.sure, coverage.nodes));
  add_text("", "found", 7, PercentText(coverage.found(), coverage.nodes));
  for (std::size_t i = kConfidenceNames.size(); i-- > 0;) {
    add_text("by_confidence." + std::string(kConfidenceNames[i]),
             kConfidenceNames[i], i == 3 ? 9 : 8, coverage.by_confidence[i]);
  }
  add_text("", "auxiliary", 10, Auxiliary(coverage));
  add_text("", "untagged", 10, coverage.untagged());
  const auto& [both, same] = row.agreement;
  add("agreement.both", both);
  add("agreement.same", same);
  facts.push_back(
      {{.heading = "as " + std::string(first)},
       both == 0 ? "-"
                 : PercentText(same, both) + " of " + WithThousands(both)});
  return facts;
}

Result CompareOn(const std::string& file, const std::vector<Outcome>& rows) {
  const auto facts = [&](const Outcome& row) {
    return OutcomeFacts(row, rows.front().info.name);
  };
  Result result;
  result.Line("{}: {}\n", ShownInput(file),
              Count(rows.front().coverage.nodes, "node"));
  result.Add(TableOf(rows, facts));
  for (const Outcome& row : rows) {
    if (!row.missing.empty()) result.Line("\n{}", Ours{row.missing});
  }
  result.data = ObjectsOf(rows, facts);
  return result;
}

Result List() {
  Result result;
  Table table{{{.key = "name", .width = 17}, {.key = "help"}, {.key = "needs"}},
              {},
              {}};
  Datum::List list;
  for (const StrategyInfo& strategy : Strategies()) {
    const std::string_view need = kNeedTexts[Index(strategy.need)];
    table.rows.push_back({strategy.name, strategy.help});
    if (!need.empty()) table.rows.push_back({"", need});
    list.push_back(Datum::Object({{"name", strategy.name},
                                  {"help", strategy.help},
                                  {"needs", Datum::OrNull(need)}}));
  }
  result.Add(std::move(table));
  result.data = std::move(list);
  return result;
}

}  // namespace

Result RunStrategies(const StrategiesOptions& options, Terminal& terminal) {
  if (options.model.empty()) return List();
  // Files that cannot be read are wrong usage, whoever they are for.
  const MappingFacts facts = ReadFacts(options.mapping);
  const ModelFile file = OpenModel(options.model, terminal);
  const std::vector<Outcome> outcomes = file.Map([&](const Model& model) {
    return RunAll(model, options.mapping, facts);
  });
  file.file().CheckUnchanged();
  return CompareOn(options.model, outcomes);
}

}  // namespace onnx_tag
