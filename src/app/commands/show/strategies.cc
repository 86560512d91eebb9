#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "app/commands/commands.h"
#include "app/commands/output/destinations.h"
#include "app/commands/read/coverage.h"
#include "app/commands/read/modules.h"
#include "app/commands/read/nodes.h"
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
  std::uint64_t both = 0;           // nodes that both tag
  std::uint64_t same = 0;           // of these, with the same module
  std::vector<NodeId> differ = {};  // the others
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
    if (in_b[a.tags[node].module] == b.tags[node].module) {
      ++result.same;
    } else {
      result.differ.push_back(node);
    }
  }
  return result;
}

// One strategy on one model.
struct Outcome {
  StrategyInfo info;
  std::string missing = {};  // why it could not run
  Tagging tagging = {};
  Coverage coverage = {};
  std::uint64_t modules = 0;  // that have nodes
  double seconds = 0;
  Agreement agreement = {};  // with the first
};

std::uint64_t ModulesWithNodes(const Tagging& tagging) {
  const ModuleCounts counts(tagging);
  std::uint64_t modules = 0;
  for (const ModuleId id : tagging.modules.All()) {
    if (counts.Own(id) > 0) ++modules;
  }
  return modules;
}

std::vector<Outcome> RunAll(const Model& model, const MappingOptions& mapping,
                            const MappingFacts& facts) {
  using Clock = std::chrono::steady_clock;
  std::vector<Outcome> outcomes;
  for (const StrategyInfo& info : Strategies()) {
    Outcome outcome{info};
    MappingOptions options = mapping;
    options.strategy = info.name;
    try {
      const Clock::time_point start = Clock::now();
      outcome.tagging = MapNodes(model, options, facts);
      outcome.seconds =
          std::chrono::duration<double>(Clock::now() - start).count();
      outcome.coverage = CountTags(outcome.tagging);
      outcome.modules = ModulesWithNodes(outcome.tagging);
      if (!outcomes.empty()) {
        outcome.agreement = Compare(outcome.tagging, outcomes[0].tagging);
      }
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kUsage) throw;
      outcome.missing = error.what();
    }
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

// The nodes on which a strategy disagrees with the first.
Datum Disagreements(const Model& model, const Outcome& row,
                    const Outcome& first) {
  return ListOf(row.agreement.differ, [&](NodeId node) {
    const auto path = [&](const Outcome& of) {
      return of.tagging.modules.Path(of.tagging.tags[node].module);
    };
    Datum value = NodeValue(model, node);
    value.Add({{"module", path(row)}, {"first", path(first)}});
    return value;
  });
}

std::uint64_t Auxiliary(const Coverage& coverage) {
  return coverage.by_source[Index(Source::kAuxiliary)];
}

// `first`: the strategy that the others are compared with.
Facts OutcomeFacts(const Model& model, const Outcome& row,
                   const Outcome& first) {
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
  add_text("", "found", 7, PercentText(coverage.found(), coverage.nodes));
  add_text("modules", "modules", 9, row.modules);
  for (std::size_t i = kConfidenceNames.size(); i-- > 0;) {
    add_text("by_confidence." + std::string(kConfidenceNames[i]),
             kConfidenceNames[i], i == 3 ? 9 : 8, coverage.by_confidence[i]);
  }
  add_text("", "auxiliary", 10, Auxiliary(coverage));
  add_text("", "untagged", 10, coverage.untagged());
  add_text("", "time", 9, fmt::format("{:.3f} s", row.seconds));
  add("seconds", Datum::Share(row.seconds));
  const std::uint64_t both = row.agreement.both;
  const std::uint64_t same = row.agreement.same;
  add("agreement.both", both);
  add("agreement.same", same);
  add("disagreements", Disagreements(model, row, first));
  facts.push_back(
      {{.heading = "as " + std::string(first.info.name)},
       both == 0 ? "-"
                 : PercentText(same, both) + " of " + WithThousands(both)});
  return facts;
}

void AddDisagreements(const Model& model, const std::vector<Outcome>& rows,
                      Result& result) {
  constexpr std::size_t kMostNodes = 10;
  const Outcome& first = rows.front();
  for (const Outcome& row : rows) {
    const std::vector<NodeId>& differ = row.agreement.differ;
    if (differ.empty()) continue;
    result.Line("\n{} and {} disagree on {}:", row.info.name, first.info.name,
                Count(differ.size(), "node"));
    for (std::size_t i = 0; i < std::min(differ.size(), kMostNodes); ++i) {
      result.Line("  {}: {}, not {}", Ours{NodeText(model, differ[i], 100)},
                  ModuleOf(row.tagging, differ[i], "-"),
                  ModuleOf(first.tagging, differ[i], "-"));
    }
    if (differ.size() > kMostNodes) {
      result.Line("  and {} more; --json lists all",
                  WithThousands(differ.size() - kMostNodes));
    }
  }
}

Result CompareOn(const std::string& file, const Model& model,
                 const std::vector<Outcome>& rows) {
  const auto facts = [&](const Outcome& row) {
    return OutcomeFacts(model, row, rows.front());
  };
  Result result;
  result.Line("{}: {}\n", ShownInput(file),
              Count(rows.front().coverage.nodes, "node"));
  result.Add(TableOf(rows, facts));
  AddDisagreements(model, rows, result);
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
  return CompareOn(options.model, file.model(), outcomes);
}

}  // namespace onnx_tag
