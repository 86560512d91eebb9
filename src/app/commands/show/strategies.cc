#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "app/commands/commands.h"
#include "app/commands/output/destinations.h"
#include "app/commands/read/coverage.h"
#include "app/commands/read/tagged_model.h"
#include "file/model/model_file.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

std::string_view NeedText(Need need) {
  switch (need) {
    case Need::kHierarchy:
      return "better with --hierarchy";
    case Need::kTrace:
      return "needs --trace";
    case Need::kFx:
      return "needs --fx or the metadata of a dynamo export";
    case Need::kNothing:
      break;
  }
  return "";
}

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
  return coverage.by_source[static_cast<std::size_t>(Source::kAuxiliary)];
}

Datum OutcomeValue(const Outcome& row) {
  Datum value = Datum::Object({{"name", row.info.name},
                               {"help", row.info.help},
                               {"missing", Datum::OrNull(row.missing)}});
  if (!row.missing.empty()) return value;
  Datum levels = Datum::Object({});
  for (std::size_t i = kConfidenceNames.size(); i-- > 0;) {
    levels.Set(std::string(kConfidenceNames[i]), row.coverage.by_confidence[i]);
  }
  value.Add(TaggedMembers(row.coverage));
  value.Add({{"auxiliary", Auxiliary(row.coverage)},
             {"by_confidence", std::move(levels)},
             {"agreement", Datum::Object({{"both", row.agreement.both},
                                          {"same", row.agreement.same}})}});
  return value;
}

Result CompareOn(const std::string& file, const std::vector<Outcome>& rows) {
  const auto right = [](const char* heading, std::size_t width) {
    return Column{.heading = heading, .right = true, .width = width};
  };
  const std::string first(rows.front().info.name);
  Table table{{{.heading = "strategy", .width = 18},
               right("tagged", 9),
               right("certain", 9),
               right("high", 8),
               right("medium", 8),
               right("low", 8),
               right("auxiliary", 10),
               right("untagged", 10),
               {.heading = "as " + first}},
              {},
              {}};
  Result result;
  Datum::List outcomes;
  result.Line("{}: {}\n", ShownInput(file),
              Count(rows.front().coverage.nodes, "node"));
  for (const Outcome& row : rows) {
    outcomes.push_back(OutcomeValue(row));
    if (!row.missing.empty()) {
      table.rows.push_back({row.info.name, "-"});
      continue;
    }
    const Coverage& coverage = row.coverage;
    const auto& levels = coverage.by_confidence;
    table.rows.push_back(
        {row.info.name, PercentText(coverage.tagged, coverage.nodes), levels[3],
         levels[2], levels[1], levels[0], Auxiliary(coverage),
         coverage.untagged(),
         row.agreement.both == 0
             ? "-"
             : PercentText(row.agreement.same, row.agreement.both) + " of " +
                   WithThousands(row.agreement.both)});
  }
  result.Add(std::move(table));
  for (const Outcome& row : rows) {
    if (!row.missing.empty()) result.Line("\n{}", Ours{row.missing});
  }
  result.data = std::move(outcomes);
  return result;
}

Result List() {
  Result result;
  Table table{{{.key = "name", .width = 17}, {.key = "help"}, {.key = "needs"}},
              {},
              {}};
  Datum::List list;
  for (const StrategyInfo& strategy : Strategies()) {
    const std::string_view need = NeedText(strategy.need);
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
