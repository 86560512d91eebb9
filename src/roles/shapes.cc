// Operations, constants and shapes.
#include <algorithm>
#include <array>
#include <unordered_map>

#include "roles/role_facts.h"

namespace onnx_tag {
namespace {

struct KnownOp {
  std::string_view name;
  OpKind kind;
  std::uint8_t shape_from = 255;
};

constexpr KnownOp kKnownOps[] = {
    {"Constant", OpKind::kConstant},
    {"QuantizeLinear", OpKind::kQuantizer},
    {"DequantizeLinear", OpKind::kQuantizer},
    {"DynamicQuantizeLinear", OpKind::kQuantizer},
    {"Shape", OpKind::kShapeOf},
    {"Size", OpKind::kShapeOf},
    {"Identity", OpKind::kIdentity},
    {"Dropout", OpKind::kIdentity},
    {"MatMul", OpKind::kProduct},
    {"Gemm", OpKind::kProduct},
    {"Einsum", OpKind::kProduct},
    {"FusedMatMul", OpKind::kProduct},
    {"FusedGemm", OpKind::kProduct},
    {"TransposeMatMul", OpKind::kProduct},
    {"MatMulNBits", OpKind::kProduct},
    {"MatMulInteger", OpKind::kProduct},
    {"MatMulIntegerToFloat", OpKind::kProduct},
    {"DynamicQuantizeMatMul", OpKind::kProduct},
    {"QLinearMatMul", OpKind::kProduct},
    {"QGemm", OpKind::kProduct},
    {"Conv", OpKind::kConvolution},
    {"FusedConv", OpKind::kConvolution},
    {"ConvInteger", OpKind::kConvolution},
    {"QLinearConv", OpKind::kConvolution},
    {"Softmax", OpKind::kSoftmax},
    {"Gather", OpKind::kGather},
    {"GatherND", OpKind::kGather},
    {"GatherElements", OpKind::kGather},
    {"Concat", OpKind::kConcat},
    {"Add", OpKind::kAdd},
    {"Sum", OpKind::kAdd},
    {"QLinearAdd", OpKind::kAdd},
    {"Mul", OpKind::kMul},
    {"Attention", OpKind::kAttention},
    {"MultiHeadAttention", OpKind::kAttention},
    {"GroupQueryAttention", OpKind::kAttention},
    {"SparseAttention", OpKind::kAttention},
    {"DecoderMaskedMultiHeadAttention", OpKind::kAttention},
    {"Range", OpKind::kPlain, 0},
    {"ConstantOfShape", OpKind::kPlain, 0},
    {"Reshape", OpKind::kPlain, 1},
    {"Expand", OpKind::kPlain, 1},
    {"Tile", OpKind::kPlain, 1},
    {"Slice", OpKind::kPlain, 1},
    {"Squeeze", OpKind::kPlain, 1},
    {"Unsqueeze", OpKind::kPlain, 1},
    {"Split", OpKind::kPlain, 1},
    {"Pad", OpKind::kPlain, 1},
    {"Resize", OpKind::kPlain, 1},
    {"Upsample", OpKind::kPlain, 1},
    {"TopK", OpKind::kPlain, 1},
    {"OneHot", OpKind::kPlain, 1},
    {"CumSum", OpKind::kPlain, 1},
    {"Trilu", OpKind::kPlain, 1},
    {"CenterCropPad", OpKind::kPlain, 1},
    {"ReduceSum", OpKind::kPlain, 1},
    {"ReduceMean", OpKind::kPlain, 1},
    {"ReduceMax", OpKind::kPlain, 1},
    {"ReduceMin", OpKind::kPlain, 1},
    {"ReduceProd", OpKind::kPlain, 1},
    {"ReduceL2", OpKind::kPlain, 1},
};

// Whether the result is computed from shapes and constants, with at least one
// shape. Sizes as settings do not count: a Range or an Expand to a size makes
// data, and so does a lookup by a size.
bool MadeOfShapes(const RoleFacts& facts, NodeId node) {
  const OpFacts& op = facts.Op(node);
  if (op.kind == OpKind::kShapeOf) return true;
  const auto inputs = facts.model.Inputs(node);
  std::size_t count = std::min<std::size_t>(inputs.size(), op.shape_from);
  if (op.kind == OpKind::kGather) count = std::min<std::size_t>(count, 1);
  bool any = false;
  for (std::size_t i = 0; i < count; ++i) {
    const NodeId producer = facts.Producer(inputs[i]);
    if (producer != kNo<NodeId> && (facts.flow[producer] & kFromShape) != 0) {
      any = true;
    } else if (!facts.IsConstant(inputs[i])) {
      return false;
    }
  }
  return any;
}

// A value computed from constants is still data if the model computes it. For
// example, learned queries go through projections like other queries.
bool FeedsOnConstants(const RoleFacts& facts, NodeId node) {
  const OpKind kind = facts.Kind(node);
  if (kind == OpKind::kProduct || kind == OpKind::kConvolution ||
      kind == OpKind::kSoftmax || kind == OpKind::kAttention) {
    return false;
  }
  const auto inputs = facts.model.Inputs(node);
  return facts.model.Subgraphs(node).empty() &&
         std::all_of(inputs.begin(), inputs.end(),
                     [&](ValueId input) { return facts.IsConstant(input); });
}

}  // namespace

RoleFacts::RoleFacts(const Model& m, const Tagging& t,
                     const RoleVocabulary& vocabulary)
    : model(m), tagging(t), words(vocabulary) {}

ValueId RoleFacts::WeightOf(ValueId value) const {
  for (int step = 0; step < 6 && value != kNo<ValueId>; ++step) {
    if (model.InitializerOf(value) != nullptr) return value;
    const NodeId producer = model.Producer(value);
    if (producer == kNo<NodeId> || !constant[Index(value)]) break;
    const auto inputs = model.Inputs(producer);
    if (inputs.empty()) break;
    value = inputs[0];
  }
  return kNo<ValueId>;
}

void GatherOps(RoleFacts& facts) {
  const Model& model = facts.model;
  facts.node_op.resize(model.node_count());
  std::unordered_map<std::uint32_t, std::uint16_t> numbers;
  facts.ops.emplace_back();
  for (const NodeId node : model.Nodes()) {
    const NameId name = model[node].op_type;
    const auto [at, added] =
        numbers.try_emplace(static_cast<std::uint32_t>(name), 0);
    // A file with more than 65,535 operators consists of its own functions; the
    // others count as plain operators.
    if (added && facts.ops.size() < 0xffff) {
      at->second = static_cast<std::uint16_t>(facts.ops.size());
      OpFacts op;
      op.name = model.Name(name);
      for (const KnownOp& known : kKnownOps) {
        if (known.name != op.name) continue;
        op.kind = known.kind;
        op.shape_from = known.shape_from;
      }
      op.lines = facts.words.Matching(RoleSubject::kOp, op.name);
      facts.ops.push_back(std::move(op));
    }
    facts.node_op[node] = at->second;
  }
}

void GatherShapes(RoleFacts& facts) {
  const Model& model = facts.model;
  facts.constant.assign(model.value_count(), false);
  for (const Initializer& initializer : model.initializers()) {
    facts.constant[Index(initializer.value)] = true;
  }
  facts.flow.resize(model.node_count(), 0);
  facts.reach.resize(model.node_count(), 0);
  for (const NodeId node : model.Nodes()) {
    if (MadeOfShapes(facts, node)) {
      facts.flow[node] = kFromShape;
    } else if (FeedsOnConstants(facts, node)) {
      for (const ValueId output : model.Outputs(node)) {
        if (output != kNo<ValueId>) facts.constant[Index(output)] = true;
      }
    }
  }
}

}  // namespace onnx_tag
