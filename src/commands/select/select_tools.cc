#include "commands/select/select_tools.h"

#include <fmt/core.h>

#include <array>
#include <unordered_set>

#include "base/text.h"
#include "commands/read/closed_cut.h"
#include "commands/select/layer_rules.h"
#include "json/writer.h"

namespace onnx_tag {
namespace {

using Names = std::vector<std::string>;

Names NamesOf(const Selection& selection) {
  Names names;
  for (const NodeId node : selection.nodes) {
    names.emplace_back(selection.model.nodes().Name(node));
  }
  return names;
}

void AddList(JsonWriter& json, std::string_view key, const Names& names) {
  json.Key(key).BeginArray();
  for (const std::string& name : names) json.String(name);
  json.EndArray();
}

// A JSON list of strings is a Python list of the same strings.
std::string PythonList(const Names& names) {
  JsonWriter json;
  json.BeginArray();
  for (const std::string& name : names) json.String(name);
  json.EndArray();
  return json.Take();
}

std::string PythonText(const std::string& text) {
  JsonWriter json;
  json.String(text);
  return json.Take();
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

std::string Line(JsonWriter& json) { return json.Take() + "\n"; }

// One argument of a Python function.
ToolInput Argument(const SelectOptions& options, std::string_view key,
                   const Names& names) {
  if (options.format == SelectFormat::kPython) {
    return {fmt::format("{} = {}\n", key, PythonList(names)), {}, {}};
  }
  JsonWriter json;
  json.BeginObject();
  AddList(json, key, names);
  json.EndObject();
  return {Line(json), {}, {}};
}

// ---------------------------------------------------------------- names
ToolInput WriteNames(const Selection& selection, const SelectOptions& options) {
  const Names names = NamesOf(selection);
  ToolInput input;
  if (options.format == SelectFormat::kPython) {
    input.text = PythonList(names) + "\n";
  } else if (options.format == SelectFormat::kJson) {
    JsonWriter json;
    json.BeginObject();
    AddList(json, "nodes", names);
    json.EndObject();
    input.text = Line(json);
  } else {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (Printable(names[i], names[i].size()) != names[i]) {
        input.obstacles.push_back(fmt::format(
            "{}  {}: its name does not fit in one line; use --format json",
            Printable(selection.model.nodes().Address(selection.nodes[i])),
            Printable(names[i], 100)));
      }
      input.text += names[i] + "\n";
    }
  }
  return input;
}

// ---------------------------------------------------------------- quantizers
// The quantizer splits a Gemm in two before it looks at the lists.
void AddQuantizerNames(const NodeList& nodes, NodeId node, Names& names) {
  const std::string name(nodes.Name(node));
  names.push_back(name);
  if (nodes.Op(node) != "Gemm") return;
  names.push_back(name + "_MatMul");
  names.push_back(name + "_Add");
}

Names QuantizerNames(const Selection& selection) {
  Names names;
  for (const NodeId node : selection.nodes) {
    AddQuantizerNames(selection.model.nodes(), node, names);
  }
  return names;
}

void AddQuantizerLists(JsonWriter& json, const Names& names, bool exclude) {
  AddList(json, "nodes_to_quantize", exclude ? Names() : names);
  AddList(json, "nodes_to_exclude", exclude ? names : Names());
}

ToolInput WriteOrtQuant(const Selection& selection,
                        const SelectOptions& options) {
  const Names names = QuantizerNames(selection);
  if (options.format == SelectFormat::kPython) {
    return {fmt::format("nodes_to_quantize = {}\nnodes_to_exclude = {}\n",
                        PythonList(options.exclude ? Names() : names),
                        PythonList(options.exclude ? names : Names())),
            {},
            {}};
  }
  JsonWriter json;
  json.BeginObject();
  AddQuantizerLists(json, names, options.exclude);
  json.EndObject();
  return {Line(json), {}, {}};
}

ToolInput WriteOlive(const Selection& selection, const SelectOptions& options) {
  JsonWriter json;
  json.BeginObject().Key("passes").BeginObject();
  json.Key("quantization").BeginObject();
  json.Key("type").String("OnnxDynamicQuantization");
  // Olive takes an empty list for "nothing".
  AddList(json, options.exclude ? "nodes_to_exclude" : "nodes_to_quantize",
          QuantizerNames(selection));
  json.EndObject().EndObject().EndObject();
  return {Line(json), {}, {}};
}

// Some tools take regular expressions of Python where others take names.
std::string PatternOf(const std::string& name) {
  constexpr std::string_view kSpecial = R"(\^$.|?*+()[]{})";
  std::string pattern = "^";
  for (const char c : name) {
    if (kSpecial.find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern + "$";
}

ToolInput WriteModelopt(const Selection& selection,
                        const SelectOptions& options) {
  Names patterns;
  for (const std::string& name : NamesOf(selection)) {
    patterns.push_back(PatternOf(name));
  }
  return Argument(options,
                  options.exclude ? "nodes_to_exclude" : "nodes_to_quantize",
                  patterns);
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
  const NodeList& nodes = selection.model.nodes();
  std::vector<bool> selected(nodes.size(), false);
  for (const NodeId node : selection.nodes) selected[Index(node)] = true;
  LeftAlone left;
  std::unordered_set<std::string_view> seen;
  for (const NodeId node : nodes.All()) {
    // The tools do not look into functions.
    if (selected[Index(node)] || nodes.Graph(node).starts_with("fn:")) continue;
    const std::string_view name = nodes.Name(node);
    if (!name.empty()) {
      if (seen.insert(name).second) left.nodes.push_back(node);
    } else if (!options.skip_unaddressable) {
      left.obstacles.push_back(fmt::format(
          "{}  {}: it has no name, so it cannot be left out",
          Printable(nodes.Address(node)), Printable(nodes.Op(node), 40)));
    }
  }
  return left;
}

Names NamesOf(const LeftAlone& left, const Selection& selection) {
  Names names;
  for (const NodeId node : left.nodes) {
    names.emplace_back(selection.model.nodes().Name(node));
  }
  return names;
}

// nncf.quantize(ignored_scope=nncf.IgnoredScope(names=[...])).
ToolInput WriteNncf(const Selection& selection, const SelectOptions& options) {
  LeftAlone left = NodesLeftAlone(selection, options);
  const Names names = NamesOf(left, selection);
  // NNCF does not see every node: it checks the names only on request.
  if (options.format == SelectFormat::kPython) {
    return {fmt::format("ignored_scope = nncf.IgnoredScope(names={}, "
                        "validate=False)\n",
                        PythonList(names)),
            std::move(left.obstacles),
            {}};
  }
  JsonWriter json;
  json.BeginObject().Key("ignored_scope").BeginObject();
  AddList(json, "names", names);
  json.Key("validate").Bool(false);
  json.EndObject().EndObject();
  return {Line(json), std::move(left.obstacles), {}};
}

// PostTrainingQuantConfig(op_name_dict={...}) of neural-compressor 2.
ToolInput WriteNeuralCompressor(const Selection& selection,
                                const SelectOptions& options) {
  LeftAlone left = NodesLeftAlone(selection, options);
  Names names;
  for (const NodeId node : left.nodes) {
    AddQuantizerNames(selection.model.nodes(), node, names);
  }
  JsonWriter json;
  json.BeginObject();
  for (const std::string& name : names) {
    json.Key(PatternOf(name)).BeginObject();
    for (const std::string_view part : {"activation", "weight"}) {
      json.Key(part).BeginObject();
      json.Key("dtype").BeginArray().String("fp32").EndArray().EndObject();
    }
    json.EndObject();
  }
  json.EndObject();
  const std::string dict = json.Take();
  return {options.format == SelectFormat::kPython
              ? fmt::format("op_name_dict = {}\n", dict)
              : fmt::format("{{\"op_name_dict\": {}}}\n", dict),
          std::move(left.obstacles),
          {}};
}

// convert_float_to_float16(node_block_list=[...]) of onnxconverter-common and
// of ONNX Runtime.
ToolInput WriteFp16(const Selection& selection, const SelectOptions& options) {
  LeftAlone left = NodesLeftAlone(selection, options);
  ToolInput input =
      Argument(options, "node_block_list", NamesOf(left, selection));
  input.obstacles = std::move(left.obstacles);
  return input;
}

// ---------------------------------------------------------------- polygraphy
ToolInput WritePolygraphy(const Selection& selection,
                          const SelectOptions& options) {
  const Names names = NamesOf(selection);
  ToolInput input;
  if (options.format == SelectFormat::kJson) {
    JsonWriter json;
    json.BeginObject().Key("layer_precisions").BeginObject();
    for (const std::string& name : names) {
      json.Key(name).String(options.precision);
    }
    json.EndObject();
    json.Key("precision_constraints").String("obey").EndObject();
    input.text = Line(json);
  } else if (options.format == SelectFormat::kText) {
    input.text = "--precision-constraints obey --layer-precisions";
    for (const std::string& name : names) {
      input.text += " " + ShellWord(name + ":" + options.precision);
    }
    input.text += "\n";
  } else {
    std::string list;
    for (const std::string& name : names) {
      list += "    " + PythonText(name) + ",\n";
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
    input.obstacles.push_back(fmt::format(
        "{}  {}: {}", Printable(model.nodes().Address(obstacle.node)),
        Printable(model.nodes().Name(obstacle.node), 100), obstacle.why));
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
                             kLayerSetting, PythonText(setting));
  } else {
    JsonWriter json;
    json.BeginObject();
    json.Key("annotation_key").String("layer_ann");
    json.Key("annotations").BeginArray();
    for (const ModuleId id : rules.modules) {
      json.String(model.tagging().modules.Path(id));
    }
    json.EndArray();
    json.Key("session_options").BeginObject();
    json.Key(kLayerSetting).String(setting).EndObject();
    json.EndObject();
    input.text = Line(json);
  }
  input.notes.push_back(
      "write the annotations into the model: onnx-tag MODEL --keys "
      "tags,layer_ann");
  return input;
}

// ---------------------------------------------------------------- extract
std::string Added(const NodeList& nodes, const std::vector<NodeId>& added,
                  std::string_view what) {
  const std::string_view first = nodes.Name(added.front());
  return fmt::format("{} {} ({}{})", Count(added.size(), "node"), what,
                     first.empty() ? Printable(nodes.Address(added.front()))
                                   : Printable(first, 100),
                     added.size() > 1 ? ", ..." : "");
}

void AddAddresses(JsonWriter& json, std::string_view key, const NodeList& nodes,
                  const std::vector<NodeId>& list) {
  json.Key(key).BeginArray();
  for (const NodeId node : list) {
    json.BeginObject();
    json.Key("index").Number(nodes.IndexOf(node));
    json.Key("name").String(nodes.Name(node));
    json.EndObject();
  }
  json.EndArray();
}

ToolInput WriteExtract(const Selection& selection,
                       const SelectOptions& options) {
  const NodeList& nodes = selection.model.nodes();
  const Cut cut = CutOut(selection.model, selection.nodes);
  ToolInput input;
  for (const Cut::Obstacle& obstacle : cut.obstacles) {
    input.obstacles.push_back(
        fmt::format("{}  {}: {}", Printable(nodes.Address(obstacle.node)),
                    Printable(nodes.Name(obstacle.node), 100),
                    Printable(obstacle.why, 300)));
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
        "also extracted: " +
        Added(nodes, cut.between, "between the selected nodes"));
  }
  if (!cut.constants.empty()) {
    input.notes.push_back("also extracted: " +
                          Added(nodes, cut.constants, "with constants"));
  }
  if (options.format == SelectFormat::kPython) {
    input.text = fmt::format(
        "onnx.utils.extract_model({}, \"part.onnx\",\n"
        "    {},\n    {})\n",
        PythonText(selection.model.about().file), PythonList(cut.inputs),
        PythonList(cut.outputs));
    return input;
  }
  JsonWriter json;
  json.BeginObject();
  AddList(json, "input_names", cut.inputs);
  AddList(json, "output_names", cut.outputs);
  AddAddresses(json, "nodes", nodes, cut.nodes);
  AddAddresses(json, "added_between", nodes, cut.between);
  AddAddresses(json, "added_constants", nodes, cut.constants);
  json.EndObject();
  input.text = Line(json);
  return input;
}

// In the order of SelectTool.
constexpr std::array<Tool, 10> kTools = {{
    {SelectTool::kNames, true, WriteNames},
    {SelectTool::kOrtQuant, true, WriteOrtQuant},
    {SelectTool::kLayerAnn, false, WriteLayerAnn},
    {SelectTool::kOlive, true, WriteOlive},
    {SelectTool::kPolygraphy, true, WritePolygraphy},
    {SelectTool::kExtract, false, WriteExtract},
    {SelectTool::kModelopt, true, WriteModelopt},
    {SelectTool::kNncf, true, WriteNncf},
    {SelectTool::kNeuralCompressor, true, WriteNeuralCompressor},
    {SelectTool::kFp16, true, WriteFp16},
}};

}  // namespace

const Tool& ToolFor(SelectTool tool) {
  return kTools[static_cast<std::size_t>(tool)];
}

}  // namespace onnx_tag
