// Finds the purpose of modules from their attribute names and classes, in the
// context of their ancestors. If these say nothing, operations are used.

#include "base/lists.h"
#include "base/text.h"
#include "core/graph/walk.h"
#include "core/hierarchy/name_parts.h"
#include "mapping/roles/role_facts.h"

namespace onnx_tag {
namespace {

// What a module does, whatever its name says.
struct Work {
  std::uint32_t linears = 0;   // products with a weight
  std::uint32_t products = 0;  // of data with data
  std::uint32_t convolutions = 0;
  bool fused_attention = false;
  bool recurrent = false;
  bool pools = false;
  bool softmax = false;
  bool norm_beside_product = false;  // one reads the result of the other

  bool attends() const { return products > 0 || fused_attention; }
  // With its softmax: no other code has all of it.
  bool has_attention() const {
    return fused_attention || (softmax && products >= 2);
  }
  void Add(const Work& other) {
    linears += other.linears;
    products += other.products;
    convolutions += other.convolutions;
    fused_attention |= other.fused_attention;
    recurrent |= other.recurrent;
    pools |= other.pools;
    softmax |= other.softmax;
    norm_beside_product |= other.norm_beside_product;
  }
};

// The operations of a module's own nodes.
struct OwnCode {
  std::uint32_t kind = 0;  // its first characteristic operation, plus one
  Meaning by_op;
  Work work;
  bool lookup = false;
  bool norm = false;
  bool makes_output = false;
  NodeId weighted = kNo<NodeId>;  // its last product or convolution
};

class ModuleMeanings {
 public:
  explicit ModuleMeanings(RoleFacts& facts) : facts_(facts) {}

  void Run() {
    for (const NodeId node : model_.Nodes()) ReadNode(node);
    // A module's id is greater than its parent's.
    for (std::size_t i = tree_.size(); i-- > 0;) {
      const auto id = MakeId<ModuleId>(i);
      work_[id].Add(code_[id].work);
      if (i > 0) work_[tree_.Parent(id)].Add(work_[id]);
    }
    for (const ModuleId id : tree_.All()) {
      if (id != ModuleTree::kRoot && HasWeight(id) && IsElement(id)) {
        ModuleId& last = last_weight_[tree_.Parent(id)];
        if (last == kNo<ModuleId> || Later(id, last)) last = id;
      }
    }
    facts_.modules.resize(tree_.size());
    for (const ModuleId id : tree_.All()) Describe(id);
    std::vector<std::uint32_t> kinds;
    kinds.reserve(code_.size());
    for (const OwnCode& code : code_) kinds.push_back(code.kind);
    const std::vector<std::int32_t> layers = LayerIndices(tree_, kinds);
    for (const ModuleId id : tree_.All()) {
      facts_.modules[id].layer = layers[Index(id)];
    }
  }

 private:
  void ReadNode(NodeId node) {
    const ModuleId module = facts_.tagging.tags[node].module;
    if (module == kNo<ModuleId>) return;
    OwnCode& code = code_[module];
    const bool product = facts_.Is(node, OpKind::kProduct);
    const int data = product ? facts_.DataInputs(node) : 0;
    const auto inputs = model_.Inputs(node);
    code.lookup |= facts_.Is(node, OpKind::kLookup) && inputs.size() > 1 &&
                   facts_.IsConstant(inputs[0]) &&
                   !facts_.IsConstant(inputs[1]);
    // What standardizes a weight says nothing about the data.
    const bool runs = facts_.DataInputs(node) > 0;
    code.norm |= runs && facts_.IsNorm(node);
    code.makes_output |= to_output_[node];
    if (facts_.HasWeight(node)) code.weighted = node;
    ReadWork(node, data, code.work);
    if (!runs && !facts_.Is(node, OpKind::kConstant)) return;
    for (const std::uint16_t number : facts_.OpLines(node)) {
      const RoleLine& line = facts_.words.line(number);
      if (!line.FitsAround(Meaning())) continue;
      if (!code.by_op.typed()) code.by_op = line.meaning;
      break;
    }
    const bool telling = product || code.by_op.typed();
    if (telling && (code.kind == 0 || code.kind >= kFaint)) {
      code.kind = facts_.node_op[node] + 1u;
      // With a bias or without, as MatMul or as Gemm: a Linear.
      if (product) code.kind = kLinearKind;
    } else if (code.kind == 0 && !facts_.Is(node, OpKind::kConstant)) {
      code.kind = kFaint + facts_.node_op[node];
    }
  }

  // By node: its result is an output of the model, perhaps in another shape.
  IdVector<NodeId, bool> FindOutputs() const {
    IdVector<NodeId, bool> found(model_.node_count(), false);
    for (std::size_t i = model_.node_count(); i-- > 0;) {
      const auto node = MakeId<NodeId>(i);
      for (const ValueId output : model_.Outputs(node)) {
        if (output == kNo<ValueId>) continue;
        const auto readers = model_.Consumers(output);
        found[node] = found[node] || model_[output].is_output ||
                      (readers.size() == 1 && IsTransparent(readers[0]) &&
                       found[readers[0]]);
      }
    }
    return found;
  }

  // What makes the first input that is data, and whether another one is, too.
  std::pair<NodeId, bool> DataBefore(NodeId node) const {
    NodeId first = kNo<NodeId>;
    for (const ValueId input : model_.Inputs(node)) {
      const NodeId producer = facts_.Producer(input);
      if (producer == kNo<NodeId> || facts_.IsConstant(input) ||
          facts_.IsShape(producer) || facts_.IsScale(input)) {
        continue;
      }
      if (first != kNo<NodeId>) return {first, true};
      first = producer;
    }
    return {first, false};
  }

  // The node whose result this one reads as data, in front of what only moves
  // data or adds a bias; kNo: none, or several.
  NodeId Before(NodeId node) const {
    constexpr int kLongest = 8;
    for (int step = 0; step < kLongest; ++step) {
      const auto [first, several] = DataBefore(node);
      if (first == kNo<NodeId> || several) return kNo<NodeId>;
      if (!IsTransparent(first)) return first;
      node = first;
    }
    return kNo<NodeId>;
  }

  bool IsTransparent(NodeId node) const {
    return facts_.Is(node, {OpKind::kReshape, OpKind::kTranspose,
                            OpKind::kIdentity, OpKind::kDropout, OpKind::kCast,
                            OpKind::kQuantizer, OpKind::kDequantizer}) ||
           (facts_.Is(node, {OpKind::kSum, OpKind::kElementwise}) &&
            !facts_.IsNorm(node) && !IsActivationNode(node) &&
            facts_.DataInputs(node) == 1);
  }

  bool IsActivationNode(NodeId node) const {
    return facts_.Is(node, OpKind::kActivation) ||
           facts_.in_activation[Index(node)];
  }

  // `data`: how many inputs of a product are data.
  void ReadWork(NodeId node, int data, Work& work) {
    const bool convolution = facts_.Is(node, OpKind::kConvolution);
    work.linears += data == 1 ? 1 : 0;
    work.convolutions += convolution ? 1 : 0;
    work.products += data >= 2 ? 1 : 0;
    work.fused_attention |= facts_.Is(node, OpKind::kAttention);
    work.recurrent |= facts_.Is(node, OpKind::kRecurrent);
    work.softmax |= facts_.Is(node, OpKind::kSoftmax);
    work.pools |= facts_.Is(node, {OpKind::kPool, OpKind::kReduction});
    if (data != 1 && !convolution && !facts_.IsNorm(node)) return;
    const NodeId before = Before(node);
    if (before == kNo<NodeId>) return;
    if (facts_.IsNorm(node)) {
      work.norm_beside_product |= facts_.HasWeight(before);
      return;
    }
    work.norm_beside_product |= facts_.IsNorm(before);
    if (data == 1) ReadExpansion(node, before);
  }

  // A product, an activation (perhaps times another product), a product.
  void ReadExpansion(NodeId last, NodeId before) {
    ModuleId first = kNo<ModuleId>;
    ModuleId beside = kNo<ModuleId>;  // what the activation is multiplied with
    if (IsActivationNode(before)) {
      first = ProductBefore(before);
    } else if (facts_.graph.ops[before] == Op::kMul) {
      for (const ValueId input : model_.Inputs(before)) {
        const NodeId producer = Behind(facts_.Producer(input));
        if (producer == kNo<NodeId>) continue;
        (IsActive(producer) ? first : beside) = ProductBefore(producer);
      }
    }
    if (first == kNo<ModuleId>) return;
    const ModuleId module = facts_.tagging.tags[last].module;
    expands_[tree_.CommonAncestor(first, module)] = true;
    if (!IsJoined(last) || first == module) return;
    // A quantized SiLU is a product of the same with itself.
    const bool gated = beside != kNo<ModuleId> && beside != first;
    parts_[module] = Component::kDown;
    parts_[first] = gated ? Component::kGate : Component::kUp;
    if (gated) parts_[beside] = Component::kUp;
  }

  // What the quantizers at the node have quantized.
  NodeId Behind(NodeId node) const {
    while (node != kNo<NodeId> &&
           facts_.Is(node, {OpKind::kQuantizer, OpKind::kDequantizer})) {
      node = facts_.Producer(FirstInput(model_, node));
    }
    return node;
  }

  // An activation, or the product that ends a SiLU between quantizers.
  bool IsActive(NodeId node) const {
    if (IsActivationNode(node)) return true;
    if (facts_.graph.ops[node] != Op::kMul) return false;
    return AnyIn(model_.Inputs(node), [&](ValueId input) {
      const NodeId producer = Behind(facts_.Producer(input));
      return producer != kNo<NodeId> && IsActivationNode(producer);
    });
  }

  // The module of the product with a weight at or in front of the node, with no
  // attention between; kNo if there is none.
  ModuleId ProductBefore(NodeId node) const {
    for (int step = 0; step < 16 && node != kNo<NodeId>; ++step) {
      if (facts_.HasWeight(node)) break;
      if (facts_.Is(node, {OpKind::kProduct, OpKind::kAttention})) {
        return kNo<ModuleId>;
      }
      node = DataBefore(node).first;
    }
    return node == kNo<NodeId> || !facts_.Is(node, OpKind::kProduct)
               ? kNo<ModuleId>
               : facts_.tagging.tags[node].module;
  }

  // Whether the result is added to other data, perhaps in another shape.
  bool IsJoined(NodeId node) const {
    constexpr int kLongest = 8;
    for (int step = 0; step < kLongest; ++step) {
      const ValueId output = FirstOutput(model_, node);
      if (output == kNo<ValueId>) return false;
      const auto readers = model_.Consumers(output);
      if (readers.size() != 1) return false;
      node = readers[0];
      if (facts_.IsJoin(node)) return true;
      if (facts_.Is(node, OpKind::kNorm)) return facts_.DataInputs(node) > 1;
      if (!IsTransparent(node)) return false;
    }
    return false;
  }

  bool HasWeight(ModuleId id) const {
    const OwnCode& code = code_[id];
    return code.work.linears > 0 || code.work.convolutions > 0;
  }

  bool IsElement(ModuleId id) const {
    return id == ModuleTree::kRoot || hierarchy::IsNumeric(tree_.Atom(id));
  }

  // Whether `a` follows `b` in the same list.
  bool Later(ModuleId a, ModuleId b) const {
    return hierarchy::SmallNumber(tree_.Atom(a), -1) >
           hierarchy::SmallNumber(tree_.Atom(b), -1);
  }

  // Adds the evidence of the operations to the evidence of the name.
  void Refine(ModuleId id, const Meaning& around, Meaning& meaning) const {
    const OwnCode& code = code_[id];
    const bool leaf = facts_.modules[id].leaf;
    if (leaf && meaning == Of(RoleType::kEmbedding, Component::kWord) &&
        !code.lookup && HasWeight(id)) {
      meaning.component =
          code.work.linears > 0 ? Component::kProjection : Component::kPatch;
    }
    if (leaf && meaning.type == RoleType::kFeedForward &&
        code.work.linears > 0 && code.makes_output &&
        !facts_.modules[tree_.Parent(id)].listed) {
      meaning = Of(RoleType::kHead, Component::kClassifier);
    }
    // Only the last part of a Sequential makes the logits.
    const ModuleId last = last_weight_[tree_.Parent(id)];
    if (around.component == Component::kClassifier &&
        meaning.component == Component::kClassifier && IsElement(id) &&
        last != kNo<ModuleId> && id != last && Later(last, id)) {
      meaning.component = Component::kNone;
    }
  }

  bool HasOne(ModuleId parent, const std::vector<std::string_view>& atoms,
              ModuleId except = kNo<ModuleId>) const {
    return AnyIn(atoms, [&](std::string_view atom) {
      const ModuleId child = tree_.FindChild(parent, atom);
      return child != kNo<ModuleId> && child != except;
    });
  }

  bool Fits(const RoleLine& line, ModuleId id, const Meaning& around) const {
    const bool leaf = facts_.modules[id].leaf;
    const bool listed = facts_.modules[id].listed;
    return line.FitsAround(around) && (!line.leaf || leaf) &&
           (!line.inner || !leaf) && (!line.listed || listed) &&
           (!line.unlisted || !listed) && (!line.top || tree_.Depth(id) == 1) &&
           (line.has.empty() || HasOne(id, line.has)) &&
           (line.beside.empty() || HasOne(tree_.Parent(id), line.beside, id));
  }

  // Whether the module does something else than its name or class says:
  // ConvNormAct is no normalization, and a squeeze-and-excitation that is
  // called `attn` does not attend.
  bool Contradicts(ModuleId id, const Meaning& meaning,
                   const Meaning& around) const {
    const Work& work = work_[id];
    switch (meaning.type) {
      case RoleType::kNormalization:
        return work.convolutions > 0 || work.linears > 1 || work.attends() ||
               work.recurrent ||
               (work.linears == 1 &&
                (facts_.modules[id].leaf || work.norm_beside_product));
      case RoleType::kActivation:
        return work.linears > 0 || work.convolutions > 0 || work.attends() ||
               work.recurrent;
      case RoleType::kPosition:
        // The angles of a rotary embedding may be one product.
        return work.fused_attention || work.products > 1;
      case RoleType::kAttention:
        return around.type != RoleType::kAttention && work.pools &&
               !work.attends() && work.linears + work.convolutions > 0;
      case RoleType::kPooling:
        // It pools by an attention.
        return work.has_attention();
      case RoleType::kEmbedding:
        return work.has_attention() ||
               (meaning.component == Component::kPatch &&
                work.convolutions > 1);
      case RoleType::kHead:
        return meaning.component == Component::kClassifier && !around.typed() &&
               facts_.modules[id].leaf && FeedsWeight(id);
      default:
        return false;
    }
  }

  // Whether the result of a leaf goes on to the weight of another module, and
  // is no output: nothing that classifies does so.
  bool FeedsWeight(ModuleId id) const {
    constexpr std::size_t kMost = 40;
    const OwnCode& code = code_[id];
    if (code.weighted == kNo<NodeId> || code.makes_output) return false;
    std::vector<NodeId> open = {code.weighted};
    for (std::size_t i = 0; i < open.size() && open.size() < kMost; ++i) {
      for (const ValueId output : model_.Outputs(open[i])) {
        if (output == kNo<ValueId>) continue;
        if (model_[output].is_output) return false;
        for (const NodeId reader : model_.Consumers(output)) {
          if (facts_.HasWeight(reader) &&
              facts_.tagging.tags[reader].module != id) {
            return true;
          }
          if (open.size() < kMost) open.push_back(reader);
        }
      }
    }
    return false;
  }

  // A block of a layer: it widens, applies an activation, and narrows.
  bool IsFeedForward(ModuleId id) const {
    const Work& work = work_[id];
    return !facts_.modules[id].leaf && facts_.modules[id].listed &&
           expands_[id] && work.linears <= 3 && work.convolutions == 0 &&
           !work.attends() && !work.recurrent && !work.pools;
  }

  const RoleLine* FirstFitting(ModuleId id, const Meaning& around) {
    const auto& by_name =
        facts_.words.Matching(RoleSubject::kName, tree_.Atom(id));
    static const std::vector<std::uint16_t> kNoLines;
    const std::string_view class_name = tree_.Class(id);
    const auto& by_class =
        class_name.empty()
            ? kNoLines
            : facts_.words.Matching(RoleSubject::kClass, class_name);
    // The two in the order of the file.
    auto a = by_name.begin();
    auto b = by_class.begin();
    while (a != by_name.end() || b != by_class.end()) {
      const bool name_first =
          b == by_class.end() || (a != by_name.end() && *a < *b);
      const RoleLine& line = facts_.words.line(name_first ? *a++ : *b++);
      if (Fits(line, id, around) && !Contradicts(id, line.meaning, around)) {
        return &line;
      }
    }
    return nullptr;
  }

  void Describe(ModuleId id) {
    ModuleMeaning& module = facts_.modules[id];
    module.leaf = tree_.Children(id).empty();
    if (id == ModuleTree::kRoot) return;
    const ModuleId parent = tree_.Parent(id);
    const std::string_view atom = tree_.Atom(id);
    module.listed = facts_.modules[parent].listed || IsElement(id);
    const Meaning around = facts_.modules[parent].meaning;
    module.region = facts_.modules[parent].region;
    const OwnCode& code = code_[id];
    // An MLP may stand beside the attention, or even in its module.
    const bool part = module.leaf && parts_[id] != Component::kNone;
    if (module.leaf && code.norm && !HasWeight(id) && !code.lookup &&
        !work_[id].attends()) {
      module.meaning = Of(RoleType::kNormalization);
    } else if (part && around.type == RoleType::kAttention) {
      module.meaning = Of(RoleType::kFeedForward, parts_[id]);
    } else if (const RoleLine* line = FirstFitting(id, around)) {
      module.meaning = line->meaning;
      if (module.meaning.kind == AttentionKind::kNone) {
        module.meaning.kind = around.kind;
      }
    } else {
      module.meaning = around;
      if (around.component == Component::kExperts) {
        module.meaning.component = Component::kNone;
      }
      if (part && !around.typed()) {
        module.meaning = Of(RoleType::kFeedForward, parts_[id]);
      } else if (!around.typed()) {
        module.meaning =
            IsFeedForward(id) ? Of(RoleType::kFeedForward) : FromCode(id);
      }
    }
    Refine(id, around, module.meaning);
    module.own = module.meaning;
    if (!module.meaning.typed() && code.work.has_attention()) {
      // Only its code shows that it is an attention; its members are unknown.
      module.own.type = RoleType::kAttention;
    }
    for (const std::uint16_t number :
         facts_.words.Matching(RoleSubject::kOwn, atom)) {
      const RoleLine& line = facts_.words.line(number);
      if (Fits(line, id, around)) module.own = line.meaning;
    }
    if (module.region == kNo<ModuleId> &&
        (module.own.type == RoleType::kAttention ||
         module.own.type == RoleType::kFeedForward)) {
      module.region = id;
    }
  }

  Meaning FromCode(ModuleId id) const {
    const OwnCode& code = code_[id];
    Meaning meaning;
    if (!facts_.modules[id].leaf) return meaning;
    if (code.by_op.type == RoleType::kRecurrent ||
        code.by_op.type == RoleType::kConvolution ||
        code.by_op.type == RoleType::kNormalization) {
      return code.by_op;
    }
    if (code.lookup) return {RoleType::kEmbedding, Component::kWord, {}};
    if (code.work.linears > 0 && code.makes_output &&
        !facts_.modules[id].listed) {
      return {RoleType::kHead, Component::kClassifier, {}};
    }
    return meaning;
  }

  static constexpr std::uint32_t kLinearKind = 0x10000;
  static constexpr std::uint32_t kFaint = 0x20000;

  RoleFacts& facts_;
  const Model& model_ = facts_.model;
  const ModuleTree& tree_ = facts_.tagging.modules;
  IdVector<ModuleId, OwnCode> code_{tree_.size()};
  IdVector<ModuleId, Work> work_{tree_.size()};
  IdVector<ModuleId, bool> expands_{tree_.size()};  // see ReadExpansion()
  // What it is in a feed-forward whose result is added to what it started from.
  IdVector<ModuleId, Component> parts_{tree_.size()};
  IdVector<NodeId, bool> to_output_ = FindOutputs();
  // Of a list: its last element with a weight.
  IdVector<ModuleId, ModuleId> last_weight_{tree_.size(), kNo<ModuleId>};
};

}  // namespace

void GatherModuleMeanings(RoleFacts& facts) { ModuleMeanings(facts).Run(); }

Meaning RoleFacts::ParameterMeaning(ValueId value, const Meaning& around) {
  const ValueId weight = WeightOf(value);
  if (weight == kNo<ValueId>) return {};
  std::string_view name = model.ValueName(weight);
  for (const std::string_view leaf : {".weight", ".bias"}) {
    if (name.ends_with(leaf)) name.remove_suffix(leaf.size());
  }
  const std::size_t dot = name.rfind('.');
  // A parameter of the root has no dot; a meaningless name has no dot either.
  if (dot != std::string_view::npos) name.remove_prefix(dot + 1);
  if (name.empty() || hierarchy::IsNumeric(name)) {
    return {};  // a number is not a name
  }
  // Whether the owner of the parameter is in a list: layers.0 of
  // layers.0.fc.weight.
  const auto is_listed = [&] {
    if (dot == std::string_view::npos) return false;
    const std::vector<std::string_view> owner =
        Split(model.ValueName(weight).substr(0, dot), '.');
    return AnyIn(owner, hierarchy::IsNumeric);
  };
  for (const std::uint16_t number : words.Matching(RoleSubject::kName, name)) {
    const RoleLine& line = words.line(number);
    if (line.FitsAround(around) && line.beside.empty() && line.has.empty() &&
        !(line.unlisted && is_listed())) {
      return line.meaning;
    }
  }
  return {};
}

}  // namespace onnx_tag
