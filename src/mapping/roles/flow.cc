// Where the data of each node comes from, and where its result goes: shapes,
// decomposed attention, masks, positions.
#include <algorithm>
#include <unordered_map>

#include "mapping/roles/role_facts.h"

namespace onnx_tag {

ValueId RoleFacts::WeightOf(ValueId value) const {
  for (int step = 0; step < 6 && value != kNo<ValueId>; ++step) {
    if (model.InitializerOf(value) != nullptr) return value;
    const NodeId producer = model.Producer(value);
    if (producer == kNo<NodeId> || !IsConstant(value)) break;
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
  facts.op_lines.emplace_back();
  for (const NodeId node : model.Nodes()) {
    const NameId name = model[node].op_type;
    const auto [at, added] =
        numbers.try_emplace(static_cast<std::uint32_t>(name), 0);
    // A file with more than 65,535 operators consists of its own functions; the
    // others count as plain operators.
    if (added && facts.op_lines.size() < 0xffff) {
      at->second = static_cast<std::uint16_t>(facts.op_lines.size());
      facts.op_lines.push_back(
          facts.words.Matching(RoleSubject::kOp, model.Name(name)));
    }
    facts.node_op[node] = at->second;
  }
}

void GatherShapes(RoleFacts& facts) {
  const Model& model = facts.model;
  facts.in_activation.assign(model.node_count(), false);
  facts.in_norm.assign(model.node_count(), false);
  const Composites& composites = facts.graph.composites();
  for (const Composites::Composite& composite : composites) {
    if (!IsActivation(composite.kind) && !IsNorm(composite.kind)) continue;
    std::vector<bool>& marks =
        IsNorm(composite.kind) ? facts.in_norm : facts.in_activation;
    for (const NodeId node : composites.Nodes(composite)) {
      marks[Index(node)] = true;
    }
  }
  facts.flow.resize(model.node_count(), 0);
  facts.reach.resize(model.node_count(), 0);
  for (const NodeId node : model.Nodes()) {
    const auto outputs = model.Outputs(node);
    if (facts.Is(node, OpKind::kShapeOf) ||
        (!outputs.empty() && facts.graph.data.IsSize(outputs[0]))) {
      facts.flow[node] = kFromShape;
    }
  }
}

// Decomposed attention: from the product of query and key through the softmax
// to the product with the value and the projection after it. Also the tables
// that attention reads: rotary tables and biases by distance.

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
    const ModuleId attention = facts.Attention(node);
    const bool inside = attention != kNo<ModuleId>;
    if (relative) {
      const bool scores =
          inside && (LineOf(facts, node, attention) & kScores) != 0;
      facts.flow[node] |= scores ? kScores : kRelativeBias;
    } else if (IsRotaryTable(facts, node)) {
      facts.flow[node] |= kRotaryTable;
    } else if (inside) {
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

// The use of each result: as a shape, a mask, an index of positions, as query,
// key or value, or as plain data. It is one walk in reverse order, so the
// consumers of a node are processed before the node.

namespace {

constexpr std::uint16_t kWithinAttention =
    kToQuery | kToKey | kToValue | kToProbabilities;

// The meaning of an operand of a fused attention; 0: plain data.
std::uint16_t FusedOperand(const RoleFacts& facts, NodeId node,
                           std::size_t operand) {
  const auto inputs = facts.model.Inputs(node);
  const auto missing = [&](std::size_t i) {
    return i >= inputs.size() || inputs[i] == kNo<ValueId>;
  };
  switch (Describe(facts.graph.ops[node]).Input(operand)) {
    case Operand::kQuery:
      // Packed: a missing operand is part of the previous one.
      return missing(1) ? kToQuery | kToKey | kToValue : kToQuery;
    case Operand::kKey:
      return operand == 1 && missing(2) ? kToKey | kToValue : kToKey;
    case Operand::kValue:
      return kToValue;
    case Operand::kMask:
      return kToMask;
    default:
      return 0;
  }
}

// The meaning of the index operand of a lookup; 0: nothing special.
std::uint16_t LookupOperand(const Meaning& meaning) {
  if (meaning.type != RoleType::kEmbedding) return 0;
  switch (meaning.component) {
    case Component::kPosition:
      return kToPositionIds;
    case Component::kTokenType:
      return kToTokenType;
    case Component::kWord:
      return kToData;
    default:
      return 0;
  }
}

class Uses {
 public:
  explicit Uses(RoleFacts& facts) : facts_(facts), model_(facts.model) {}

  void Run() {
    for (std::size_t i = model_.node_count(); i-- > 0;) {
      Pass(MakeId<NodeId>(i));
    }
  }

 private:
  void Pass(NodeId reader) {
    std::uint16_t& own = facts_.reach[reader];
    for (const ValueId output : model_.Outputs(reader)) {
      if (output != kNo<ValueId> && model_[output].is_output) own |= kToData;
    }
    if (own == 0) own = kToData;
    if (facts_.Is(reader, OpKind::kShapeOf)) return;
    const auto inputs = model_.Inputs(reader);
    two_sided_ = IsTwoSidedProduct(facts_, reader);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const NodeId producer = facts_.Producer(inputs[i]);
      if (producer == kNo<NodeId>) continue;
      facts_.reach[producer] |= Operand(reader, i, producer);
    }
  }

  // The meaning of this operand of `reader`.
  std::uint16_t Operand(NodeId reader, std::size_t i, NodeId producer) const {
    const Operator& op = Describe(facts_.graph.ops[reader]);
    if (op.Input(i) == Operand::kSetting) return kToShape;
    const ModuleMeaning* module = facts_.Module(reader);
    const std::uint16_t passed = facts_.reach[reader];
    if (module == nullptr) return Outside(passed);
    const ModuleMeaning* from = facts_.Module(producer);
    if (op.kinds.HasAnyOf(OpKind::kAttention)) {
      const std::uint16_t fused = FusedOperand(facts_, reader, i);
      if (fused == kToMask) return kToMask;
      if (fused == 0 || !SameAttention(reader, producer)) return kToData;
      return fused;
    }
    if (module->own.type == RoleType::kPosition &&
        (facts_.flow[reader] & facts_.flow[producer] & kScores) == 0 &&
        (from == nullptr || from->own != module->own)) {
      return module->own.component == Component::kRelative ? kToRelativeBias
                                                           : kToPositionIds;
    }
    if (op.kinds.HasAnyOf(OpKind::kLookup) && i == 1 &&
        facts_.IsConstant(model_.Inputs(reader)[0])) {
      if (const std::uint16_t index = LookupOperand(module->own)) return index;
      if ((facts_.flow[reader] & kRelativeBias) != 0) return kToRelativeBias;
    }
    if (op.kinds.HasAnyOf(OpKind::kLookup) && i == 1 && !module->own.typed() &&
        !module->listed && passed == kToData) {
      return kToPick;
    }
    if (facts_.Attention(reader) != kNo<ModuleId>) {
      if (const std::uint16_t line = OnTheLine(reader, i, producer)) {
        return line;
      }
    }
    return SameAttention(reader, producer) ? passed : Outside(passed);
  }

  bool SameAttention(NodeId a, NodeId b) const {
    return facts_.Attention(a) == facts_.Attention(b);
  }

  static std::uint16_t Outside(std::uint16_t passed) {
    if ((passed & kWithinAttention) == 0) return passed;
    return static_cast<std::uint16_t>((passed & ~kWithinAttention) | kToData);
  }

  // Operands of the products, and values that are added to the scores.
  std::uint16_t OnTheLine(NodeId reader, std::size_t i, NodeId producer) const {
    const std::uint8_t flow = facts_.flow[reader];
    const bool same = SameAttention(reader, producer);
    const std::uint8_t before = same ? facts_.flow[producer] : 0;
    if (two_sided_ && (flow & kScores) != 0) {
      if (!same) return kToData;
      return i == 0 ? kToQuery : kToKey;
    }
    if (two_sided_ && (flow & kContext) != 0) {
      if (!same) return kToData;
      return (before & kProbabilities) != 0 ? kToProbabilities : kToValue;
    }
    const std::uint8_t line = flow & (kScores | kProbabilities);
    if (line == 0) return 0;
    if ((before & (kScores | kProbabilities)) != 0) return kToProbabilities;
    // Biases looked up by distance.
    if (facts_.Is(reader, OpKind::kLookup)) return kToRelativeBias;
    return kToMask;
  }

  RoleFacts& facts_;
  const Model& model_;
  bool two_sided_ = false;  // the current reader is a product of data with data
};

// The values that the queries and the keys of one attention are made of.
struct Sources {
  static constexpr std::size_t kMost = 8;
  std::vector<ValueId> queries;
  std::vector<ValueId> keys;

  static void Add(std::vector<ValueId>& values, ValueId value) {
    if (values.size() < kMost) values.push_back(value);
  }
  bool AreApart() const {
    return !queries.empty() && !keys.empty() &&
           std::find_first_of(queries.begin(), queries.end(), keys.begin(),
                              keys.end()) == queries.end();
  }
};

// The only data that the node reads, or kNo.
ValueId OnlyData(const RoleFacts& facts, NodeId node) {
  ValueId data = kNo<ValueId>;
  for (const ValueId input : facts.model.Inputs(node)) {
    if (!facts.graph.data.IsComputed(input)) continue;
    if (data != kNo<ValueId>) return kNo<ValueId>;
    data = input;
  }
  return data;
}

// Where the data of a projection enters its attention.
ValueId SourceOf(const RoleFacts& facts, NodeId node) {
  constexpr int kLongest = 32;
  ValueId value = OnlyData(facts, node);
  for (int i = 0; i < kLongest && value != kNo<ValueId>; ++i) {
    const NodeId producer = facts.Producer(value);
    if (producer == kNo<NodeId> ||
        facts.Attention(producer) != facts.Attention(node)) {
      return value;
    }
    const ValueId before = OnlyData(facts, producer);
    if (before == kNo<ValueId>) return value;
    value = before;
  }
  return value;
}

}  // namespace

void FollowUses(RoleFacts& facts) { Uses(facts).Run(); }

void TellCrossAttention(RoleFacts& facts) {
  const ModuleTree& tree = facts.tagging.modules;
  facts.core.resize(tree.size(), kNo<ModuleId>);
  facts.crosses.resize(tree.size(), false);
  for (const NodeId node : facts.model.Nodes()) {
    const bool scores =
        facts.Is(node, OpKind::kProduct) && (facts.flow[node] & kScores) != 0;
    if (!scores && !facts.Is(node, OpKind::kAttention)) continue;
    const ModuleId module = facts.tagging.tags[node].module;
    if (module != kNo<ModuleId>) facts.core[module] = module;
  }
  // Parents have smaller ids than their children.
  for (const ModuleId id : tree.All()) {
    if (id != ModuleTree::kRoot && facts.core[id] == kNo<ModuleId>) {
      facts.core[id] = facts.core[tree.Parent(id)];
    }
  }
  std::unordered_map<ModuleId, Sources> sources;
  for (const NodeId node : facts.model.Nodes()) {
    if (!facts.Is(node, {OpKind::kProduct, OpKind::kConvolution})) continue;
    if (facts.Attention(node) == kNo<ModuleId> || facts.DataInputs(node) != 1) {
      continue;
    }
    const std::uint16_t sides =
        facts.reach[node] & (kToQuery | kToKey | kToValue);
    const ModuleId core = facts.core[facts.tagging.tags[node].module];
    if (sides == 0 || core == kNo<ModuleId>) continue;
    const ValueId source = SourceOf(facts, node);
    if (source == kNo<ValueId>) continue;
    Sources& found = sources[core];
    if ((sides & kToQuery) != 0) Sources::Add(found.queries, source);
    if ((sides & (kToKey | kToValue)) != 0) Sources::Add(found.keys, source);
  }
  for (const auto& [core, found] : sources) {
    facts.crosses[core] = found.AreApart();
  }
}

}  // namespace onnx_tag
