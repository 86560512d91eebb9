#include <fmt/core.h>

#include <array>
#include <unordered_map>
#include <unordered_set>

#include "app/commands/commands.h"
#include "app/commands/read/closed_cut.h"
#include "app/commands/read/nodes.h"
#include "app/commands/read/part_plan.h"
#include "app/commands/select/layer_rules.h"
#include "app/render/facts.h"
#include "app/render/render.h"
#include "core/graph/operators.h"
#include "core/tagging/words.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

// What a tool gets, or why it cannot have it.
struct ToolInput {
  std::string text;
  // Nodes that the tool cannot address: a line each.
  std::vector<std::string> obstacles = {};
  std::vector<std::string> notes = {};
};

using Names = std::vector<std::string>;

// A regular expression of Python that fits this name alone.
std::string PatternOf(const std::string& name) {
  constexpr std::string_view kSpecial = R"(\^$.|?*+()[]{})";
  std::string pattern = "^";
  for (const char c : name) {
    if (kSpecial.find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern + "$";
}

// What a tool calls a node.
struct Naming {
  // The quantizer splits a Gemm in two before it looks at the lists.
  bool splits_gemm = false;
  bool patterns = false;
};

Names NamesOf(const Selection& selection, const std::vector<NodeId>& nodes,
              const Naming& naming = {}) {
  const Model& model = selection.model.model();
  Names names;
  for (const NodeId node : nodes) {
    const std::string name(model[node].name);
    const auto add = [&](const std::string& one) {
      names.push_back(naming.patterns ? PatternOf(one) : one);
    };
    add(name);
    if (!naming.splits_gemm || model.OpType(node) != "Gemm") continue;
    add(name + "_MatMul");
    add(name + "_Add");
  }
  return names;
}
// 'it'\''s': one word for a shell.
std::string ShellWord(const std::string& text) {
  std::string word = "'";
  for (const char c : text) {
    if (c == '\'') {
      word += "'\\''";
    } else {
      word += c;
    }
  }
  return word + "'";
}

std::string JsonLine(const Datum& value) { return JsonText(value) + "\n"; }

// Arguments of a Python function. JSON is Python here: lists and texts.
std::string Arguments(const SelectOptions& options,
                      const Datum::Members& arguments) {
  if (options.format != SelectFormat::kPython) {
    return JsonLine(Datum::Object(arguments));
  }
  std::string text;
  for (const auto& [key, value] : arguments) {
    text += fmt::format("{} = {}\n", key, JsonText(value));
  }
  return text;
}

// ---------------------------------------------------------------- names
ToolInput WriteNames(const Selection& selection, const SelectOptions& options) {
  const Names names = NamesOf(selection, selection.nodes);
  ToolInput input;
  if (options.format == SelectFormat::kPython) {
    input.text = JsonLine(names);
  } else if (options.format == SelectFormat::kJson) {
    input.text = JsonLine(Datum::Object({{"nodes", names}}));
  } else {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (Message("{}", Short{names[i], names[i].size()}) != names[i]) {
        input.obstacles.push_back(
            NodeLine(selection.model.model(), selection.nodes[i],
                     "its name does not fit in one line; use --format json"));
      }
      input.text += names[i] + "\n";
    }
  }
  return input;
}

// ---------------------------------------------------------------- quantizers
// A note on products whose weights another node passes on: ONNX Runtime's
// quantizer looks for weights among the initializers.
std::vector<std::string> HiddenWeights(const Selection& selection,
                                       const SelectOptions& options) {
  const Model& model = selection.model.model();
  if (options.exclude || selection.model.file() == nullptr) return {};
  const std::vector<bool> constant = ConstantNodes(model);
  std::vector<std::string> lines;
  for (const NodeId node : selection.nodes) {
    const OpKinds kinds = Describe(FindOp(model.OpType(node))).kinds;
    if (!kinds.HasAnyOf({OpKind::kProduct, OpKind::kConvolution}) ||
        kinds.HasAnyOf(OpKind::kInteger) || model.Inputs(node).size() < 2 ||
        model.Inputs(node)[1] == kNo<ValueId>) {
      continue;
    }
    const NodeId maker = model.Producer(model.Inputs(node)[1]);
    if (maker == kNo<NodeId> || !constant[model[maker].index]) continue;
    lines.push_back(NodeLine(
        model, node,
        Message("its weight is behind {}", Short{model.OpType(maker), 40})));
  }
  if (lines.empty()) return {};
  return {fmt::format(
      "the tool skips {}, or leaves the weight in float: it quantizes "
      "initializers; fold constants first{}",
      Count(lines.size(), "product"), ListLines(lines))};
}

ToolInput WriteOrtQuant(const Selection& selection,
                        const SelectOptions& options) {
  const Names names =
      NamesOf(selection, selection.nodes, {.splits_gemm = true});
  return {Arguments(options,
                    {{"nodes_to_quantize", options.exclude ? Names() : names},
                     {"nodes_to_exclude", options.exclude ? names : Names()}}),
          {},
          HiddenWeights(selection, options)};
}

ToolInput WriteOlive(const Selection& selection, const SelectOptions& options) {
  // Olive takes an empty list for "nothing".
  const Datum pass = Datum::Object(
      {{"type", "OnnxDynamicQuantization"},
       {options.exclude ? "nodes_to_exclude" : "nodes_to_quantize",
        NamesOf(selection, selection.nodes, {.splits_gemm = true})}});
  return {JsonLine(Datum::Object(
              {{"passes", Datum::Object({{"quantization", pass}})}})),
          {},
          HiddenWeights(selection, options)};
}

ToolInput WriteModelopt(const Selection& selection,
                        const SelectOptions& options) {
  return {Arguments(
      options, {{options.exclude ? "nodes_to_exclude" : "nodes_to_quantize",
                 NamesOf(selection, selection.nodes, {.patterns = true})}})};
}

// ---------------------------------------------------------------- the rest
// These tools take only what they must leave alone. To convert the selected
// nodes alone is to name all others.
struct LeftAlone {
  std::vector<NodeId> nodes;
  std::vector<std::string> obstacles;
};

LeftAlone NodesLeftAlone(const Selection& selection,
                         const SelectOptions& options) {
  if (options.exclude) return {selection.nodes, {}};
  const Model& nodes = selection.model.model();
  std::vector<bool> selected(nodes.node_count(), false);
  for (const NodeId node : selection.nodes) selected[Index(node)] = true;
  LeftAlone left;
  std::unordered_set<std::string_view> seen;
  for (const NodeId node : nodes.Nodes()) {
    // The tools do not look into functions.
    if (selected[Index(node)] || nodes.GraphPath(node).starts_with("fn:"))
      continue;
    const std::string_view name = nodes[node].name;
    if (!name.empty()) {
      if (seen.insert(name).second) left.nodes.push_back(node);
    } else if (!options.skip_unaddressable) {
      left.obstacles.push_back(
          Message("{}  {}: it has no name, so it cannot be left out",
                  nodes.Address(node), Short{nodes.OpType(node), 40}));
    }
  }
  return left;
}

// nncf.quantize(ignored_scope=nncf.IgnoredScope(names=[...])).
ToolInput WriteNncf(const Selection& selection, const SelectOptions& options) {
  LeftAlone left = NodesLeftAlone(selection, options);
  const Datum names = NamesOf(selection, left.nodes);
  // NNCF does not see every node: it checks the names only on request.
  return {options.format == SelectFormat::kPython
              ? fmt::format("ignored_scope = nncf.IgnoredScope(names={}, "
                            "validate=False)\n",
                            JsonText(names))
              : JsonLine(Datum::Object(
                    {{"ignored_scope", Datum::Object({{"names", names},
                                                      {"validate", false}})}})),
          std::move(left.obstacles)};
}

// PostTrainingQuantConfig(op_name_dict={...}) of neural-compressor 2.
ToolInput WriteNeuralCompressor(const Selection& selection,
                                const SelectOptions& options) {
  LeftAlone left = NodesLeftAlone(selection, options);
  const Datum type = Datum::Object({{"dtype", Datum::List{"fp32"}}});
  Datum dict = Datum::Object({});
  for (const std::string& name : NamesOf(
           selection, left.nodes, {.splits_gemm = true, .patterns = true})) {
    dict.Set(name, Datum::Object({{"activation", type}, {"weight", type}}));
  }
  return {Arguments(options, {{"op_name_dict", dict}}),
          std::move(left.obstacles)};
}

// convert_float_to_float16(node_block_list=[...]) of onnxconverter-common and
// of ONNX Runtime.
ToolInput WriteFp16(const Selection& selection, const SelectOptions& options) {
  LeftAlone left = NodesLeftAlone(selection, options);
  return {
      Arguments(options, {{"node_block_list", NamesOf(selection, left.nodes)}}),
      std::move(left.obstacles)};
}

// ---------------------------------------------------------------- polygraphy
ToolInput WritePolygraphy(const Selection& selection,
                          const SelectOptions& options) {
  const Names names = NamesOf(selection, selection.nodes);
  ToolInput input;
  if (options.format == SelectFormat::kJson) {
    Datum precisions = Datum::Object({});
    for (const std::string& name : names) {
      precisions.Set(name, options.precision);
    }
    input.text =
        JsonLine(Datum::Object({{"layer_precisions", std::move(precisions)},
                                {"precision_constraints", "obey"}}));
  } else if (options.format == SelectFormat::kText) {
    input.text = "--precision-constraints obey --layer-precisions";
    for (const std::string& name : names) {
      input.text += " " + ShellWord(name + ":" + options.precision);
    }
    input.text += "\n";
  } else {
    std::string list;
    for (const std::string& name : names) {
      list += "    " + JsonText(name) + ",\n";
    }
    input.text = fmt::format(
        "# polygraphy run model.onnx --trt --fp16 --precision-constraints obey "
        "\\\n"
        "#     --trt-network-postprocess-script this_file.py\n"
        "import tensorrt as trt\n\n"
        "LAYERS = {{\n{}}}\n\n\n"
        "def postprocess(network):\n"
        "    missing = set(LAYERS)\n"
        "    for index in range(network.num_layers):\n"
        "        layer = network.get_layer(index)\n"
        "        if layer.name in LAYERS:\n"
        "            layer.precision = trt.{}\n"
        "            missing.discard(layer.name)\n"
        "    if missing:\n"
        "        print(f\"{{len(missing)}} nodes are not layers of the "
        "network: "
        "{{sorted(missing)}}\")\n",
        list, options.precision);
  }
  return input;
}

// ---------------------------------------------------------------- layer_ann
constexpr std::string_view kLayerSetting = "session.layer_assignment_settings";

ToolInput WriteLayerAnn(const Selection& selection,
                        const SelectOptions& options) {
  const TaggedModel& model = selection.model;
  const LayerRules rules = LayerRulesFor(model.tagging(), selection.nodes);
  ToolInput input;
  for (const LayerRules::Obstacle& obstacle : rules.obstacles) {
    input.obstacles.push_back(
        NodeLine(model.model(), obstacle.node, obstacle.why));
  }
  for (const std::string& split : rules.split) {
    input.obstacles.push_back(split +
                              " are selected; layer_ann needs all of them");
  }
  const std::string setting = rules.Setting(options.device);
  if (options.format == SelectFormat::kText) {
    input.text = setting + "\n";
  } else if (options.format == SelectFormat::kPython) {
    input.text = fmt::format("options.add_session_config_entry(\"{}\", {})\n",
                             kLayerSetting, JsonText(setting));
  } else {
    Names annotations;
    for (const ModuleId id : rules.modules) {
      annotations.push_back(model.tagging().modules.Path(id));
    }
    input.text = JsonLine(Datum::Object(
        {{"annotation_key", "layer_ann"},
         {"annotations", annotations},
         {"session_options",
          Datum::Object({{std::string(kLayerSetting), setting}})}}));
  }
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

// ---------------------------------------------------------------- extract
std::string Added(const Model& nodes, const std::vector<NodeId>& added,
                  std::string_view what) {
  const std::string_view first = nodes[added.front()].name;
  return Message(
      "also extracted: {} {} ({}{})", Count(added.size(), "node"), what,
      first.empty() ? nodes.Address(added.front()) : std::string(first),
      added.size() > 1 ? ", ..." : "");
}

Datum Addresses(const Model& nodes, const std::vector<NodeId>& list) {
  return ListOf(list, [&](NodeId node) {
    return Datum::Object(
        {{"index", nodes[node].index}, {"name", nodes[node].name}});
  });
}

ToolInput WriteExtract(const Selection& selection,
                       const SelectOptions& options) {
  const Model& nodes = selection.model.model();
  const Cut cut =
      PartCutter(nodes, CutBy::kExtractModel).CutOutClosed(selection.nodes);
  ToolInput input;
  for (const Cut::Obstacle& obstacle : cut.obstacles) {
    input.obstacles.push_back(NodeLine(nodes, obstacle.node, obstacle.why));
  }
  if (cut.inputs.empty() && cut.obstacles.empty()) {
    input.obstacles.push_back(
        "this part has no input, but extract_model needs one");
  } else if (cut.outputs.empty() && cut.obstacles.empty()) {
    input.obstacles.push_back(
        "this part has no output, but extract_model needs one");
  }
  if (!cut.between.empty()) {
    input.notes.push_back(
        Added(nodes, cut.between, "between the selected nodes"));
  }
  if (!cut.constants.empty()) {
    input.notes.push_back(Added(nodes, cut.constants, "with constants"));
  }
  if (options.format == SelectFormat::kPython) {
    input.text = fmt::format(
        "onnx.utils.extract_model({}, \"part.onnx\",\n"
        "    {},\n    {})\n",
        JsonText(selection.model.about().file), JsonText(cut.inputs),
        JsonText(cut.outputs));
    return input;
  }
  input.text = JsonLine(
      Datum::Object({{"input_names", cut.inputs},
                     {"output_names", cut.outputs},
                     {"nodes", Addresses(nodes, cut.nodes)},
                     {"added_between", Addresses(nodes, cut.between)},
                     {"added_constants", Addresses(nodes, cut.constants)}}));
  return input;
}

struct Tool {
  // Nodes are told by their names, so these must be there, and once.
  bool by_name;
  ToolInput (*write)(const Selection& selection, const SelectOptions& options);
};

// In the order of SelectTool.
constexpr std::array<Tool, kSelectToolNames.size()> kTools = {{
    {true, WriteNames},
    {true, WriteOrtQuant},
    {false, WriteLayerAnn},
    {true, WriteOlive},
    {true, WritePolygraphy},
    {false, WriteExtract},
    {true, WriteModelopt},
    {true, WriteNncf},
    {true, WriteNeuralCompressor},
    {true, WriteFp16},
}};

// ---------------------------------------------------------------- addresses
// Why `node` has no name of its own in the main graph; "" if it has.
class NodeNames {
 public:
  explicit NodeNames(const Model& nodes) : nodes_(nodes) {
    for (const NodeId node : nodes.Nodes()) ++uses_[nodes[node].name];
  }
  std::string Obstacle(NodeId node) const {
    const std::string_view name = nodes_[node].name;
    if (name.empty()) return "it has no name";
    const std::uint64_t uses = uses_.at(name);
    if (uses > 1) return fmt::format("{} share this name", Count(uses, "node"));
    if (nodes_[node].graph != GraphId{0}) return "it is not in the main graph";
    return "";
  }

 private:
  const Model& nodes_;
  std::unordered_map<std::string_view, std::uint64_t> uses_;
};

// Nodes that cannot be told by name, a line each; they leave the selection.
std::vector<std::string> DropNameless(Selection& selection) {
  const Model& nodes = selection.model.model();
  const NodeNames names(nodes);
  std::vector<std::string> lines;
  std::vector<NodeId> kept;
  for (const NodeId node : selection.nodes) {
    const std::string why = names.Obstacle(node);
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
  Selection selection =
      SelectNodes(options.model, options.query, options.source, terminal);
  Result result;
  result.exit_code = ExitCode::kFindings;
  if (selection.nodes.empty()) return result;
  if (options.budget && !KeepWithinBudget(options, selection, terminal)) {
    return result;
  }
  if (!MayRestOn(selection.nodes, selection.model, options.model,
                 options.source, terminal, result)) {
    return result;
  }
  const Tool& tool = kTools[static_cast<std::size_t>(options.tool)];
  if (tool.by_name) {
    const std::vector<std::string> nameless = DropNameless(selection);
    if (!nameless.empty()) {
      terminal.Report("the tool cannot find {} by name{}{}",
                      Count(nameless.size(), "node"),
                      options.skip_unaddressable ? "; omitted" : "",
                      Ours{ListLines(nameless)});
      if (!options.skip_unaddressable || selection.nodes.empty()) return result;
    }
  }
  ToolInput input = tool.write(selection, options);
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
