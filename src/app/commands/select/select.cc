#include <fmt/core.h>

#include "app/commands/commands.h"
#include "app/commands/read/nodes.h"
#include "app/commands/read/part_plan.h"
#include "app/commands/select/dialects.h"
#include "app/commands/select/layer_rules.h"
#include "app/render/render.h"
#include "core/graph/operators.h"
#include "core/tagging/words.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

// ---------------------------------------------------------------- layer_ann
ToolInput WriteLayerAnn(const Selection& selection,
                        const SelectOptions& options) {
  const TaggedModel& model = selection.model;
  const LayerRules rules = LayerRulesFor(model.tagging(), selection.nodes);
  ToolInput input;
  input.obstacles = ObstacleLines(model.model(), rules.obstacles);
  for (const std::string& split : rules.split) {
    input.obstacles.push_back(split +
                              " are selected; layer_ann needs all of them");
  }
  const auto path_of = [&](ModuleId id) {
    return Datum(model.tagging().modules.Path(id));
  };
  const std::string setting = rules.Setting(options.device);
  input.text = FillTemplate(
      options, {{"annotations",
                 [&] { return JsonText(ListOf(rules.modules, path_of)); }},
                {"setting", [&] { return setting; }},
                {"quoted", [&] { return JsonText(setting); }}});
  input.notes.push_back(
      "write the annotations into the model: onnx-tag MODEL --keys "
      "tags,layer_ann");
  return input;
}

// Leaves the first modules that fit; false if none does.
bool KeepWithinBudget(const SelectOptions& options, Selection& selection,
                      Terminal& terminal) {
  const TaggedModel& model = selection.model;
  if (model.file() == nullptr) {
    Fail(ErrorKind::kUsage,
         "{}: a sidecar has no shapes: --budget needs the model",
         options.model);
  }
  const ModelCosts costs(model, options.shapes);
  const PartPlanner planner(model, costs, options.by, nullptr);
  PartPlanner::Prefix prefix =
      planner.ModulesWithin(*options.budget, selection.nodes);
  selection.nodes = std::move(prefix.nodes);
  const std::string next =
      prefix.next == kNo<ModuleId>
          ? "all of them"
          : Message("with {} {}",
                    Short{model.tagging().modules.Path(prefix.next), 200},
                    CostText(options.by, prefix.with_next));
  if (selection.nodes.empty()) {
    terminal.Report("no module fits into {}: {}",
                    CostText(options.by, *options.budget), next);
    return false;
  }
  terminal.Note("{} of {} on {} by {}{}; {}", CostText(options.by, prefix.cost),
                CostText(options.by, *options.budget), options.device,
                EnumToWord(kPlanByNames, options.by),
                options.by == PlanBy::kMemory && !costs.sizes.dimensions.empty()
                    ? " for " + costs.sizes.dimensions
                    : "",
                next);
  return true;
}

// ---------------------------------------------------------------- addresses
// Why `node` has no name of its own in the main graph; "" if it has.
std::string WhyNameless(const Model& nodes, const NameUses& names,
                        NodeId node) {
  if (nodes[node].name.empty()) return "it has no name";
  const std::uint64_t uses = names.Of(node);
  if (uses > 1) return fmt::format("{} share this name", Count(uses, "node"));
  if (nodes[node].graph != GraphId{0}) return "it is not in the main graph";
  return "";
}

// Nodes that cannot be told by name, a line each; they leave the selection.
std::vector<std::string> DropNameless(Selection& selection) {
  const Model& nodes = selection.model.model();
  const NameUses names(nodes);
  std::vector<std::string> lines;
  std::vector<NodeId> kept;
  for (const NodeId node : selection.nodes) {
    const std::string why = WhyNameless(nodes, names, node);
    if (why.empty()) {
      kept.push_back(node);
      continue;
    }
    lines.push_back(Message("{}  {} {}: {}", nodes.Address(node),
                            Short{nodes.OpType(node), 40},
                            Short{nodes[node].name, 100}, why));
  }
  selection.nodes = std::move(kept);
  return lines;
}

}  // namespace

Result RunSelect(const SelectOptions& options, Terminal& terminal) {
  Selection selection = SelectNodes(options, options.query, terminal);
  Result result;
  result.exit_code = ExitCode::kFindings;
  if (selection.nodes.empty()) return result;
  if (options.budget && !KeepWithinBudget(options, selection, terminal)) {
    return result;
  }
  if (!MayRestOn(selection.nodes, selection.model, options, terminal, result)) {
    return result;
  }
  // Nodes are told by their names, so these must be there, and once.
  const SelectTool& tool = FindSelectTool(options.tool);
  if (tool.Has("names", "nodes") || tool.Has("names", "products")) {
    const std::vector<std::string> nameless = DropNameless(selection);
    if (!nameless.empty()) {
      terminal.Report("the tool cannot find {} by name{}{}",
                      Count(nameless.size(), "node"),
                      options.skip_unaddressable ? "; omitted" : "",
                      Ours{ListLines(nameless)});
      if (!options.skip_unaddressable || selection.nodes.empty()) return result;
    }
  }
  ToolInput input = tool.name == "layer-ann" ? WriteLayerAnn(selection, options)
                                             : WriteDialect(selection, options);
  if (!input.obstacles.empty()) {
    terminal.Report("the tool cannot use this selection{}",
                    Ours{ListLines(input.obstacles)});
    return result;
  }
  result.exit_code = ExitCode::kOk;
  result.document = std::move(input.text);
  for (const std::string& note : input.notes) terminal.Note("{}", Ours{note});
  return result;
}

}  // namespace onnx_tag
