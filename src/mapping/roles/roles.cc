// The rules, in the order of tests/mapping/roles/README.md. The first rule that
// matches is used.
#include "mapping/roles/roles.h"

#include <algorithm>
#include <array>

#include "base/lists.h"
#include "core/graph/walk.h"
#include "core/tagging/role_index.h"
#include "mapping/roles/role_facts.h"

namespace onnx_tag {
namespace {

class RoleRules {
 public:
  explicit RoleRules(RoleFacts& facts) : facts_(facts) {}

  Meaning Classify(NodeId node) {
    Meaning meaning = Decide(node);
    if (meaning.type == RoleType::kAttention) {
      const ModuleId core = facts_.core[facts_.tagging.tags[node].module];
      const bool cross =
          facts_.Module(node)->meaning.kind == AttentionKind::kCross ||
          (core != kNo<ModuleId> && facts_.crosses[core]);
      meaning.kind = cross ? AttentionKind::kCross : AttentionKind::kSelf;
    } else {
      meaning.kind = AttentionKind::kNone;
    }
    meanings_[node] = meaning;
    return meaning;
  }

  // How sure the type is. The operator shows it, or the structure of the module
  // that the node is said to be in, or only words.
  Confidence Sureness(NodeId node, const Meaning& meaning) const {
    if (IsShown(node, meaning.type)) return Confidence::kCertain;
    const bool structured =
        meaning.type == RoleType::kAttention
            ? facts_.core[facts_.tagging.tags[node].module] != kNo<ModuleId> &&
                  (!facts_.HasWeight(node) || IsOnTheWay(node))
            : meaning.type == RoleType::kMask ||
                  meaning.type == RoleType::kPosition ||
                  meaning.type == RoleType::kResidual ||
                  meaning.type == RoleType::kFeedForward;
    return std::min(facts_.tagging.tags[node].confidence,
                    structured ? Confidence::kHigh : Confidence::kMedium);
  }

 private:
  bool IsShown(NodeId node, RoleType type) const {
    switch (type) {
      case RoleType::kConstant:
      case RoleType::kQuantization:
      case RoleType::kShape:
        return true;
      case RoleType::kNormalization:
        return facts_.IsNorm(node);
      case RoleType::kConvolution:
        return facts_.Is(node, OpKind::kConvolution);
      case RoleType::kPooling:
        return facts_.Is(node, OpKind::kPool);
      case RoleType::kActivation:
        if (facts_.in_activation[Index(node)]) return true;
        break;
      default:
        break;
    }
    return AnyIn(facts_.OpLines(node), [&](std::uint16_t number) {
      return facts_.words.line(number).meaning.type == type;
    });
  }

  // Whether the result goes into the products of an attention, or comes from
  // them. A Linear that only stands beside them may be called like a
  // projection.
  bool IsOnTheWay(NodeId node) const {
    constexpr std::uint8_t kLine =
        kScores | kProbabilities | kContext | kProjected;
    constexpr std::uint16_t kSides = kToQuery | kToKey | kToValue;
    return (facts_.flow[node] & kLine) != 0 ||
           (facts_.reach[node] & kSides) != 0;
  }

  Meaning Decide(NodeId node) {
    if (facts_.Is(node, OpKind::kConstant)) return Of(RoleType::kConstant);
    if (facts_.Is(node, {OpKind::kQuantizer, OpKind::kDequantizer})) {
      return Of(RoleType::kQuantization);
    }
    if (facts_.IsShape(node)) return Of(RoleType::kShape);
    if (facts_.Is(node, {OpKind::kIdentity, OpKind::kDropout})) {
      return Of(RoleType::kOther);
    }
    if (IsCache(node)) return Of(RoleType::kCache, SideOf(node));
    const ModuleMeaning& module = *facts_.Module(node);
    if (facts_.IsNorm(node) && module.own.type != RoleType::kAttention &&
        facts_.DataInputs(node) > 0) {
      return Of(RoleType::kNormalization, SideOf(node));
    }
    if (const Meaning aside = MaskOrPosition(node, module); aside.typed()) {
      return aside;
    }
    if (IsTiedHead(node)) return Of(RoleType::kHead, Component::kLm);
    if (IsModulation(node)) return Of(RoleType::kOther);
    if (const Meaning projection = Projection(node, module);
        projection.typed()) {
      return projection;
    }
    if (const Meaning by_op = FromOp(node, module); by_op.typed()) {
      return by_op;
    }
    switch (module.own.type) {
      case RoleType::kOther:
        return InContainer(node, module);
      case RoleType::kNormalization:
        return Of(RoleType::kNormalization, SideOf(node));
      case RoleType::kAttention:
        return InAttention(node, module);
      case RoleType::kFeedForward:
        return InFeedForward(node, module);
      case RoleType::kSsm:
        return WithParameter(node, module.own);
      case RoleType::kEmbedding:
        return InEmbedding(node, module);
      case RoleType::kPooling:
        return facts_.IsJoin(node) ? Of(RoleType::kResidual) : module.own;
      case RoleType::kHead:
        if (!module.leaf && JoinsBranch(node)) return Of(RoleType::kResidual);
        return IsTokenPick(node) ? Of(RoleType::kPooling) : module.own;
      default:
        return module.own;
    }
  }

  // ---- cache, masks and positions

  bool IsCache(NodeId node) const {
    const Component side = SideOf(node);
    if (!facts_.Is(node, OpKind::kConcat) ||
        (side != Component::kKey && side != Component::kValue)) {
      return false;
    }
    const auto outputs = model_.Outputs(node);
    if (!outputs.empty() && outputs[0] != kNo<ValueId> &&
        model_[outputs[0]].is_output) {
      return true;
    }
    return AnyIn(model_.Inputs(node), [&](ValueId input) {
      return input != kNo<ValueId> && model_[input].is_input &&
             !facts_.IsConstant(input);
    });
  }

  Meaning MaskOrPosition(NodeId node, const ModuleMeaning& module) const {
    const std::uint16_t reach = facts_.reach[node];
    const std::uint8_t flow = facts_.flow[node];
    const bool relative = (flow & kRelativeBias) != 0;
    if (reach == kToMask && !relative) return Of(RoleType::kMask);
    // A bias is added to the scores inside the module that makes the bias.
    if ((flow & kScores) != 0 && module.own.type == RoleType::kPosition) {
      return Of(RoleType::kAttention, Component::kScores);
    }
    if (module.own.type == RoleType::kPosition) return module.own;
    if (relative || reach == kToRelativeBias) {
      return Of(RoleType::kPosition, Component::kRelative);
    }
    if ((flow & kRotaryTable) != 0) {
      return Of(RoleType::kPosition, Component::kRotary);
    }
    const bool positions = (reach & kToPositionIds) != 0 &&
                           (reach & kToData) == 0 &&
                           facts_.Attention(node) == kNo<ModuleId>;
    if (positions) return Of(RoleType::kPosition, Component::kIds);
    if (reach == kToTokenType) {
      return Of(RoleType::kEmbedding, Component::kTokenType);
    }
    return {};
  }

  // ---- operations whose operator determines the role

  Meaning FromOp(NodeId node, const ModuleMeaning& module) {
    const bool scores = (facts_.flow[node] & (kScores | kProbabilities)) != 0;
    if (module.own.type == RoleType::kActivation) return module.own;
    if (facts_.in_activation[Index(node)] &&
        module.own.type != RoleType::kNormalization && !scores) {
      return Of(RoleType::kActivation);
    }
    for (const std::uint16_t number : facts_.OpLines(node)) {
      const RoleLine& line = facts_.words.line(number);
      if (!line.FitsAround(module.own)) continue;
      if (line.meaning.type == RoleType::kActivation && scores) continue;
      if (line.meaning.type == RoleType::kNormalization) {
        return Of(RoleType::kNormalization, SideOf(node));
      }
      return line.meaning;
    }
    return {};
  }

  // A product with the table of an embedding: tied weights, or a functional
  // head.
  bool IsTiedHead(NodeId node) const {
    if (!facts_.Is(node, OpKind::kProduct) || facts_.DataInputs(node) != 1) {
      return false;
    }
    return AnyIn(model_.Inputs(node), [&](ValueId input) {
      const ValueId weight = input != kNo<ValueId> && facts_.IsConstant(input)
                                 ? facts_.WeightOf(input)
                                 : kNo<ValueId>;
      return weight != kNo<ValueId> &&
             AnyIn(model_.Consumers(weight), [&](NodeId reader) {
               return facts_.graph.ops[reader] == Op::kGather &&
                      FirstInput(model_, reader) == weight &&
                      facts_.graph.data.IsMadeBy(reader);
             });
    });
  }

  // Whether a product with a weight scales what the projections of an attention
  // read: its result is multiplied with other data, and then with a weight.
  bool IsModulation(NodeId node) const {
    const ModuleId attention = facts_.Attention(node);
    if (attention == kNo<ModuleId> || SideOf(node) == Component::kNone ||
        !facts_.HasWeight(node)) {
      return false;
    }
    constexpr std::size_t kMost = 64;
    std::vector<NodeId> made = {node};  // of its result, before other weights
    for (std::size_t i = 0; i < made.size() && made.size() < kMost; ++i) {
      ForEachReader(made[i], attention, [&](NodeId reader) {
        if (!facts_.Is(reader, {OpKind::kProduct, OpKind::kConvolution,
                                OpKind::kAttention}) &&
            !IsAmong(reader, made)) {
          made.push_back(reader);
        }
      });
    }
    std::vector<NodeId> scaled;  // those that other data went into
    for (const NodeId at : made) {
      const bool meets = facts_.graph.ops[at] == Op::kMul &&
                         AnyIn(model_.Inputs(at), [&](ValueId input) {
                           return facts_.graph.data.IsComputed(input) &&
                                  !IsAmong(facts_.Producer(input), made);
                         });
      const bool after = AnyIn(model_.Inputs(at), [&](ValueId input) {
        return IsAmong(facts_.Producer(input), scaled);
      });
      if (meets || after) scaled.push_back(at);
    }
    return AnyIn(scaled, [&](NodeId at) {
      bool weighted = false;
      ForEachReader(at, attention, [&](NodeId reader) {
        weighted = weighted || facts_.HasWeight(reader);
      });
      return weighted;
    });
  }

  // `use` gets the nodes of the attention that read a result of the node.
  template <typename Use>
  void ForEachReader(NodeId node, ModuleId attention, const Use& use) const {
    for (const ValueId output : model_.Outputs(node)) {
      if (output == kNo<ValueId>) continue;
      for (const NodeId reader : model_.Consumers(output)) {
        if (facts_.Attention(reader) == attention) use(reader);
      }
    }
  }

  // ---- attention

  // The side of the products that the node reaches, if it reaches only one.
  Component SideOf(NodeId node) const {
    if (facts_.Attention(node) == kNo<ModuleId>) return Component::kNone;
    // By the bits for query, key and value. Query with only one of the others
    // is no side.
    using enum Component;
    static_assert(kToQuery == 64 && kToKey == 128 && kToValue == 256);
    constexpr std::array<Component, 8> kSides = {kNone,  kQuery, kKey, kNone,
                                                 kValue, kNone,  kKv,  kQkv};
    return kSides[facts_.reach[node] / kToQuery % kSides.size()];
  }

  Meaning InAttention(NodeId node, const ModuleMeaning& module) {
    if (JoinsFromOutside(node, module) || JoinsFeedForward(node)) {
      return Of(RoleType::kResidual);
    }
    if (IsGatedProduct(node)) return Of(RoleType::kFeedForward);
    Meaning meaning = WithParameter(node, module.own);
    if (facts_.Is(node, OpKind::kAttention)) {
      return Of(RoleType::kAttention);
    }
    const bool named = module.leaf || meaning != module.own;
    if (named && meaning.component != Component::kNone) return meaning;
    const std::uint8_t flow = facts_.flow[node];
    const Component side = SideOf(node);
    meaning.component = (flow & kScores) != 0          ? Component::kScores
                        : (flow & kProbabilities) != 0 ? Component::kSoftmax
                        : (flow & kProjected) != 0     ? Component::kOutput
                        : (flow & kContext) != 0       ? Component::kContext
                        : side != Component::kNone     ? side
                                                       : meaning.component;
    return meaning;
  }

  // A product with a weight in a part of an attention whose name says nothing:
  // it feeds a product of the attention, or reads the result of one.
  Meaning Projection(NodeId node, const ModuleMeaning& module) const {
    if (facts_.Attention(node) == kNo<ModuleId> || !module.leaf ||
        (module.own.type != RoleType::kOther &&
         module.own.type != RoleType::kConvolution &&
         module.own.type != RoleType::kFeedForward)) {
      return {};
    }
    const bool named = module.own.type == RoleType::kFeedForward;
    const bool product =
        facts_.Is(node, {OpKind::kProduct, OpKind::kConvolution}) &&
        facts_.DataInputs(node) == 1;
    const Component side = SideOf(node);
    if (product && side != Component::kNone && !named) {
      return Of(RoleType::kAttention, side);
    }
    for (const ValueId input : model_.Inputs(node)) {
      const NodeId producer = facts_.Producer(input);
      if (producer == kNo<NodeId> || facts_.IsConstant(input)) continue;
      if (product && (facts_.flow[producer] & kContext) != 0) {
        return Of(RoleType::kAttention, Component::kOutput);
      }
      // The bias, and what a quantizer makes of the product.
      if (facts_.Module(producer) == &module && facts_.DataInputs(node) == 1 &&
          meanings_[producer].type == RoleType::kAttention) {
        return meanings_[producer];
      }
    }
    return {};
  }

  // The product of the activation and the other half of a gated MLP, in the
  // code of an attention.
  bool IsGatedProduct(NodeId node) const {
    if (facts_.graph.ops[node] != Op::kMul) return false;
    bool activation = false;
    bool up = false;
    for (const NodeId maker : Makers(model_, node)) {
      activation |= meanings_[maker].type == RoleType::kActivation;
      up |= meanings_[maker].type == RoleType::kFeedForward;
    }
    return activation && up;
  }

  // ---- residuals

  // The sum behind an MLP that is in the code of an attention.
  bool JoinsFeedForward(NodeId node) const {
    if (!facts_.IsJoin(node)) return false;
    int downs = 0;
    for (const NodeId maker : Makers(model_, node)) {
      downs += meanings_[maker] == Of(RoleType::kFeedForward, Component::kDown);
    }
    return downs == 1;
  }

  // A sum of two, one of which is made of the other with a weight.
  bool JoinsBranch(NodeId node) const {
    if (!facts_.IsJoin(node)) return false;
    const auto inputs = model_.Inputs(node);
    return inputs.size() == 2 && (StartsFrom(inputs[0], inputs[1]) ||
                                  StartsFrom(inputs[1], inputs[0]));
  }

  // Whether `branch` is made of `start`, a few nodes before, with a weight.
  bool StartsFrom(ValueId branch, ValueId start) const {
    constexpr std::size_t kMost = 48;
    std::vector<ValueId> open = {branch};
    bool weighted = false;
    for (std::size_t i = 0; i < open.size() && open.size() < kMost; ++i) {
      if (open[i] == start) return weighted;
      const NodeId producer = facts_.Producer(open[i]);
      if (producer == kNo<NodeId>) continue;
      weighted |= facts_.Is(producer, {OpKind::kProduct, OpKind::kConvolution});
      for (const ValueId input : model_.Inputs(producer)) {
        if (facts_.graph.data.IsComputed(input)) open.push_back(input);
      }
    }
    return false;
  }

  // An Add of the result of an attention or feed-forward and a value from
  // outside of it.
  bool JoinsFromOutside(NodeId node, const ModuleMeaning& module) const {
    if (module.leaf || module.region == kNo<ModuleId> || !facts_.IsJoin(node)) {
      return false;
    }
    const bool attention = module.own.type == RoleType::kAttention;
    if (attention && (facts_.flow[node] & (kContext | kProjected)) == 0) {
      return false;
    }
    int inside = 0;
    int outside = 0;
    int projected = 0;
    int apart = 0;  // inside, but not made by the attention
    for (const ValueId input : model_.Inputs(node)) {
      if (!facts_.graph.data.IsComputed(input)) continue;
      const NodeId producer = facts_.Producer(input);
      const ModuleMeaning* from = facts_.Module(producer);
      const bool is_inside = from != nullptr && from->region == module.region;
      ++(is_inside ? inside : outside);
      if (!is_inside) continue;
      const std::uint8_t flow = facts_.flow[producer];
      if ((flow & kProjected) != 0) ++projected;
      if ((flow & (kScores | kProbabilities | kContext | kProjected)) == 0) {
        ++apart;
      }
    }
    return inside == 1 ? outside == 1
                       : attention && projected == 1 && apart == 1;
  }

  // ---- feed-forward and others

  // If the node's module has no component, the component from the name of a
  // weight.
  Meaning WithParameter(NodeId node, Meaning own) {
    if (own.component != Component::kNone &&
        own.component != Component::kExperts) {
      return own;
    }
    for (const ValueId input : model_.Inputs(node)) {
      if (input == kNo<ValueId> || !facts_.IsConstant(input)) continue;
      const Meaning named = facts_.ParameterMeaning(input, own);
      if (named.type == own.type && named.component != Component::kNone) {
        own.component = named.component;
        break;
      }
    }
    return own;
  }

  Meaning InFeedForward(NodeId node, const ModuleMeaning& module) {
    if (JoinsFromOutside(node, module)) return Of(RoleType::kResidual);
    if (module.own.component == Component::kExperts) {
      return InExperts(node, module);
    }
    return WithParameter(node, module.own);
  }

  // All experts in one parameter: nodes that read it, and nodes between the
  // first and the last reader, are feed-forward. All other nodes move tokens.
  Meaning InExperts(NodeId node, const ModuleMeaning& module) {
    const Meaning named = WithParameter(node, module.own);
    if (named.component != Component::kExperts) return named;
    const bool product = facts_.Is(node, OpKind::kProduct);
    const auto inputs = model_.Inputs(node);
    bool inside = false;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const NodeId producer = facts_.Producer(inputs[i]);
      if (producer == kNo<NodeId> || facts_.IsConstant(inputs[i])) continue;
      const Meaning& before = meanings_[producer];
      const ModuleMeaning* from = facts_.Module(producer);
      if (from == nullptr || from->region != module.region ||
          (from->own != module.own && before.type != RoleType::kActivation)) {
        continue;
      }
      const bool made = facts_.Is(producer, OpKind::kProduct);
      if (before.type == RoleType::kActivation) inside = true;
      if (before.type != RoleType::kFeedForward) continue;
      const bool weight = before.component != Component::kNone && !made;
      if (weight && (product || i == 0)) return before;
      inside |= !weight && before.component != Component::kDown;
    }
    return Of(inside ? RoleType::kFeedForward : RoleType::kRouting);
  }

  // ---- embeddings and containers: the root, an encoder, a block

  // How many dimensions of a weight are greater than 1: a table with several
  // rows has two or more, a bias has one. 0 if the value is no weight.
  std::ptrdiff_t WideDimensions(ValueId value) const {
    const ValueId weight = facts_.WeightOf(value);
    if (weight == kNo<ValueId>) return 0;
    const auto dims = model_.Dims(*model_.InitializerOf(weight));
    return std::count_if(dims.begin(), dims.end(),
                         [](std::int64_t dim) { return dim > 1; });
  }

  bool AddsTable(NodeId node) const {
    if (!facts_.Is(node, OpKind::kSum)) return false;
    return AnyIn(model_.Inputs(node), [&](ValueId input) {
      return facts_.IsConstant(input) && !HasMeaning(input) &&
             WideDimensions(input) >= 2;
    });
  }

  // The sum of features and position embeddings.
  bool AddsPositions(NodeId node) const {
    return facts_.Is(node, OpKind::kSum) &&
           !ForEachMaker(model_, node, [&](NodeId maker) {
             const ModuleMeaning* from = facts_.Module(maker);
             return from == nullptr || from->own.type != RoleType::kEmbedding ||
                    meanings_[maker].component != Component::kPosition;
           });
  }

  // Whether the producer of the value has a role that is passed on. Rows looked
  // up at fixed places are constant, but still an embedding.
  bool HasMeaning(ValueId value) const {
    const NodeId producer = facts_.Producer(value);
    return producer != kNo<NodeId> && IsHandedOn(meanings_[producer].type);
  }

  Meaning InEmbedding(NodeId node, const ModuleMeaning& module) {
    if (module.leaf || module.own.component != Component::kNone) {
      return module.own;
    }
    if (AddsTable(node)) {
      return Of(RoleType::kEmbedding, Component::kPosition);
    }
    if (facts_.Is(node, OpKind::kSum) || facts_.Is(node, OpKind::kConcat)) {
      return module.own;
    }
    const Meaning before = FromInputs(node);
    return before.type == RoleType::kEmbedding ? before : module.own;
  }

  // x[:, 0]: the token that a head uses.
  bool IsTokenPick(NodeId node) const {
    const auto inputs = model_.Inputs(node);
    return facts_.Is(node, OpKind::kLookup) && inputs.size() == 2 &&
           facts_.graph.data.IsComputed(inputs[0]);
  }

  Meaning InContainer(NodeId node, const ModuleMeaning& module) {
    // The name of a leaf's weight is the name of the leaf.
    if (const Meaning named = module.leaf && facts_.HasWeight(node)
                                  ? Meaning()
                                  : FromParameters(node);
        named.typed()) {
      return named;
    }
    if (!module.listed && AddsTable(node)) {
      return Of(RoleType::kEmbedding, Component::kPosition);
    }
    const Meaning before = FromInputs(node);
    if (before.typed()) return before;
    if (!module.listed && AddsPositions(node)) {
      return Of(RoleType::kEmbedding);
    }
    if (facts_.reach[node] == kToPick) return Of(RoleType::kPooling);
    if (facts_.IsJoin(node)) return Of(RoleType::kResidual);
    if (IsLayerScale(node, module)) {
      return Of(RoleType::kResidual, Component::kScale);
    }
    if (!module.listed && IsTokenPick(node)) return Of(RoleType::kPooling);
    return Of(RoleType::kOther);
  }

  // A container may read parameters directly: class tokens, positions, the
  // weight of a head.
  Meaning FromParameters(NodeId node) {
    for (const ValueId input : model_.Inputs(node)) {
      if (input == kNo<ValueId> || !facts_.IsConstant(input) ||
          HasMeaning(input)) {
        continue;
      }
      const Meaning named = facts_.ParameterMeaning(input, Meaning());
      if (named.type == RoleType::kEmbedding || named.type == RoleType::kHead) {
        return named;
      }
    }
    return {};
  }

  bool IsLayerScale(NodeId node, const ModuleMeaning& module) const {
    if (!module.listed || module.leaf || facts_.graph.ops[node] != Op::kMul ||
        facts_.DataInputs(node) != 1) {
      return false;
    }
    return AnyIn(model_.Inputs(node), [&](ValueId input) {
      return facts_.IsConstant(input) && WideDimensions(input) == 1;
    });
  }

  // The meaning of the data inputs, if they agree and containers pass it on.
  Meaning FromInputs(NodeId node) const {
    Meaning common;
    bool first = true;
    for (const ValueId input : model_.Inputs(node)) {
      if (!facts_.graph.data.IsComputed(input) && !HasMeaning(input)) continue;
      const NodeId producer = facts_.Producer(input);
      if (producer == kNo<NodeId>) return {};
      const Meaning& before = meanings_[producer];
      if (first) {
        common = before;
      } else if (before.type != common.type) {
        return {};
      } else if (before.component != common.component) {
        common.component = Component::kNone;
      }
      first = false;
    }
    return IsHandedOn(common.type) ? common : Meaning();
  }

  static bool IsHandedOn(RoleType type) {
    return type == RoleType::kEmbedding || type == RoleType::kPosition ||
           type == RoleType::kPooling || type == RoleType::kHead ||
           type == RoleType::kRouting;
  }

  RoleFacts& facts_;
  const Model& model_ = facts_.model;
  IdVector<NodeId, Meaning> meanings_{model_.node_count()};  // so far
};

}  // namespace

void AssignRoles(const GraphFacts& graph, Tagging& tagging,
                 const RoleVocabulary& words) {
  RoleFacts facts(graph, tagging, words);
  GatherOps(facts);
  GatherShapes(facts);
  GatherModuleMeanings(facts);
  FollowAttention(facts);
  FollowUses(facts);
  TellCrossAttention(facts);
  tagging.roles = {};
  RoleIndex roles(tagging);
  RoleRules rules(facts);
  Meaning last;
  Role role;
  RoleId role_id{0};
  for (const NodeId node : graph.model.Nodes()) {
    Tag& tag = tagging.tags[node];
    if (!tag.tagged()) continue;
    const Meaning meaning = rules.Classify(node);
    const std::int32_t layer = facts.modules[tag.module].layer;
    const Confidence confidence = rules.Sureness(node, meaning);
    // Most nodes have the same role as the previous node.
    if (meaning != last || layer != role.layer ||
        confidence != role.confidence) {
      last = meaning;
      role.confidence = confidence;
      role.type = meaning.type;
      role.component =
          kComponentNames[static_cast<std::size_t>(meaning.component)];
      role.attention_kind = meaning.kind;
      role.layer = layer;
      role_id = roles.Add(role);
    }
    tag.role = role_id;
  }
}

}  // namespace onnx_tag
