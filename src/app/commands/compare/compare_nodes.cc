#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "app/commands/compare/compare.h"
#include "app/render/render.h"
#include "base/parse_number.h"
#include "base/text.h"
#include "base/word_list.h"
#include "core/graph/operators.h"
#include "file/model/attributes.h"
#include "file/model/element_types.h"
#include "file/model/field_kinds.h"
#include "file/model/onnx_fields.h"
#include "file/model/tensor_data.h"
#include "file/wire/field_reader.h"
#include "generated/command_words.h"
#include "uses/sizes/value_facts.h"

namespace onnx_tag {
namespace {

constexpr std::size_t kMostDims = 8;

std::string ListText(std::span<const std::int64_t> numbers) {
  return fmt::format("[{}{}]",
                     Join(numbers.first(std::min(numbers.size(), kMostDims))),
                     numbers.size() > kMostDims ? ", ..." : "");
}

// Calls `use(key, x, y)` with what both maps have for each key: first those of
// A, then those that only B has. Null: it has nothing.
template <typename Map, typename Use>
void ForEachKey(const Map& a, const Map& b, const Use& use) {
  for (const auto& [key, x] : a) {
    const auto at = b.find(key);
    use(key, &x, at == b.end() ? nullptr : &at->second);
  }
  for (const auto& [key, y] : b) {
    if (!a.contains(key)) use(key, decltype (&y)(nullptr), &y);
  }
}

std::string NamedType(std::int32_t data_type) {
  const std::string_view name = TypeName(data_type);
  return name.empty() ? fmt::format("type {}", data_type) : std::string(name);
}

struct Encoded {
  Bytes bytes;
  bool has_graph = false;
};

// The attributes of an encoded NodeProto, by name.
std::map<std::string_view, Encoded> AttributesOf(Bytes node) {
  std::map<std::string_view, Encoded> attributes;
  model::ForEach(node, onnx::NodeProto::kAttribute, [&](const auto& field) {
    attributes.try_emplace(
        model::LastOf(field.bytes, onnx::AttributeProto::kName),
        Encoded{field.bytes, HoldsGraph(field.bytes)});
  });
  return attributes;
}

// The value as people read it; "" if only its presence can be shown.
std::string ValueText(const Attribute& attribute) {
  if (!attribute.numbers.empty()) return ListText(attribute.numbers);
  if (!attribute.text.empty()) {
    return Message("{}", Short{attribute.text, 40});
  }
  if (attribute.real) return fmt::format("{}", *attribute.real);
  if (!attribute.reals.empty()) {
    constexpr std::size_t kMostReals = 16;
    const std::span<const float> reals(attribute.reals);
    const auto shown = reals.first(std::min(reals.size(), kMostReals));
    const auto text = [](float real) { return fmt::format("{}", real); };
    return fmt::format("[{}{}]", Join(Mapped(shown, text)),
                       reals.size() > kMostReals ? ", ..." : "");
  }
  return attribute.number ? std::to_string(*attribute.number) : "";
}

// Whether leaving out a number with a fraction means this value.
bool IsDefaultReal(std::string_view op, std::string_view name, float real) {
  static const auto rows = RowsOf(kCommandWords, "default");
  for (const auto& row : rows) {
    if (row[0] != name || !IsOneOf(row[2], {"*", op})) continue;
    const auto value = static_cast<float>(ParseDouble(row[1]));
    return std::abs(real - value) <= 1e-6F * std::abs(value);
  }
  return real == 0;
}

// Whether leaving the attribute out means the same, for the attributes that
// tools write or omit.
bool IsDefault(std::string_view op, std::string_view name,
               const Attribute& attribute) {
  const auto all = [&](std::int64_t wanted) {
    return std::all_of(attribute.numbers.begin(), attribute.numbers.end(),
                       [&](std::int64_t number) { return number == wanted; });
  };
  if (name == "pads") return all(0);
  if (name == "strides" || name == "dilations") return all(1);
  if (!attribute.text.empty()) {
    return attribute.text == "NOTSET" || attribute.text == "forward";
  }
  if (attribute.number) {
    const bool one = IsOneOf(name, {"keepdims", "group", "stash_type",
                                    "saturate", "largest", "sorted"});
    return *attribute.number == (one ? 1 : 0);
  }
  return attribute.real && IsDefaultReal(op, name, *attribute.real);
}

// One attribute of both nodes; either may be missing.
std::optional<std::string> CompareAttribute(std::string_view op,
                                            std::string_view name,
                                            const std::optional<Attribute>& a,
                                            const std::optional<Attribute>& b) {
  if ((!a && b && IsDefault(op, name, *b)) ||
      (!b && a && IsDefault(op, name, *a))) {
    return std::nullopt;
  }
  // Constants are compared where they are read.
  if (a && b && (!a->tensor.empty() || !b->tensor.empty())) {
    return std::nullopt;
  }
  const std::string old = a ? ValueText(*a) : "";
  const std::string now = b ? ValueText(*b) : "";
  // Numbers may be packed or not.
  if (a && b && !old.empty() && old == now) return std::nullopt;
  if (old.empty() && now.empty()) return Message("{}", name);
  return Message("{} {} -> {}", name, old.empty() ? "none" : old,
                 now.empty() ? "none" : now);
}

void CompareAttributes(std::string_view op, Bytes a, Bytes b,
                       std::vector<std::string>& differences) {
  const auto read = [](const Encoded* encoded) {
    return encoded == nullptr ? std::nullopt
                              : std::optional(ReadAttribute(encoded->bytes));
  };
  ForEachKey(
      AttributesOf(a), AttributesOf(b),
      [&](std::string_view name, const Encoded* old, const Encoded* now) {
        // The nodes of graphs are compared on their own.
        if ((old != nullptr && old->has_graph) ||
            (now != nullptr && now->has_graph) ||
            (old != nullptr && now != nullptr && old->bytes == now->bytes)) {
          return;
        }
        std::optional<std::string> difference =
            CompareAttribute(op, name, read(old), read(now));
        if (difference) differences.push_back(*std::move(difference));
      });
}

void CompareWeights(const Model& a, NodeId node_a, const Model& b,
                    NodeId node_b, std::vector<std::string>& differences) {
  const auto compare = [&](std::size_t, ValueId old, ValueId now) {
    const Initializer* const x = a.InitializerOf(old);
    const Initializer* const y = b.InitializerOf(now);
    if (x == nullptr || y == nullptr) return;
    const auto was = a.Dims(*x);
    const auto is = b.Dims(*y);
    if (!std::equal(was.begin(), was.end(), is.begin(), is.end())) {
      differences.push_back(
          fmt::format("weight {} -> {}", ListText(was), ListText(is)));
    }
    if (x->data_type != y->data_type) {
      differences.push_back(fmt::format(
          "weight {} -> {}", NamedType(x->data_type), NamedType(y->data_type)));
    }
  };
  ForEachPair(a.Inputs(node_a), b.Inputs(node_b), compare);
}

// Types of results, where both files have them.
void CompareTypes(const Model& a, NodeId node_a, const Model& b, NodeId node_b,
                  std::vector<std::string>& differences) {
  const auto compare = [&](std::size_t, ValueId old, ValueId now) {
    const ValueInfo* const x = a.InfoOf(old);
    const ValueInfo* const y = b.InfoOf(now);
    if (x == nullptr || y == nullptr || x->data_type == 0 ||
        y->data_type == 0 || x->data_type == y->data_type) {
      return;
    }
    differences.push_back(fmt::format(
        "output {} -> {}", NamedType(x->data_type), NamedType(y->data_type)));
  };
  ForEachPair(a.Outputs(node_a), b.Outputs(node_b), compare);
}

// ---------------------------------------------------------------- constants
template <typename Number>
TensorData Converted(std::int32_t data_type, std::span<const Number> numbers) {
  TensorData tensor;
  tensor.data_type = data_type;
  tensor.converted.assign(reinterpret_cast<const char*>(numbers.data()),
                          numbers.size_bytes());
  return tensor;
}

// The constant of a Constant node; nothing if it is none, or large.
std::optional<TensorData> ConstantOf(const Model& model, NodeId node) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 16;
  const Bytes bytes = model.NodeBytes(node);
  if (FindOp(model.OpType(node)) != Op::kConstant ||
      bytes.size() > kMostBytes) {
    return std::nullopt;
  }
  for (const auto& [name, encoded] : AttributesOf(bytes)) {
    const Attribute attribute = ReadAttribute(encoded.bytes);
    if (!attribute.tensor.empty()) return ReadTensorData(attribute.tensor);
    if (attribute.number) {
      return Converted(kInt64, std::span(&*attribute.number, 1));
    }
    if (attribute.real) {
      return Converted(kFloat, std::span(&*attribute.real, 1));
    }
    if (!attribute.numbers.empty()) {
      TensorData tensor = Converted(kInt64, std::span(attribute.numbers));
      tensor.dims = {static_cast<std::int64_t>(attribute.numbers.size())};
      return tensor;
    }
  }
  return std::nullopt;
}

// A constant that the code of the model has: a shape, an axis, a number of
// heads, a factor. Larger ones with a fraction, and those of quantizers, are
// weights.
std::optional<TensorData> SettingOf(const Model& model, ValueId value) {
  const Initializer* const weight = model.InitializerOf(value);
  std::optional<TensorData> tensor;
  if (weight != nullptr && !weight->small.empty()) {
    tensor = ReadTensorData(weight->small);
  } else if (weight == nullptr && model.Producer(value) != kNo<NodeId>) {
    tensor = ConstantOf(model, model.Producer(value));
  }
  if (!tensor) return tensor;
  std::int64_t elements = 1;
  for (const std::int64_t dim : tensor->dims) elements *= dim;
  const bool is_setting = tensor->data_type == kInt64 ||
                          tensor->data_type == kInt32 ||
                          tensor->data_type == kBool || elements == 1;
  // Files without weights have the types alone.
  if (!is_setting || (elements > 0 && tensor->elements().empty()))
    tensor.reset();
  return tensor;
}

bool IsOfQuantizer(std::string_view op) {
  return op.find("uantize") != op.npos || op.find("Integer") != op.npos ||
         op.starts_with("QLinear") || op == Describe(Op::kQGemm).name;
}

// "has other values", "[1, 8] -> [1, 16]"; "" if they are equal or no settings.
std::string CompareSetting(const Model& a, ValueId old, const Model& b,
                           ValueId now) {
  const std::optional<TensorData> x = SettingOf(a, old);
  if (!x) return "";
  const std::optional<TensorData> y = SettingOf(b, now);
  if (!y || x->elements() == y->elements()) return "";
  const std::string from = ElementsText(*x);
  const std::string to = ElementsText(*y);
  // Another type is told of weights.
  if (x->data_type != y->data_type && from == to) return "";
  return from == to || from.empty() || to.empty()
             ? "has other values"
             : fmt::format("{} -> {}", from, to);
}

void CompareSettings(const Model& a, NodeId node_a, const Model& b,
                     NodeId node_b, ComparedSettings& settings,
                     std::vector<std::string>& differences) {
  if (IsOfQuantizer(a.OpType(node_a))) return;
  const auto compare = [&](std::size_t place, ValueId old, ValueId now) {
    const auto [at, is_new] = settings.try_emplace({old, now});
    if (is_new) at->second = CompareSetting(a, old, b, now);
    if (at->second.empty()) return;
    differences.push_back(fmt::format("input {} {}", place, at->second));
  };
  ForEachPair(a.Inputs(node_a), b.Inputs(node_b), compare);
}

// ---------------------------------------------------------------- interfaces
// "float32 [batch, 8]". Names of dimensions are left out: they say nothing of
// the shape, and exporters invent them.
std::string InterfaceText(const Model& model, ValueId value) {
  const ValueInfo* const info = model.InfoOf(value);
  if (info == nullptr) return "no type";
  sizes::Formulas formulas;
  const sizes::Fact fact = sizes::ReadRecorded(formulas, info->type);
  std::string text = NamedType(fact.type);
  if (!fact.shape) return text;
  const auto size = [](sizes::Dim dim) {
    return dim.IsNumber() ? std::to_string(dim.number()) : "any";
  };
  return fmt::format("{} [{}]", text, Join(Mapped(*fact.shape, size)));
}

void CompareEnds(std::string_view what, const Model& a,
                 std::span<const ValueId> old, const Model& b,
                 std::span<const ValueId> now,
                 std::vector<std::string>& differences) {
  const auto by_name = [](const Model& model, std::span<const ValueId> values) {
    std::map<std::string_view, ValueId> result;
    for (const ValueId value : values) {
      // Old files list weights as inputs, too.
      if (model.InitializerOf(value) == nullptr) {
        result.emplace(model.ValueName(value), value);
      }
    }
    return result;
  };
  ForEachKey(by_name(a, old), by_name(b, now),
             [&](std::string_view name, const ValueId* x, const ValueId* y) {
               if (x == nullptr || y == nullptr) {
                 differences.push_back(Message("{} {} only in {}", what,
                                               Short{name, 100},
                                               x == nullptr ? "B" : "A"));
                 return;
               }
               const std::string from = InterfaceText(a, *x);
               const std::string to = InterfaceText(b, *y);
               if (from == to) return;
               differences.push_back(
                   Message("{} {} {} -> {}", what, Short{name, 100}, from, to));
             });
}

}  // namespace

std::vector<std::string> CompareNodes(const Model& a, NodeId node_a,
                                      const Model& b, NodeId node_b,
                                      ComparedSettings& settings) {
  std::vector<std::string> differences;
  CompareAttributes(a.OpType(node_a), a.NodeBytes(node_a), b.NodeBytes(node_b),
                    differences);
  CompareWeights(a, node_a, b, node_b, differences);
  CompareSettings(a, node_a, b, node_b, settings, differences);
  CompareTypes(a, node_a, b, node_b, differences);
  return differences;
}

std::vector<std::string> CompareOpsets(const Model& a, const Model& b) {
  const auto versions = [](const Model& model) {
    std::map<std::string, std::int64_t> result;
    for (const OpsetImport& opset : model.opset_imports()) {
      const bool standard = opset.domain.empty() || opset.domain == "ai.onnx";
      result[standard ? "ai.onnx" : Message("{}", opset.domain)] =
          opset.version;
    }
    return result;
  };
  std::vector<std::string> differences;
  ForEachKey(versions(a), versions(b),
             [&](const std::string& domain, const std::int64_t* old,
                 const std::int64_t* now) {
               const auto text = [](const std::int64_t* version) {
                 return version == nullptr ? "none" : std::to_string(*version);
               };
               if (text(old) == text(now)) return;
               differences.push_back(
                   fmt::format("{} {} -> {}", domain, text(old), text(now)));
             });
  return differences;
}

std::vector<std::string> CompareInterfaces(const Model& a, const Model& b) {
  std::vector<std::string> differences;
  const Graph& old = a[GraphId{0}];
  const Graph& now = b[GraphId{0}];
  CompareEnds("input", a, old.inputs, b, now.inputs, differences);
  CompareEnds("output", a, old.outputs, b, now.outputs, differences);
  return differences;
}

}  // namespace onnx_tag
