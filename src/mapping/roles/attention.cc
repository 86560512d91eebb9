// Finds decomposed attention: from the product of query and key through the
// softmax to the product with the value and the projection after it. Also finds
// the tables that attention reads: rotary tables and biases by distance.
#include "mapping/roles/role_facts.h"

namespace onnx_tag {
namespace {

constexpr std::uint8_t kLine = kScores | kProbabilities | kContext | kProjected;

bool IsTwoSidedProduct(const RoleFacts& facts, NodeId node) {
  return facts.Is(node, OpKind::kProduct) && facts.DataInputs(node) >= 2;
}

// In reverse order: marks nodes that reach a softmax without a product between.
void MarkBeforeSoftmax(RoleFacts& facts) {
  for (std::size_t i = facts.model.node_count(); i-- > 0;) {
    const NodeId node = MakeId<NodeId>(i);
    const ModuleId attention = facts.Attention(node);
    if (attention == kNo<ModuleId>) continue;
    const bool passes = facts.Is(node, OpKind::kSoftmax) ||
                        ((facts.flow[node] & kBeforeSoftmax) != 0 &&
                         !IsTwoSidedProduct(facts, node));
    if (!passes) continue;
    for (const ValueId input : facts.model.Inputs(node)) {
      const NodeId producer = facts.Producer(input);
      if (producer == kNo<NodeId> || facts.IsConstant(input) ||
          facts.Attention(producer) != attention) {
        continue;
      }
      facts.flow[producer] |= kBeforeSoftmax;
    }
  }
}

// The flags of the node's inputs that are in the same attention.
std::uint8_t IncomingLine(const RoleFacts& facts, NodeId node,
                          ModuleId attention) {
  std::uint8_t incoming = 0;
  for (const ValueId input : facts.model.Inputs(node)) {
    const NodeId producer = facts.Producer(input);
    if (producer == kNo<NodeId> || facts.Attention(producer) != attention) {
      continue;
    }
    incoming = static_cast<std::uint8_t>(
        incoming | (facts.flow[producer] & (kLine | kRelativeBias)));
  }
  return incoming;
}

std::uint8_t LineOf(const RoleFacts& facts, NodeId node, ModuleId attention) {
  if (facts.Is(node, OpKind::kAttention)) return kContext;
  if (facts.Is(node, OpKind::kShapeOf)) return 0;
  const std::uint8_t incoming = IncomingLine(facts, node, attention);
  if (IsTwoSidedProduct(facts, node)) {
    if ((incoming & kProbabilities) != 0) return kContext;
    return (facts.flow[node] & kBeforeSoftmax) != 0 ? kScores : 0;
  }
  if (facts.Is(node, OpKind::kSoftmax)) return kProbabilities;
  const bool projects =
      facts.Is(node, {OpKind::kProduct, OpKind::kConvolution}) ||
      facts.Module(node)->meaning.component == Component::kOutput;
  if ((incoming & kProjected) != 0) return kProjected;
  if ((incoming & kContext) != 0) return projects ? kProjected : kContext;
  if ((incoming & kProbabilities) != 0) return kProbabilities;
  if ((incoming & kScores) != 0) return kScores;
  return incoming & kRelativeBias;
}

bool IsMeaning(const RoleFacts& facts, NodeId node, RoleType type,
               Component component) {
  const ModuleMeaning* module = facts.Module(node);
  return module != nullptr && module->own.type == type &&
         module->own.component == component;
}

// Whether the node is a rotary table: in a rotary module, or computed only from
// rotary tables.
bool IsRotaryTable(const RoleFacts& facts, NodeId node) {
  if (IsMeaning(facts, node, RoleType::kPosition, Component::kRotary)) {
    return true;
  }
  const Operator& op = Describe(facts.graph.ops[node]);
  if (op.kinds.HasAnyOf({OpKind::kShapeOf, OpKind::kProduct})) return false;
  bool any = false;
  const auto inputs = facts.model.Inputs(node);
  for (std::size_t i = 0; i < inputs.size() && i < op.first_setting; ++i) {
    if (!facts.graph.data.IsComputed(inputs[i])) continue;
    const NodeId producer = facts.Producer(inputs[i]);
    if (producer == kNo<NodeId> || (facts.flow[producer] & kRotaryTable) == 0) {
      return false;
    }
    any = true;
  }
  return any;
}

}  // namespace

void FollowAttention(RoleFacts& facts) {
  MarkBeforeSoftmax(facts);
  for (const NodeId node : facts.model.Nodes()) {
    if ((facts.flow[node] & kFromShape) != 0) continue;
    const bool relative =
        IsMeaning(facts, node, RoleType::kPosition, Component::kRelative);
    const ModuleId around = facts.Attention(node);
    const std::uint8_t line = relative && around != kNo<ModuleId>
                                  ? LineOf(facts, node, around) & kScores
                                  : 0;
    if (relative) {
      facts.flow[node] |= line != 0 ? line : std::uint8_t{kRelativeBias};
    } else if (IsRotaryTable(facts, node)) {
      facts.flow[node] |= kRotaryTable;
    } else if (const ModuleId attention = facts.Attention(node);
               attention != kNo<ModuleId>) {
      const bool table = facts.Is(node, OpKind::kLookup) &&
                         !facts.model.Inputs(node).empty() &&
                         facts.ParameterMeaning(facts.model.Inputs(node)[0],
                                                facts.modules[attention].own)
                                 .component == Component::kRelative;
      facts.flow[node] |= table ? static_cast<std::uint8_t>(kRelativeBias)
                                : LineOf(facts, node, attention);
    }
  }
}

}  // namespace onnx_tag
