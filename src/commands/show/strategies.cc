#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "commands/commands.h"
#include "commands/read/fact_files.h"
#include "commands/read/tag_summary.h"
#include "json/writer.h"
#include "model/model_file.h"
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

std::string Table(const std::string& file, const std::vector<Outcome>& rows) {
  std::string text = fmt::format(
      "{}: {}\n\n{:<18} {:>8} {:>8} {:>7} {:>7} {:>7} {:>9} {:>9}  {}\n",
      file == "-" ? "standard input" : Printable(file),
      Count(rows.front().coverage.nodes, "node"), "strategy", "tagged",
      "certain", "high", "medium", "low", "auxiliary", "untagged",
      "as " + std::string(rows.front().info.name));
  std::string missing;
  for (const Outcome& row : rows) {
    const Coverage& coverage = row.coverage;
    if (!row.missing.empty()) {
      text += fmt::format("{:<18} {:>8}\n", row.info.name, "-");
      missing += fmt::format("\n{}\n", row.missing);
      continue;
    }
    const auto& levels = coverage.by_confidence;
    text += fmt::format(
        "{:<18} {:>8} {:>8} {:>7} {:>7} {:>7} {:>9} {:>9}  {}\n", row.info.name,
        PercentText(coverage.tagged, coverage.nodes), levels[3], levels[2],
        levels[1], levels[0], Auxiliary(coverage), coverage.untagged(),
        row.agreement.both == 0
            ? "-"
            : fmt::format("{} of {}",
                          PercentText(row.agreement.same, row.agreement.both),
                          WithThousands(row.agreement.both)));
  }
  return text + missing;
}

void AddOutcome(JsonWriter& json, const Outcome& row) {
  json.BeginObject();
  json.Key("name").String(row.info.name);
  json.Key("help").String(row.info.help);
  json.Key("missing").StringOrNull(row.missing);
  if (row.missing.empty()) {
    const Coverage& coverage = row.coverage;
    AddTagged(json, coverage);
    json.Key("auxiliary").Number(Auxiliary(coverage));
    json.Key("by_confidence").BeginObject();
    for (std::size_t i = kConfidenceNames.size(); i-- > 0;) {
      json.Key(kConfidenceNames[i]).Number(coverage.by_confidence[i]);
    }
    json.EndObject();
    json.Key("agreement").BeginObject();
    json.Key("both").Number(row.agreement.both);
    json.Key("same").Number(row.agreement.same);
    json.EndObject();
  }
  json.EndObject();
}

void PrintList(const StrategiesOptions& options, Terminal& terminal) {
  if (!options.json) {
    for (const StrategyInfo& strategy : Strategies()) {
      terminal.Out(fmt::format("{:<18} {}\n", strategy.name, strategy.help));
      const std::string_view need = NeedText(strategy.need);
      if (!need.empty()) terminal.Out(fmt::format("{:<18} {}\n", "", need));
    }
    return;
  }
  JsonWriter json;
  json.BeginArray();
  for (const StrategyInfo& strategy : Strategies()) {
    json.BeginObject();
    json.Key("name").String(strategy.name);
    json.Key("help").String(strategy.help);
    json.Key("needs").StringOrNull(NeedText(strategy.need));
    json.EndObject();
  }
  json.EndArray();
  terminal.Out(json.text() + "\n");
}

}  // namespace

ExitCode RunStrategies(const StrategiesOptions& options, Terminal& terminal) {
  if (options.model.empty()) {
    PrintList(options, terminal);
    return ExitCode::kOk;
  }
  // Files that cannot be read are wrong usage, whoever they are for.
  const MappingFacts facts = ReadFacts(options.mapping);
  const ModelFile file = ModelFile::Open(options.model);
  const std::vector<Outcome> outcomes = file.Map([&](const Model& model) {
    return RunAll(model, options.mapping, facts);
  });
  file.file().CheckUnchanged();
  if (!options.json) {
    terminal.Out(Table(options.model, outcomes));
    return ExitCode::kOk;
  }
  JsonWriter json;
  json.BeginArray();
  for (const Outcome& outcome : outcomes) AddOutcome(json, outcome);
  json.EndArray();
  terminal.Out(json.text() + "\n");
  return ExitCode::kOk;
}

}  // namespace onnx_tag
