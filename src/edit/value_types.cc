// Tested by tests/edit/value_types_test.cc and, against ONNX's own inference,
// by tests/clients/check_parts.py.
#include "edit/value_types.h"

#include <algorithm>
#include <optional>

#include "model/attributes.h"
#include "model/field_kinds.h"
#include "model/onnx_fields.h"
#include "sizes/element_types.h"
#include "sizes/shapes.h"
#include "wire/field_reader.h"

namespace onnx_tag::edit {
namespace {

// Calls and graphs nested deeper are left alone; recursion is not ONNX.
constexpr int kMaxDepth = 64;

// Where the element type of the first output comes from.
enum class Element {
  kInput0,
  kInput1,
  kInput2,
  kUint8,
  kInt32,
  kInt64,
  kBool,
  kAttribute,  // `to`, `dtype`
  kUnknown,
};

// Where its rank comes from.
enum class Rank {
  kInput0,
  kBroadcast,
  kMatMul,
  kLengthOfInput1,
  kExpand,
  kGather,
  kReduce,
  kReduceAttribute,  // ArgMax, ArgMin: one axis
  kUnsqueeze,
  kSqueeze,
  kOneHot,
  kEinsum,
  kFixed0,
  kFixed1,
  kFixed2,
  kFixed3,
  kFixed4,
  kUnknown,
};

struct Rule {
  std::string_view op;
  Element element;
  Rank rank;
};

// Sorted by name. What is missing here is unknown.
constexpr Rule kRules[] = {
    {"Abs", Element::kInput0, Rank::kInput0},
    {"Acos", Element::kInput0, Rank::kInput0},
    {"Add", Element::kInput0, Rank::kBroadcast},
    {"And", Element::kBool, Rank::kBroadcast},
    {"ArgMax", Element::kInt64, Rank::kReduceAttribute},
    {"ArgMin", Element::kInt64, Rank::kReduceAttribute},
    {"Asin", Element::kInput0, Rank::kInput0},
    {"Atan", Element::kInput0, Rank::kInput0},
    {"AveragePool", Element::kInput0, Rank::kInput0},
    {"BatchNormalization", Element::kInput0, Rank::kInput0},
    {"BitwiseAnd", Element::kInput0, Rank::kBroadcast},
    {"BitwiseNot", Element::kInput0, Rank::kInput0},
    {"BitwiseOr", Element::kInput0, Rank::kBroadcast},
    {"Cast", Element::kAttribute, Rank::kInput0},
    {"CastLike", Element::kInput1, Rank::kInput0},
    {"Ceil", Element::kInput0, Rank::kInput0},
    {"Celu", Element::kInput0, Rank::kInput0},
    {"Clip", Element::kInput0, Rank::kInput0},
    {"Compress", Element::kInput0, Rank::kUnknown},
    {"Concat", Element::kInput0, Rank::kInput0},
    {"Conv", Element::kInput0, Rank::kInput0},
    {"ConvInteger", Element::kInt32, Rank::kInput0},
    {"ConvTranspose", Element::kInput0, Rank::kInput0},
    {"Cos", Element::kInput0, Rank::kInput0},
    {"CumSum", Element::kInput0, Rank::kInput0},
    {"DepthToSpace", Element::kInput0, Rank::kInput0},
    {"DequantizeLinear", Element::kInput1, Rank::kInput0},
    {"Div", Element::kInput0, Rank::kBroadcast},
    {"Dropout", Element::kInput0, Rank::kInput0},
    {"DynamicQuantizeLinear", Element::kUint8, Rank::kInput0},
    {"Einsum", Element::kInput0, Rank::kEinsum},
    {"Elu", Element::kInput0, Rank::kInput0},
    {"Equal", Element::kBool, Rank::kBroadcast},
    {"Erf", Element::kInput0, Rank::kInput0},
    {"Exp", Element::kInput0, Rank::kInput0},
    {"Expand", Element::kInput0, Rank::kExpand},
    {"Flatten", Element::kInput0, Rank::kFixed2},
    {"Floor", Element::kInput0, Rank::kInput0},
    {"GRU", Element::kInput0, Rank::kFixed4},
    {"Gather", Element::kInput0, Rank::kGather},
    {"GatherElements", Element::kInput0, Rank::kInput0},
    {"GatherND", Element::kInput0, Rank::kUnknown},
    {"Gelu", Element::kInput0, Rank::kInput0},
    {"Gemm", Element::kInput0, Rank::kFixed2},
    {"GlobalAveragePool", Element::kInput0, Rank::kInput0},
    {"GlobalMaxPool", Element::kInput0, Rank::kInput0},
    {"Greater", Element::kBool, Rank::kBroadcast},
    {"GreaterOrEqual", Element::kBool, Rank::kBroadcast},
    {"GridSample", Element::kInput0, Rank::kInput0},
    {"GroupNormalization", Element::kInput0, Rank::kInput0},
    {"HardSigmoid", Element::kInput0, Rank::kInput0},
    {"HardSwish", Element::kInput0, Rank::kInput0},
    {"Identity", Element::kInput0, Rank::kInput0},
    {"InstanceNormalization", Element::kInput0, Rank::kInput0},
    {"IsInf", Element::kBool, Rank::kInput0},
    {"IsNaN", Element::kBool, Rank::kInput0},
    {"LRN", Element::kInput0, Rank::kInput0},
    {"LSTM", Element::kInput0, Rank::kFixed4},
    {"LayerNormalization", Element::kInput0, Rank::kInput0},
    {"LeakyRelu", Element::kInput0, Rank::kInput0},
    {"Less", Element::kBool, Rank::kBroadcast},
    {"LessOrEqual", Element::kBool, Rank::kBroadcast},
    {"Log", Element::kInput0, Rank::kInput0},
    {"LogSoftmax", Element::kInput0, Rank::kInput0},
    {"LpNormalization", Element::kInput0, Rank::kInput0},
    {"MatMul", Element::kInput0, Rank::kMatMul},
    {"MatMulInteger", Element::kInt32, Rank::kMatMul},
    {"Max", Element::kInput0, Rank::kBroadcast},
    {"MaxPool", Element::kInput0, Rank::kInput0},
    {"Mean", Element::kInput0, Rank::kBroadcast},
    {"Min", Element::kInput0, Rank::kBroadcast},
    {"Mish", Element::kInput0, Rank::kInput0},
    {"Mod", Element::kInput0, Rank::kBroadcast},
    {"Mul", Element::kInput0, Rank::kBroadcast},
    {"Neg", Element::kInput0, Rank::kInput0},
    {"NonMaxSuppression", Element::kInt64, Rank::kFixed2},
    {"NonZero", Element::kInt64, Rank::kFixed2},
    {"Not", Element::kBool, Rank::kInput0},
    {"OneHot", Element::kInput2, Rank::kOneHot},
    {"Or", Element::kBool, Rank::kBroadcast},
    {"PRelu", Element::kInput0, Rank::kInput0},
    {"Pad", Element::kInput0, Rank::kInput0},
    {"Pow", Element::kInput0, Rank::kBroadcast},
    {"QLinearConv", Element::kUnknown, Rank::kInput0},
    {"QLinearMatMul", Element::kUnknown, Rank::kUnknown},
    {"QuantizeLinear", Element::kInput2, Rank::kInput0},
    {"RMSNormalization", Element::kInput0, Rank::kInput0},
    {"RNN", Element::kInput0, Rank::kFixed4},
    {"RandomNormalLike", Element::kInput0, Rank::kInput0},
    {"RandomUniformLike", Element::kInput0, Rank::kInput0},
    {"Range", Element::kInput0, Rank::kFixed1},
    {"Reciprocal", Element::kInput0, Rank::kInput0},
    {"ReduceL1", Element::kInput0, Rank::kReduce},
    {"ReduceL2", Element::kInput0, Rank::kReduce},
    {"ReduceLogSumExp", Element::kInput0, Rank::kReduce},
    {"ReduceMax", Element::kInput0, Rank::kReduce},
    {"ReduceMean", Element::kInput0, Rank::kReduce},
    {"ReduceMin", Element::kInput0, Rank::kReduce},
    {"ReduceProd", Element::kInput0, Rank::kReduce},
    {"ReduceSum", Element::kInput0, Rank::kReduce},
    {"ReduceSumSquare", Element::kInput0, Rank::kReduce},
    {"Relu", Element::kInput0, Rank::kInput0},
    {"Reshape", Element::kInput0, Rank::kLengthOfInput1},
    {"Resize", Element::kInput0, Rank::kInput0},
    {"ReverseSequence", Element::kInput0, Rank::kInput0},
    {"RotaryEmbedding", Element::kInput0, Rank::kInput0},
    {"Round", Element::kInput0, Rank::kInput0},
    {"ScatterElements", Element::kInput0, Rank::kInput0},
    {"ScatterND", Element::kInput0, Rank::kInput0},
    {"Selu", Element::kInput0, Rank::kInput0},
    {"Shape", Element::kInt64, Rank::kFixed1},
    {"Sigmoid", Element::kInput0, Rank::kInput0},
    {"Sign", Element::kInput0, Rank::kInput0},
    {"Sin", Element::kInput0, Rank::kInput0},
    {"Size", Element::kInt64, Rank::kFixed0},
    {"Slice", Element::kInput0, Rank::kInput0},
    {"Softmax", Element::kInput0, Rank::kInput0},
    {"Softplus", Element::kInput0, Rank::kInput0},
    {"Softsign", Element::kInput0, Rank::kInput0},
    {"SpaceToDepth", Element::kInput0, Rank::kInput0},
    {"Split", Element::kInput0, Rank::kInput0},
    {"Sqrt", Element::kInput0, Rank::kInput0},
    {"Squeeze", Element::kInput0, Rank::kSqueeze},
    {"Sub", Element::kInput0, Rank::kBroadcast},
    {"Sum", Element::kInput0, Rank::kBroadcast},
    {"Swish", Element::kInput0, Rank::kInput0},
    {"Tan", Element::kInput0, Rank::kInput0},
    {"Tanh", Element::kInput0, Rank::kInput0},
    {"ThresholdedRelu", Element::kInput0, Rank::kInput0},
    {"Tile", Element::kInput0, Rank::kInput0},
    {"TopK", Element::kInput0, Rank::kInput0},
    {"Transpose", Element::kInput0, Rank::kInput0},
    {"Trilu", Element::kInput0, Rank::kInput0},
    {"Unsqueeze", Element::kInput0, Rank::kUnsqueeze},
    {"Upsample", Element::kInput0, Rank::kInput0},
    {"Where", Element::kInput1, Rank::kBroadcast},
    {"Xor", Element::kBool, Rank::kBroadcast},
};

// Operators of com.microsoft that ONNX Runtime's optimizer and quantizer make.
constexpr Rule kContribRules[] = {
    {"Attention", Element::kInput0, Rank::kInput0},
    {"BiasGelu", Element::kInput0, Rank::kInput0},
    {"BiasSplitGelu", Element::kInput0, Rank::kInput0},
    {"DynamicQuantizeMatMul", Element::kInput0, Rank::kMatMul},
    {"FastGelu", Element::kInput0, Rank::kInput0},
    {"FusedConv", Element::kInput0, Rank::kInput0},
    {"FusedGemm", Element::kInput0, Rank::kFixed2},
    {"FusedMatMul", Element::kInput0, Rank::kMatMul},
    {"Gelu", Element::kInput0, Rank::kInput0},
    {"GroupQueryAttention", Element::kInput0, Rank::kFixed3},
    {"MatMulIntegerToFloat", Element::kInput2, Rank::kMatMul},
    {"MatMulNBits", Element::kInput0, Rank::kInput0},
    {"MultiHeadAttention", Element::kInput0, Rank::kFixed3},
    {"QuickGelu", Element::kInput0, Rank::kInput0},
    {"RotaryEmbedding", Element::kInput0, Rank::kInput0},
    {"SimplifiedLayerNormalization", Element::kInput0, Rank::kInput0},
    {"SkipLayerNormalization", Element::kInput0, Rank::kInput0},
    {"SkipSimplifiedLayerNormalization", Element::kInput0, Rank::kInput0},
};

template <std::size_t N>
constexpr bool IsSorted(const Rule (&rules)[N]) {
  for (std::size_t i = 1; i < N; ++i) {
    if (!(rules[i - 1].op < rules[i].op)) return false;
  }
  return true;
}
static_assert(IsSorted(kRules) && IsSorted(kContribRules));

template <std::size_t N>
const Rule* FindIn(const Rule (&rules)[N], std::string_view op) {
  const Rule* const at = std::lower_bound(
      std::begin(rules), std::end(rules), op,
      [](const Rule& rule, std::string_view name) { return rule.op < name; });
  return at != std::end(rules) && at->op == op ? at : nullptr;
}

const Rule* FindRule(std::string_view domain, std::string_view op) {
  if (domain.empty()) return FindIn(kRules, op);
  return domain == "com.microsoft" ? FindIn(kContribRules, op) : nullptr;
}

// The letters of the result in "bij,bjk->bik"; -1 if it has an ellipsis or
// is not said.
std::int32_t EinsumRank(std::string_view equation) {
  const std::size_t arrow = equation.find("->");
  if (arrow == std::string_view::npos ||
      equation.find('.') != std::string_view::npos) {
    return -1;
  }
  std::int32_t rank = 0;
  for (const char c : equation.substr(arrow + 2)) rank += c != ' ';
  return rank;
}

}  // namespace

std::string_view ElementName(std::int32_t element) {
  const std::string_view name = sizes::TypeName(element);
  return name.empty() ? "unknown" : name;
}

ValueTypes::ValueTypes(const Model& model)
    : model_(model),
      types_(model.value_count()),
      inferred_(model.functions().size(), false) {
  const sizes::Shapes shapes(model, {});
  for (const ValueId id : AllIds<ValueId>(model.value_count())) {
    // What follows from the numbers that shapes are made of.
    if (const auto& shape = shapes.Of(id)) {
      types_[id].rank = static_cast<std::int32_t>(shape->size());
      if (shape->size() == 1) types_[id].length = shape->front();
    }
    if (const Initializer* tensor = model.InitializerOf(id)) {
      const auto dims = model.Dims(*tensor);
      types_[id] = {tensor->data_type, static_cast<std::int32_t>(dims.size()),
                    dims.size() == 1 ? dims[0] : -1};
    } else if (const ValueInfo* info = model.InfoOf(id)) {
      ValueType& type = types_[id];
      type.element = info->data_type;
      if (!info->has_shape) continue;
      const auto dims = model.Dims(*info);
      type.rank = static_cast<std::int32_t>(dims.size());
      if (dims.size() == 1) type.length = dims[0];
    }
  }
  for (std::uint32_t i = 0; i < model.functions().size(); ++i) {
    functions_[model.functions()[i].name].push_back(i);
  }
  InferGraph(GraphId{0}, 0);
}

ValueType ValueTypes::Input(NodeId node, std::size_t slot) const {
  const std::span<const ValueId> inputs = model_.Inputs(node);
  return slot < inputs.size() ? (*this)[inputs[slot]] : ValueType();
}

void ValueTypes::Set(ValueId value, ValueType type) {
  if (value == kNo<ValueId>) return;
  ValueType& known = types_[value];
  if (known.element == kUndefined) known.element = type.element;
  if (known.rank < 0) known.rank = type.rank;
  if (known.rank == 1 && known.length < 0) known.length = type.length;
}

void ValueTypes::Set(NodeId node, std::size_t slot, ValueType type) {
  const std::span<const ValueId> outputs = model_.Outputs(node);
  if (slot < outputs.size()) Set(outputs[slot], type);
}

void ValueTypes::InferGraph(GraphId graph, int depth) {
  if (depth > kMaxDepth) return;
  for (const NodeId node : model_[graph].nodes) InferNode(node, depth);
}

void ValueTypes::InferNode(NodeId node, int depth) {
  if (!model_.Subgraphs(node).empty()) {
    InferSubgraphs(node, depth);
  } else if (InferCall(node, depth)) {
    return;
  } else if (model_.OpType(node) == "Constant" && model_.Domain(node).empty()) {
    InferConstant(node);
  } else {
    InferOperator(node);
  }
}

void ValueTypes::InferSubgraphs(NodeId node, int depth) {
  const std::string_view op = model_.OpType(node);
  for (const GraphId graph : model_.Subgraphs(node)) {
    const std::vector<ValueId>& inputs = model_[graph].inputs;
    const std::vector<ValueId>& outputs = model_[graph].outputs;
    if (op == "Loop") {
      // The count and the condition, then what is carried.
      for (std::size_t i = 2; i < inputs.size(); ++i) {
        Set(inputs[i], Input(node, i));
      }
    }
    InferGraph(graph, depth + 1);
    if (op == "If") {
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        Set(node, i, (*this)[outputs[i]]);
      }
    } else if (op == "Loop") {
      const std::size_t carried = inputs.size() < 2 ? 0 : inputs.size() - 2;
      for (std::size_t i = 1; i < outputs.size(); ++i) {
        ValueType type = (*this)[outputs[i]];
        // What is not carried is stacked over the rounds.
        if (i - 1 >= carried) {
          type.rank = type.rank < 0 ? -1 : type.rank + 1;
          type.length = -1;
        }
        Set(node, i - 1, type);
      }
    }
  }
}

// A function is worked out for its first call. Other calls have the same types
// only where they hand over the same.
bool ValueTypes::InferCall(NodeId node, int depth) {
  const auto at = functions_.find(model_.OpType(node));
  if (at == functions_.end()) return false;
  for (const std::uint32_t index : at->second) {
    const Function& function = model_.functions()[index];
    if (function.domain != model_.Domain(node)) continue;
    const Graph& body = model_[function.body];
    const std::span<const ValueId> actuals = model_.Inputs(node);
    const std::size_t count = std::min(body.inputs.size(), actuals.size());
    if (!inferred_[index]) {
      inferred_[index] = true;
      for (std::size_t i = 0; i < count; ++i) {
        Set(body.inputs[i], (*this)[actuals[i]]);
      }
      InferGraph(function.body, depth + 1);
    }
    bool alike = true;
    for (std::size_t i = 0; i < count; ++i) {
      const ValueType formal = (*this)[body.inputs[i]];
      const ValueType actual = (*this)[actuals[i]];
      alike &= formal.element == actual.element && formal.rank == actual.rank &&
               formal.length == actual.length;
    }
    if (!alike) return true;
    for (std::size_t i = 0; i < body.outputs.size(); ++i) {
      Set(node, i, (*this)[body.outputs[i]]);
    }
    return true;
  }
  return false;
}

ValueType ValueTypes::TensorType(Bytes tensor) const {
  ValueType type{.element = kUndefined, .rank = 0};
  wire::FieldReader reader(tensor);
  for (wire::Field field; reader.Next(field);) {
    if (field.number == onnx::TensorProto::kDims) {
      wire::ForEachVarint(field, [&](std::uint64_t dim) {
        ++type.rank;
        type.length = type.rank == 1 ? static_cast<std::int64_t>(dim) : -1;
      });
    } else if (model::IsInt(field, onnx::TensorProto::kDataType)) {
      type.element = static_cast<std::int32_t>(field.varint);
    }
  }
  return type;
}

void ValueTypes::InferConstant(NodeId node) {
  const Bytes bytes = model_.NodeBytes(node);
  if (const auto value = FindAttribute(bytes, "value")) {
    Set(node, 0, TensorType(value->tensor));
  } else if (FindAttribute(bytes, "value_int")) {
    Set(node, 0, {.element = kInt64, .rank = 0});
  } else if (FindAttribute(bytes, "value_float")) {
    Set(node, 0, {.element = kFloat, .rank = 0});
  } else if (const auto ints = FindAttribute(bytes, "value_ints")) {
    Set(node, 0,
        {.element = kInt64,
         .rank = 1,
         .length = static_cast<std::int64_t>(ints->numbers.size())});
  } else if (const auto floats = FindAttribute(bytes, "value_floats")) {
    Set(node, 0,
        {.element = kFloat,
         .rank = 1,
         .length = static_cast<std::int64_t>(floats->floats)});
  }
}

std::int32_t ValueTypes::Broadcast(NodeId node) const {
  std::int32_t rank = 0;
  for (const ValueId input : model_.Inputs(node)) {
    const std::int32_t one = (*this)[input].rank;
    if (one < 0) return -1;
    rank = std::max(rank, one);
  }
  return rank;
}

std::int32_t ValueTypes::RankOf(NodeId node, std::string_view op) const {
  const Rule* const rule = FindRule(model_.Domain(node), op);
  if (rule == nullptr) return -1;
  const Bytes bytes = model_.NodeBytes(node);
  const std::int32_t rank0 = Input(node, 0).rank;
  const std::int32_t rank1 = Input(node, 1).rank;
  switch (rule->rank) {
    case Rank::kInput0:
      return rank0;
    case Rank::kBroadcast:
      return Broadcast(node);
    case Rank::kMatMul:
      if (rank0 < 0 || rank1 < 0) return -1;
      if (rank0 == 1 && rank1 == 1) return 0;
      if (rank0 == 1 || rank1 == 1) return std::max(rank0, rank1) - 1;
      return std::max(rank0, rank1);
    case Rank::kLengthOfInput1: {
      // Before opset 5 the shape was an attribute.
      const auto shape = FindAttribute(bytes, "shape");
      if (shape) return static_cast<std::int32_t>(shape->numbers.size());
      return static_cast<std::int32_t>(Input(node, 1).length);
    }
    case Rank::kExpand: {
      const auto length = static_cast<std::int32_t>(Input(node, 1).length);
      return rank0 < 0 || length < 0 ? -1 : std::max(rank0, length);
    }
    case Rank::kGather:
      return rank0 < 0 || rank1 < 0 ? -1 : rank0 + rank1 - 1;
    case Rank::kReduce: {
      if (IntAttribute(bytes, "keepdims", 1) != 0) return rank0;
      const auto axes = FindAttribute(bytes, "axes");
      const std::int64_t count =
          axes ? static_cast<std::int64_t>(axes->numbers.size())
               : Input(node, 1).length;
      if (!axes && model_.Inputs(node).size() < 2) return 0;
      return rank0 < 0 || count < 0 || count > rank0
                 ? -1
                 : rank0 - static_cast<std::int32_t>(count);
    }
    case Rank::kReduceAttribute:
      if (IntAttribute(bytes, "keepdims", 1) != 0) return rank0;
      return rank0 < 1 ? -1 : rank0 - 1;
    case Rank::kUnsqueeze:
    case Rank::kSqueeze: {
      const auto axes = FindAttribute(bytes, "axes");
      const ValueType given = Input(node, 1);
      const std::int64_t count =
          axes              ? static_cast<std::int64_t>(axes->numbers.size())
          : given.rank == 0 ? 1
                            : given.length;
      if (rank0 < 0 || count < 0 || count > 64) return -1;
      const auto change = static_cast<std::int32_t>(count);
      if (rule->rank == Rank::kUnsqueeze) return rank0 + change;
      return change > rank0 ? -1 : rank0 - change;
    }
    case Rank::kOneHot:
      return rank0 < 0 ? -1 : rank0 + 1;
    case Rank::kEinsum: {
      const auto equation = FindAttribute(bytes, "equation");
      return equation ? EinsumRank(equation->text) : -1;
    }
    case Rank::kFixed4:
      return 4;
    case Rank::kFixed0:
      return 0;
    case Rank::kFixed1:
      return 1;
    case Rank::kFixed2:
      return 2;
    case Rank::kFixed3:
      return 3;
    case Rank::kUnknown:
      return -1;
  }
  return -1;
}

// How long a list is: what Reshape and Expand make of it is a rank.
std::int64_t ValueTypes::LengthOf(NodeId node, std::string_view op) const {
  if (!model_.Domain(node).empty()) return -1;
  if (op == "Shape") {
    const Bytes bytes = model_.NodeBytes(node);
    if (FindAttribute(bytes, "start") || FindAttribute(bytes, "end")) return -1;
    return Input(node, 0).rank;
  }
  if (op == "Concat") {
    std::int64_t length = 0;
    for (const ValueId input : model_.Inputs(node)) {
      const std::int64_t one = (*this)[input].length;
      if (one < 0) return -1;
      length += one;
    }
    return length;
  }
  if (op == "Unsqueeze") return Input(node, 0).rank == 0 ? 1 : -1;
  if (op == "Gather") {
    return Input(node, 0).rank == 1 ? Input(node, 1).length : -1;
  }
  if (op == "ConstantOfShape" || op == "Reshape" || op == "Expand" ||
      op == "Slice" || op == "Tile" || op == "Range" || op == "Pad" ||
      op == "Squeeze" || op == "Split" || op == "TopK") {
    return -1;
  }
  const Rule* const rule = FindIn(kRules, op);
  if (rule == nullptr) return -1;
  if (rule->rank == Rank::kInput0) return Input(node, 0).length;
  if (rule->rank != Rank::kBroadcast) return -1;
  std::int64_t length = 1;
  bool all_known = true;
  for (const ValueId input : model_.Inputs(node)) {
    const ValueType type = (*this)[input];
    const std::int64_t one = type.rank == 0 ? 1 : type.length;
    all_known &= one >= 0;
    length = std::max(length, one);
  }
  // Beside a longer list the others have its length, or 1.
  return all_known || length > 1 ? length : -1;
}

void ValueTypes::InferOperator(NodeId node) {
  const std::string_view op = model_.OpType(node);
  const Bytes bytes = model_.NodeBytes(node);
  ValueType type;
  if (model_.Domain(node).empty() && op == "ConstantOfShape") {
    const auto value = FindAttribute(bytes, "value");
    type.element = value ? TensorType(value->tensor).element : kFloat;
    type.rank = static_cast<std::int32_t>(Input(node, 0).length);
    Set(node, 0, type);
    return;
  }
  const Rule* const rule = FindRule(model_.Domain(node), op);
  if (rule == nullptr) return;
  switch (rule->element) {
    case Element::kInput0:
    case Element::kInput1:
    case Element::kInput2:
      type.element =
          Input(node, static_cast<std::size_t>(rule->element)).element;
      break;
    case Element::kUint8:
      type.element = kUint8;
      break;
    case Element::kInt32:
      type.element = kInt32;
      break;
    case Element::kInt64:
      type.element = kInt64;
      break;
    case Element::kBool:
      type.element = kBool;
      break;
    case Element::kAttribute:
      type.element = static_cast<std::int32_t>(IntAttribute(bytes, "to", 0));
      break;
    case Element::kUnknown:
      break;
  }
  // Without a zero point the result is what `output_dtype` says, or uint8.
  if (op == "QuantizeLinear" && model_.Inputs(node).size() < 3) {
    type.element =
        static_cast<std::int32_t>(IntAttribute(bytes, "output_dtype", kUint8));
  }
  type.rank = RankOf(node, op);
  if (type.rank == 1) type.length = LengthOf(node, op);
  Set(node, 0, type);
  InferFurtherOutputs(node, op);
}

void ValueTypes::InferFurtherOutputs(NodeId node, std::string_view op) {
  const std::size_t count = model_.Outputs(node).size();
  if (count < 2) return;
  const ValueType first = Input(node, 0);
  if (op == "Split") {
    for (std::size_t i = 1; i < count; ++i) {
      Set(node, i, {first.element, first.rank, -1});
    }
  } else if (op == "TopK" || op == "MaxPool") {
    Set(node, 1, {kInt64, first.rank, -1});
  } else if (op == "Dropout") {
    Set(node, 1, {kBool, first.rank, -1});
  } else if (op == "DynamicQuantizeLinear") {
    Set(node, 1, {.element = kFloat, .rank = 0});
    Set(node, 2, {.element = kUint8, .rank = 0});
  } else if (op == "LSTM" || op == "GRU" || op == "RNN") {
    Set(node, 1, {.element = first.element, .rank = 3});
    Set(node, 2, {.element = first.element, .rank = 3});
  } else if (op == "MultiHeadAttention" || op == "GroupQueryAttention") {
    Set(node, 1, {.element = first.element, .rank = 4});
    Set(node, 2, {.element = first.element, .rank = 4});
  } else if (op == "SkipLayerNormalization" ||
             op == "SkipSimplifiedLayerNormalization") {
    Set(node, 3, {first.element, first.rank, -1});
  }
}

}  // namespace onnx_tag::edit
