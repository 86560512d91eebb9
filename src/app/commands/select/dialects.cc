#include "app/commands/select/dialects.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_set>

#include "app/render/render.h"
#include "core/graph/data_values.h"
#include "core/graph/operators.h"
#include "core/tagging/words.h"
#include "file/model/element_types.h"
#include "file/model/tensor_data.h"
#include "generated/select_tools.h"
#include "onnx_tag/error.h"
#include "uses/sizes/shapes.h"

namespace onnx_tag {
namespace {

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
             const SelectTool& tool, ToolInput& input)
      : model_(selection.model.model()),
        selection_(selection),
        options_(options),
        tool_(tool),
        input_(input) {}

  Names Find() {
    return Is("products") ? Products() : Is("outputs") ? Outputs() : Nodes();
  }

  // Tensors of floating-point numbers that the selected nodes read.
  Names Weights() const {
    Names names;
    std::unordered_set<ValueId> seen;
    for (const NodeId node : selection_.nodes) {
      for (const ValueId value : model_.Inputs(node)) {
        const Initializer* const tensor = model_.InitializerOf(value);
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
  bool Is(std::string_view word) const { return tool_.Has("names", word); }

  Names Nodes() {
    Names names;
    const bool patterns = Is("patterns");
    const bool splits = Is("split");
    for (const NodeId node :
         Is("others") && !options_.exclude ? OtherNodes() : selection_.nodes) {
      const std::string name(model_[node].name);
      const auto add = [&](const std::string& one) {
        names.push_back(patterns ? PatternOf(one) : one);
      };
      add(name);
      if (!splits || FindOp(model_.OpType(node)) != Op::kGemm) continue;
      add(name + "_MatMul");
      add(name + "_Add");
    }
    if (splits && !patterns && !options_.exclude) {
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
         options_.model, what, options_.tool);
  }

  const Model& model_;
  const Selection& selection_;
  const SelectOptions& options_;
  const SelectTool& tool_;
  ToolInput& input_;
};

// The template with its words replaced, of two that start alike the longer one.
// What replaces them is not looked at.
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

std::vector<SelectTool> ReadTools() {
  std::vector<SelectTool> tools;
  for (const std::string_view line : Split(kSelectTools, '\n')) {
    const std::string_view key = line.substr(0, line.find(' '));
    const std::string_view text =
        line.substr(std::min(key.size() + 1, line.size()));
    if (key.empty()) continue;
    if (key == "tool") {
      tools.push_back({text});
      continue;
    }
    auto& rows = tools.back().rows;
    const auto [at, first] = rows.try_emplace(key, text);
    if (!first) at->second.append("\n").append(text);
    if (first && (key == "json" || key == "python" || key == "text")) {
      rows["formats"].append(key).append(" ");
    }
  }
  return tools;
}

}  // namespace

std::string_view SelectTool::Text(std::string_view key) const {
  const auto at = rows.find(key);
  return at == rows.end() ? std::string_view() : at->second;
}

bool SelectTool::Has(std::string_view key, std::string_view word) const {
  const std::vector<std::string_view> words = Split(Text(key), ' ');
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::span<const SelectTool> SelectTools() {
  static const std::vector<SelectTool> tools = ReadTools();
  return tools;
}

std::vector<std::string_view> SelectToolNames() {
  return NamesOf(SelectTools());
}

const SelectTool& FindSelectTool(std::string_view name) {
  return *FindNamed(SelectTools(), name);
}

std::string FillTemplate(const SelectOptions& options,
                         const Replacements& words) {
  return Fill(FindSelectTool(options.tool).Text(options.format), words) + "\n";
}

ToolInput WriteDialect(const Selection& selection,
                       const SelectOptions& options) {
  const SelectTool& tool = FindSelectTool(options.tool);
  ToolInput input;
  NameFinder finder(selection, options, tool, input);
  const Names names = finder.Find();
  if (names.empty() && !tool.Has("names", "others") &&
      input.obstacles.empty()) {
    input.obstacles.push_back("the tool cannot convert any selected node");
  }
  const Names weights = options.weights ? finder.Weights() : Names();
  Names all = names;
  all.insert(all.end(), weights.begin(), weights.end());
  Replacements words;
  words["precision"] = [&] {
    return options.precision.ends_with("16") ? "16" : "32";
  };
  words["dtype"] = [&] { return options.precision; };
  words["bits"] = [&] { return options.bits; };
  words["group"] = [&] {
    return options.group_size == 0
               ? ""
               : fmt::format(", \"group_size\": {}", options.group_size);
  };
  words["types"] = [&] {
    return ListText(all, JsonText(QuantType(options.type)));
  };
  words["type"] = [&] { return QuantType(options.type); };
  const std::string entry = Fill(tool.Text("entry"), words);
  words["names"] = [&] { return ListText(names, entry); };
  words["weights"] = [&] { return ListText(weights, entry); };
  words["all"] = [&] { return ListText(all, entry); };
  words["chosen"] = [&] { return JsonText(options.exclude ? Names() : names); };
  words["excluded"] = [&] {
    return JsonText(options.exclude ? names : Names());
  };
  words["key"] = [&] {
    return std::string(tool.Text(options.exclude ? "excluded_key" : "key"));
  };
  const auto each = [&](std::string_view between, const auto& text) {
    return [&all, between, text] {
      Names made;
      for (const std::string& name : all) made.push_back(text(name));
      return Join(made, between);
    };
  };
  words["lines"] =
      each("\n", [](const auto& name) { return "  - " + JsonText(name); });
  words["rows"] = each(
      "\n", [](const auto& name) { return "    " + JsonText(name) + ","; });
  words["layers"] = each(" ", [&](const auto& name) {
    return ShellWord(name + ":" + options.precision);
  });
  std::size_t place = 0;
  words["bare"] = each("\n", [&](const auto& name) {
    const NodeId node = selection.nodes[place++];
    if (Message("{}", Short{name, name.size()}) != name) {
      input.obstacles.push_back(
          NodeLine(selection.model.model(), node,
                   "its name does not fit in one line; use --format json"));
    }
    return name;
  });
  if (!input.obstacles.empty()) return input;
  input.text = FillTemplate(options, words);
  return input;
}

}  // namespace onnx_tag
