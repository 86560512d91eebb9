#include "app/commands/select/dialects.h"

#include <fmt/core.h>

#include <functional>
#include <map>
#include <unordered_set>

#include "app/render/render.h"
#include "core/graph/data_values.h"
#include "core/graph/operators.h"
#include "core/tagging/words.h"
#include "file/model/element_types.h"
#include "file/model/tensor_data.h"
#include "onnx_tag/error.h"
#include "uses/sizes/shapes.h"

namespace onnx_tag {
namespace {

// What a tool calls the things that it converts.
enum class Wanted {
  kNodes,
  kSplitNodes,     // it splits a Gemm in two before it looks at the list
  kPatterns,       // regular expressions of Python that fit one node each
  kSplitPatterns,  // both
  kProducts,       // products with a constant matrix, by the node's name
  kOutputs,        // tensors of floating-point numbers that nodes make
};

// Templates of what the tool reads. `$names` is the list of names, or with
// `entry` an object that has this value for each; `$lines` has a line for each.
// `$chosen` and `$excluded` are `$names`, and the one that --exclude does not
// mean is empty. `$key` depends on --exclude, too.
struct Dialect {
  SelectTool tool;
  Wanted wanted;
  // It takes only what it must leave alone. To convert the selected nodes alone
  // is to name all others.
  bool others = false;
  std::string_view entry = {};
  std::string_view json = {};
  std::string_view python = {};
  std::string_view text = {};
  std::string_view key = {};
  std::string_view excluded_key = {};
};

constexpr Dialect kDialects[] = {
    // quantize_dynamic and quantize_static.
    {.tool = SelectTool::kOrtQuant,
     .wanted = Wanted::kSplitNodes,
     .json = R"({"nodes_to_quantize": $chosen, "nodes_to_exclude": $excluded})",
     .python = "nodes_to_quantize = $chosen\nnodes_to_exclude = $excluded"},
    // Olive takes an empty list for "nothing".
    {.tool = SelectTool::kOlive,
     .wanted = Wanted::kSplitNodes,
     .json =
         R"({"passes": {"quantization": {"type": "OnnxDynamicQuantization", )"
         R"("$key": $names}}})",
     .key = "nodes_to_quantize",
     .excluded_key = "nodes_to_exclude"},
    {.tool = SelectTool::kModelopt,
     .wanted = Wanted::kPatterns,
     .json = R"({"$key": $names})",
     .python = "$key = $names",
     .key = "nodes_to_quantize",
     .excluded_key = "nodes_to_exclude"},
    // NNCF does not see every node: it checks the names only on request.
    {.tool = SelectTool::kNncf,
     .wanted = Wanted::kNodes,
     .others = true,
     .json = R"({"ignored_scope": {"names": $names, "validate": false}})",
     .python = "ignored_scope = nncf.IgnoredScope(names=$names, "
               "validate=False)"},
    // PostTrainingQuantConfig of neural-compressor 2.
    {.tool = SelectTool::kNeuralCompressor,
     .wanted = Wanted::kSplitPatterns,
     .others = true,
     .entry = R"({"activation": {"dtype": ["fp32"]}, )"
              R"("weight": {"dtype": ["fp32"]}})",
     .json = R"({"op_name_dict": $names})",
     .python = "op_name_dict = $names"},
    // convert_float_to_float16 of onnxconverter-common and ONNX Runtime.
    {.tool = SelectTool::kFp16,
     .wanted = Wanted::kNodes,
     .others = true,
     .json = R"({"node_block_list": $names})",
     .python = "node_block_list = $names"},
    // Node precision information of Qualcomm's Cloud AI compiler.
    {.tool = SelectTool::kNpi,
     .wanted = Wanted::kOutputs,
     .json = R"({"FP$precisionNodeInstanceNames": $all})",
     .text = "FP$precisionNodeInstanceNames:\n$lines"},
    // Encodings that Qualcomm's converters read, in the layout of 0.6.1.
    {.tool = SelectTool::kQnnOverrides,
     .wanted = Wanted::kOutputs,
     .entry = R"([{"bitwidth": $precision, "dtype": "float"}])",
     .json = R"({"version": "0.6.1", "activation_encodings": $names, )"
             R"("param_encodings": $weights})"},
    // RTNWeightOnlyQuantConfig and KQuantWeightOnlyQuantConfig of ONNX Runtime;
    // as JSON, Olive's pass.
    {.tool = SelectTool::kMatmulnbits,
     .wanted = Wanted::kProducts,
     .entry = R"({"bits": $bits$group})",
     .json =
         R"({"passes": {"quantization": {"type": "OnnxKQuantQuantization", )"
         R"("customized_weight_config": $names}}})",
     .python = "customized_weight_config = $names"},
    // extra_options of quantize_static; as JSON, Olive's pass.
    {.tool = SelectTool::kOrtOverrides,
     .wanted = Wanted::kOutputs,
     .entry = R"([{"quant_type": QuantType.$type}])",
     .json = R"({"passes": {"overrides": {"type": "MixedPrecisionOverrides", )"
             R"("overrides_config": $types}}})",
     .python = "from onnxruntime.quantization import QuantType\n\n"
               "extra_options = {\"TensorQuantOverrides\": $all}"},
    // convert_to_mixed_precision of ModelOpt.
    {.tool = SelectTool::kAutocast,
     .wanted = Wanted::kPatterns,
     .others = true,
     .json = R"({"nodes_to_exclude": $names})",
     .python = "nodes_to_exclude = $names"},
    // QConfig of Quark.
    {.tool = SelectTool::kQuark,
     .wanted = Wanted::kNodes,
     .others = true,
     .json = R"({"exclude": $names})",
     .python = "exclude = $names"},
};

const Dialect* FindDialect(SelectTool tool) {
  for (const Dialect& dialect : kDialects) {
    if (dialect.tool == tool) return &dialect;
  }
  return nullptr;
}

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

using Names = std::vector<std::string>;

// The names that a tool gets, and why it cannot have others.
class NameFinder {
 public:
  NameFinder(const Selection& selection, const SelectOptions& options,
             const Dialect& dialect, ToolInput& input)
      : model_(selection.model.model()),
        selection_(selection),
        options_(options),
        dialect_(dialect),
        input_(input) {}

  Names Find() {
    switch (dialect_.wanted) {
      case Wanted::kProducts:
        return Products();
      case Wanted::kOutputs:
        return Outputs();
      default:
        return Nodes();
    }
  }

  // Tensors of floating-point numbers that the selected nodes read.
  Names Weights() const {
    Names names;
    std::unordered_set<ValueId> seen;
    for (const NodeId node : selection_.nodes) {
      for (const ValueId value : model_.Inputs(node)) {
        const Initializer* const tensor =
            value == kNo<ValueId> ? nullptr : model_.InitializerOf(value);
        if (tensor != nullptr && IsFloat(tensor->data_type) &&
            CountElements(model_.Dims(*tensor)) > 1 &&
            seen.insert(value).second) {
          names.emplace_back(model_.ValueName(value));
        }
      }
    }
    return names;
  }

 private:
  Names Nodes() {
    Names names;
    const bool patterns = dialect_.wanted == Wanted::kPatterns ||
                          dialect_.wanted == Wanted::kSplitPatterns;
    const bool splits = dialect_.wanted == Wanted::kSplitNodes ||
                        dialect_.wanted == Wanted::kSplitPatterns;
    for (const NodeId node : dialect_.others && !options_.exclude
                                 ? OtherNodes()
                                 : selection_.nodes) {
      const std::string name(model_[node].name);
      const auto add = [&](const std::string& one) {
        names.push_back(patterns ? PatternOf(one) : one);
      };
      add(name);
      if (!splits || FindOp(model_.OpType(node)) != Op::kGemm) continue;
      add(name + "_MatMul");
      add(name + "_Add");
    }
    if (dialect_.wanted == Wanted::kSplitNodes && !options_.exclude) {
      NoteHiddenWeights();
    }
    return names;
  }

  // A note on products whose weights another node passes on: ONNX Runtime's
  // quantizer looks for weights among the initializers.
  void NoteHiddenWeights() {
    if (selection_.model.file() == nullptr) return;
    const Operators ops(model_);
    const DataValues data(model_, ops, FunctionCalls(model_));
    std::vector<std::string> lines;
    for (const NodeId node : selection_.nodes) {
      const std::span<const ValueId> inputs = model_.Inputs(node);
      if (!ops.Is(node, {OpKind::kProduct, OpKind::kConvolution}) ||
          ops.Is(node, OpKind::kInteger) || inputs.size() < 2 ||
          inputs[1] == kNo<ValueId>) {
        continue;
      }
      const NodeId maker = model_.Producer(inputs[1]);
      if (maker == kNo<NodeId> || !data.IsConstant(inputs[1])) continue;
      lines.push_back(NodeLine(
          model_, node,
          Message("its weight is behind {}", Short{model_.OpType(maker), 40})));
    }
    if (lines.empty()) return;
    input_.notes.push_back(fmt::format(
        "the tool skips {}, or leaves the weight in float: it quantizes "
        "initializers; fold constants first{}",
        Count(lines.size(), "product"), ListLines(lines)));
  }

  std::vector<NodeId> OtherNodes() {
    const std::unordered_set<NodeId> selected(selection_.nodes.begin(),
                                              selection_.nodes.end());
    std::vector<NodeId> others;
    std::unordered_set<std::string_view> seen;
    for (const NodeId node : model_.Nodes()) {
      // The tools do not look into functions.
      if (selected.contains(node) ||
          model_.GraphPath(node).starts_with("fn:")) {
        continue;
      }
      const std::string_view name = model_[node].name;
      if (!name.empty()) {
        if (seen.insert(name).second) others.push_back(node);
      } else if (!options_.skip_unaddressable) {
        input_.obstacles.push_back(
            Message("{}  {}: it has no name, so it cannot be left out",
                    model_.Address(node), Short{model_.OpType(node), 40}));
      }
    }
    return others;
  }

  Names Products() {
    RequireFile("weights");
    const Operators ops(model_);
    Names names;
    std::size_t other = 0;
    for (const NodeId node : selection_.nodes) {
      const std::span<const ValueId> inputs = model_.Inputs(node);
      if (ops[node] != Op::kMatMul || inputs.size() != 2) {
        ++other;
      } else if (const Initializer* const matrix =
                     model_.InitializerOf(inputs[1]);
                 matrix == nullptr || matrix->rank != 2) {
        Refuse(node, "its second input is not a constant matrix");
      } else {
        names.emplace_back(model_[node].name);
      }
    }
    if (other > 0) {
      input_.notes.push_back(
          Message("left out: {} that are no MatMul", Count(other, "node")));
    }
    return names;
  }

  Names Outputs() {
    RequireFile("types");
    const sizes::Shapes shapes(model_);
    const DataValues data(model_, Operators(model_), FunctionCalls(model_));
    Names names;
    std::unordered_set<std::string_view> seen;
    std::size_t other = 0;
    for (const NodeId node : selection_.nodes) {
      if (model_[node].graph != GraphId{0}) {
        Refuse(node, "it is not in the main graph");
        continue;
      }
      for (const ValueId value : model_.Outputs(node)) {
        if (value == kNo<ValueId>) continue;
        const std::int32_t type = shapes.TypeOf(value);
        if (data.IsConstant(value) || (type != 0 && !IsFloat(type))) {
          ++other;
        } else if (!seen.insert(model_.ValueName(value)).second) {
          Refuse(node, "another node has an output of this name");
        } else {
          names.emplace_back(model_.ValueName(value));
        }
      }
    }
    if (other > 0) {
      input_.notes.push_back(
          Message("left out: {} of constants or of whole numbers",
                  Count(other, "tensor")));
    }
    return names;
  }

  void Refuse(NodeId node, std::string_view why) {
    if (options_.skip_unaddressable) return;
    input_.obstacles.push_back(NodeLine(model_, node, why));
  }

  void RequireFile(std::string_view what) const {
    if (selection_.model.file() != nullptr) return;
    Fail(ErrorKind::kUsage, "{}: a sidecar has no {}: --for {} needs the model",
         options_.model, what, EnumToWord(kSelectToolNames, options_.tool));
  }

  const Model& model_;
  const Selection& selection_;
  const SelectOptions& options_;
  const Dialect& dialect_;
  ToolInput& input_;
};

// The longer one of two words that start alike comes first.
using Replacements =
    std::map<std::string_view, std::function<std::string()>, std::greater<>>;

// The template with its words replaced. What replaces them is not looked at.
std::string Fill(std::string_view text, const Replacements& words) {
  std::string filled;
  while (!text.empty()) {
    const std::size_t at = text.find('$');
    filled += text.substr(0, at);
    if (at == text.npos) break;
    text.remove_prefix(at + 1);
    for (const auto& [word, make] : words) {
      if (!text.starts_with(word)) continue;
      filled += make();
      text.remove_prefix(word.size());
      break;
    }
  }
  return filled;
}

std::string ListText(const Names& names, std::string_view entry) {
  if (entry.empty()) return JsonText(names);
  std::string text = "{";
  for (const std::string& name : names) {
    text += fmt::format("{}{}: {}", text.size() > 1 ? ", " : "", JsonText(name),
                        entry);
  }
  return text + "}";
}

// "uint16" is QUInt16.
std::string QuantType(std::string_view type) {
  return type.starts_with('u') ? fmt::format("QUI{}", type.substr(2))
                               : fmt::format("QI{}", type.substr(1));
}

}  // namespace

bool FindsNodesByName(SelectTool tool) {
  const Dialect* const dialect = FindDialect(tool);
  return dialect == nullptr || dialect->wanted != Wanted::kOutputs;
}

ToolInput WriteDialect(const Selection& selection,
                       const SelectOptions& options) {
  const Dialect& dialect = *FindDialect(options.tool);
  ToolInput input;
  NameFinder finder(selection, options, dialect, input);
  const Names names = finder.Find();
  if (names.empty() && !dialect.others && input.obstacles.empty()) {
    input.obstacles.push_back("the tool cannot convert any selected node");
  }
  const Names weights = options.weights ? finder.Weights() : Names();
  Names all = names;
  all.insert(all.end(), weights.begin(), weights.end());
  Replacements words;
  words["precision"] = [&] {
    return options.precision.ends_with("16") ? "16" : "32";
  };
  words["bits"] = [&] { return std::to_string(options.bits); };
  words["group"] = [&] {
    return options.group_size == 0
               ? ""
               : fmt::format(", \"group_size\": {}", options.group_size);
  };
  words["types"] = [&] {
    return ListText(all, JsonText(QuantType(options.type)));
  };
  words["type"] = [&] { return QuantType(options.type); };
  const std::string entry = Fill(dialect.entry, words);
  words["names"] = [&] { return ListText(names, entry); };
  words["weights"] = [&] { return ListText(weights, entry); };
  words["all"] = [&] { return ListText(all, entry); };
  words["chosen"] = [&] { return JsonText(options.exclude ? Names() : names); };
  words["excluded"] = [&] {
    return JsonText(options.exclude ? names : Names());
  };
  words["key"] = [&] {
    return std::string(options.exclude ? dialect.excluded_key : dialect.key);
  };
  words["lines"] = [&] {
    std::string lines;
    for (const std::string& name : all) lines += "  - " + JsonText(name) + "\n";
    lines.pop_back();
    return lines;
  };
  if (!input.obstacles.empty()) return input;
  input.text = Fill(options.format == SelectFormat::kPython ? dialect.python
                    : options.format == SelectFormat::kText ? dialect.text
                                                            : dialect.json,
                    words) +
               "\n";
  return input;
}

}  // namespace onnx_tag
