#include "clues/recipes/tokens/tokens.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <unordered_map>

#include "clues/exporters/parameter_name.h"
#include "clues/exporters/tools/original_name.h"
#include "core/graph/order.h"
#include "file/model/attributes.h"

namespace onnx_tag::recipes {

DataFlow::DataFlow(const GraphFacts& facts, GraphId body)
    : facts_(facts), model_(facts.model), main_(body) {
  if (model_.graph_count() > 0) order_ = ExecutionOrder(model_, main_);
}

bool DataFlow::IsVisible(GraphId graph) const {
  for (GraphId at = main_; at != kNo<GraphId>; at = model_[at].parent) {
    if (at == graph) return true;
  }
  return false;
}

std::vector<ValueId> DataFlow::Reads(NodeId node) const {
  const auto inputs = model_.Inputs(node);
  std::vector<ValueId> reads;
  for (const ValueId input : inputs) {
    if (input != kNo<ValueId>) reads.push_back(input);
  }
  std::vector<GraphId> open(model_.Subgraphs(node).begin(),
                            model_.Subgraphs(node).end());
  while (!open.empty()) {
    const GraphId graph = open.back();
    open.pop_back();
    for (const NodeId inner : model_[graph].nodes) {
      for (const ValueId input : model_.Inputs(inner)) {
        if (input != kNo<ValueId> && model_[input].graph == main_) {
          reads.push_back(input);
        }
      }
      const auto below = model_.Subgraphs(inner);
      open.insert(open.end(), below.begin(), below.end());
    }
  }
  return reads;
}

NodeId DataFlow::Producer(ValueId value) const {
  if (value == kNo<ValueId>) return kNo<NodeId>;
  const NodeId node = model_.Producer(value);
  return node != kNo<NodeId> && model_[node].graph == main_ ? node
                                                            : kNo<NodeId>;
}

std::vector<NodeId> DataFlow::Readers(ValueId value) const {
  std::vector<NodeId> readers;
  // Consumers are in the file's order, a node before those of its subgraphs:
  // equal readers are neighbours.
  for (NodeId node : model_.Consumers(value)) {
    while (node != kNo<NodeId> && model_[node].graph != main_) {
      node = model_[model_[node].graph].parent_node;
    }
    if (node != kNo<NodeId> && (readers.empty() || readers.back() != node)) {
      readers.push_back(node);
    }
  }
  return readers;
}

namespace {

// Finds nodes whose parameter kept its name: the fixed points of an alignment.
// By node of the model: the path of the module whose parameter the node uses;
// "" if there is none. If there are several parameters, one without other
// consumers is preferred, then the one with the highest rank.

// No recorded module has so many atoms. Paths are cut and compared at every
// length, which is for short ones.
constexpr std::ptrdiff_t kDeepest = 64;

struct Parameter {
  std::string_view module;  // "" if the value is not a parameter
  std::uint32_t rank = 0;
};

class AnchorFinder {
 public:
  explicit AnchorFinder(const DataFlow& flow) : flow_(flow) {
    for (const Initializer& tensor : model_.initializers()) {
      if (flow.IsVisible(model_[tensor.value].graph)) {
        Name(tensor.value, tensor.rank);
      }
    }
    for (const ValueId value : flow.facts().left_out) {
      if (flow.IsVisible(model_[value].graph)) Name(value, RankOf(value));
    }
    for (const NodeId node : flow.Order()) Carry(node);
  }

  IdVector<NodeId, std::string_view> Run() {
    IdVector<ValueId, std::uint32_t> uses(model_.value_count(), 0);
    for (const NodeId node : flow_.Order()) {
      if (carrier_[node]) continue;
      for (const ValueId input : model_.Inputs(node)) {
        if (IsParameter(input)) ++uses[parameter_[input]];
      }
    }
    IdVector<NodeId, std::string_view> anchors(model_.node_count());
    for (const NodeId node : flow_.Order()) {
      std::tuple<bool, std::uint32_t, std::string_view> best;
      for (const ValueId input : model_.Inputs(node)) {
        if (!IsParameter(input)) continue;
        const ValueId tensor = parameter_[input];
        if (uses[tensor] > 1 && IsUniform(tensor)) continue;
        const Parameter& parameter = named_[tensor];
        best = std::max(best, std::tuple(uses[tensor] <= 1, parameter.rank,
                                         parameter.module));
      }
      anchors[node] = std::get<2>(best);
    }
    return anchors;
  }

 private:
  bool IsParameter(ValueId value) const {
    return value != kNo<ValueId> && parameter_[value] != kNo<ValueId>;
  }

  // The norms and biases of an untrained model are equal, and merged. Nobody
  // knows the numbers of those that the file leaves out.
  bool IsUniform(ValueId value) const {
    const Initializer* const tensor = model_.InitializerOf(value);
    return tensor != nullptr ? tensor->uniform : named_.at(value).rank <= 1;
  }

  void Name(ValueId value, std::uint32_t rank) {
    const hierarchy::StrippedName undone =
        hierarchy::UndoTensorName(model_.ValueName(value));
    if (!hierarchy::IsParameterName(undone.name)) return;
    const std::string_view module =
        undone.module_only ? undone.name
                           : hierarchy::SplitParameterName(undone.name).module;
    if (module.empty()) return;  // of the root, or of no module
    if (std::count(module.begin(), module.end(), '.') >= kDeepest) return;
    parameter_[value] = value;
    named_[value] = {module, rank};
  }

  void Carry(NodeId node) {
    const auto inputs = model_.Inputs(node);
    if (flow_.IsData(node) || inputs.empty() ||
        !flow_.facts().ops.Is(node, kCarriers)) {
      return;
    }
    carrier_[node] = true;
    if (inputs[0] == kNo<ValueId>) return;
    for (const ValueId output : model_.Outputs(node)) {
      if (output == kNo<ValueId>) continue;
      // An Identity replaces a parameter that was merged with an equal one.
      if (flow_.facts().ops[node] == Op::kIdentity) {
        Name(output, IsParameter(inputs[0]) ? named_[parameter_[inputs[0]]].rank
                                            : RankOf(inputs[0]));
      }
      if (!IsParameter(output)) parameter_[output] = parameter_[inputs[0]];
    }
  }

  std::uint32_t RankOf(ValueId value) const {
    return static_cast<std::uint32_t>(
        flow_.facts().links.ShapeOf(value).dims.size());
  }

  const DataFlow& flow_;
  const Model& model_ = flow_.model();
  // The tensor that a value passes on.
  IdVector<ValueId, ValueId> parameter_{model_.value_count(), kNo<ValueId>};
  std::unordered_map<ValueId, Parameter> named_;
  IdVector<NodeId, bool> carrier_{model_.node_count(), false};
};

// Operators have a common label for all their forms, quantized ones included.
// Empty: the label is the operator.
std::string_view OperatorLabel(Op like) { return LabelOf(Describe(like).name); }

// Empty: its nodes are tokens of their own.
std::string_view CompositeLabel(CompositeKind kind) {
  // In the order of CompositeKind.
  constexpr std::string_view kNames[] = {
      "linear", "convolution", "layerNorm", "rmsNorm",   "groupNorm",
      "gelu",   "quickGelu",   "silu",      "hardSwish", "mish"};
  return LabelOf(kNames[static_cast<std::size_t>(kind)]);
}

// Of products of two values.
std::string ProductLabel() { return std::string(Describe(Op::kMatMul).name); }

// The numbers of an integer attribute, as "1,2,3"; "" if it is missing.
std::string Numbers(Bytes node, std::string_view name) {
  std::string text;
  if (const auto attribute = FindAttribute(node, name)) {
    for (const std::int64_t number : attribute->numbers) {
      if (!text.empty()) text += ',';
      text += std::to_string(number);
    }
  }
  return text;
}

// Whether the attribute `alpha` is 1, as it is where it is missing.
bool HasAlphaOne(Bytes node) {
  const auto alpha = FindAttribute(node, "alpha");
  return !alpha || std::abs(alpha->real.value_or(0) - 1) < 1e-4F;
}

}  // namespace

TokenGraph::TokenGraph(const GraphFacts& facts, GraphId body)
    : flow_(facts, body), anchors_(AnchorFinder(flow_).Run()) {
  Build();
  Connect();
  MoveAnchors();
}

void TokenGraph::Build() {
  const Composites& composites = flow_.facts().composites();
  IdVector<NodeId, const Composites::Composite*> composite_of(
      flow_.model().node_count(), nullptr);
  for (const Composites::Composite& composite : composites) {
    if (CompositeLabel(composite.kind).empty()) continue;
    for (const NodeId node : composites.Nodes(composite)) {
      composite_of[node] = &composite;
    }
  }
  for (const NodeId node : flow_.Order()) {
    if (!flow_.IsData(node) || flow_.IsTransparent(node) ||
        token_of_[node] != kNone) {
      continue;
    }
    const Composites::Composite* const composite = composite_of[node];
    if (composite == nullptr) {
      AddNode(node);
      continue;
    }
    const auto index = static_cast<std::uint32_t>(tokens_.size());
    Token& token = tokens_.emplace_back();
    token.label = CompositeLabel(composite->kind);
    token.is_activation = IsActivation(composite->kind);
    const std::span<const NodeId> nodes = composites.Nodes(*composite);
    token.nodes.assign(nodes.begin(), nodes.end());
    token.main = static_cast<std::uint32_t>(
        std::find(nodes.begin(), nodes.end(), composite->main) - nodes.begin());
    for (const NodeId part : token.nodes) token_of_[part] = index;
    for (const NodeId part : token.nodes) last_of_[part] = index;
    token.extra = Extra(token);
  }
}

Fused TokenGraph::ReadFused(NodeId node) const {
  using Owner = Fused::Owner;
  const Op op = flow_.facts().ops[node];
  const Operator& known = Describe(op);
  const Bytes bytes = flow_.model().NodeBytes(node);
  const auto inputs = flow_.model().Inputs(node);
  const bool has_weight = inputs.size() > 1 && inputs[1] != kNo<ValueId> &&
                          !flow_.IsData(inputs[1]);
  if (op == Op::kFusedMatMul) {
    if (has_weight || HasAlphaOne(bytes)) return {};
    return {{ProductLabel(), "Mul:dc"}, 0, Owner::kMain};
  }
  // x sigmoid(a x) with a = 1 is SiLU.
  if (op == Op::kQuickGelu) {
    return {{HasAlphaOne(bytes) ? "SILU" : "QGELU"}, 0, Owner::kMain};
  }
  if (op == Op::kBiasSoftmax) return {{"Add:dd", "SOFTMAX"}, 1, Owner::kMain};
  if (op == Op::kEmbedLayerNormalization) {
    return {{"Gather:cd", "Add:dd", "LN"}, 2, Owner::kNobody};
  }
  const std::string label(OperatorLabel(known.like));
  if (known.kinds.HasAnyOf(OpKind::kSkip) && !label.empty()) {
    return {{"Add:dd", label}, 1, Owner::kMain};
  }
  if (known.like == Op::kGelu && inputs.size() > 1) {
    return {{label}, 0, Owner::kProductBefore};
  }
  if (known.kinds.HasAnyOf(OpKind::kAttention)) {
    if (has_weight) {
      return {{"LIN", "LIN", "LIN", ProductLabel(), "SOFTMAX", ProductLabel()},
              4,
              Owner::kNobody};
    }
    return {{ProductLabel(), "SOFTMAX", ProductLabel()}, 1, Owner::kNobody};
  }
  const auto activation = FindAttribute(bytes, "activation");
  if (!known.kinds.HasAnyOf(OpKind::kFused) ||
      !known.kinds.HasAnyOf(kWeighing) || !activation) {
    return {};
  }
  Fused fused{{Label(node)}, 0, Owner::kMain};
  if (!activation->text.empty()) {
    fused.labels.emplace_back(FindOp(activation->text) == Op::kHardSigmoid
                                  ? "HSWISH"
                                  : activation->text);
  }
  return fused;
}

void TokenGraph::AddNode(NodeId node) {
  Fused fused = ReadFused(node);
  if (fused.labels.empty()) fused.labels.push_back(Label(node));
  AddFused(node, fused);
}

void TokenGraph::AddFused(NodeId node, const Fused& fused) {
  for (std::size_t i = 0; i < fused.labels.size(); ++i) {
    const auto index = static_cast<std::uint32_t>(tokens_.size());
    Token& token = tokens_.emplace_back();
    token.label = fused.labels[i];
    token.nodes = {node};
    token.is_echo = i != fused.main;
    last_of_[node] = index;
    if (token.is_echo) continue;
    token_of_[node] = index;
    token.extra = Extra(token);
    token.is_activation = flow_.facts().ops.Is(node, OpKind::kActivation);
  }
  if (fused.owner == Fused::Owner::kMain) return;
  if (fused.owner == Fused::Owner::kProductBefore) {
    biases_.emplace_back(token_of_[node], anchors_[node]);
  }
  anchors_[node] = {};
}

void TokenGraph::Connect() {
  // By token, the last one that reads it: each input counts once.
  std::vector<std::uint32_t> reader(tokens_.size(), kNone);
  for (std::uint32_t i = 0; i < tokens_.size(); ++i) {
    Token& token = tokens_[i];
    if (!token.is_echo) token.anchor = anchors_[token.main_node()];
    // Inside a fused node, each token reads the previous one.
    if (i > 0 && tokens_[i - 1].main_node() == token.main_node()) {
      token.inputs.push_back(i - 1);
      continue;
    }
    for (const NodeId node : token.nodes) {
      if (token.anchor.empty() && !token.is_echo) token.anchor = anchors_[node];
      for (const ValueId value : flow_.Reads(node)) {
        const std::uint32_t input = TokenFor(flow_.Source(value));
        if (input == kNone || input == i || reader[input] == i) continue;
        reader[input] = i;
        token.inputs.push_back(input);
      }
    }
  }
}

std::uint32_t TokenGraph::TokenFor(ValueId value) const {
  const NodeId node = flow_.Producer(value);
  if (node == kNo<NodeId>) return kNone;
  const std::uint32_t token = token_of_[node];
  // A norm that first adds also returns the sum.
  if (token != kNone && token > 0 && tokens_[token - 1].is_echo &&
      tokens_[token - 1].main_node() == node &&
      flow_.model().Outputs(node)[0] != value) {
    return token - 1;
  }
  return last_of_[node];
}

void TokenGraph::MoveAnchors() {
  for (const auto& [token, anchor] : biases_) {
    for (const std::uint32_t input : tokens_[token].inputs) {
      Token& product = tokens_[input];
      if (product.label == "LIN" && product.anchor.empty()) {
        product.anchor = anchor;
      }
    }
  }
}

bool TokenGraph::relus_folded() const {
  const std::vector<NodeId>& nodes = flow_.Order();
  return std::any_of(
             nodes.begin(), nodes.end(),
             [this](NodeId node) { return flow_.IsTransparent(node); }) &&
         std::none_of(tokens_.begin(), tokens_.end(), [](const Token& token) {
           return token.label == Describe(Op::kRelu).name;
         });
}

std::vector<std::uint32_t> TokenGraph::Outputs() const {
  std::vector<std::uint32_t> outputs;
  for (const ValueId output : flow_.graph().outputs) {
    const std::uint32_t token = TokenFor(flow_.Source(output));
    if (token != kNone) outputs.push_back(token);
  }
  return outputs;
}

std::string TokenGraph::Label(NodeId node) const {
  const Model& model = flow_.model();
  const Op op = flow_.facts().ops[node];
  const auto inputs = model.Inputs(node);
  const Op like = Describe(op).like;
  if (like == Op::kMatMul || like == Op::kGemm) {
    const bool linear =
        std::any_of(inputs.begin(), inputs.end(), [this](ValueId input) {
          return input != kNo<ValueId> && !flow_.IsData(input);
        });
    return linear ? "LIN" : ProductLabel();
  }
  if (const std::string_view label = OperatorLabel(like); !label.empty()) {
    return std::string(label);
  }
  // Operators whose meaning depends on their inputs.
  if (!flow_.facts().ops.Is(
          node, {Op::kAdd, Op::kMul, Op::kSub, Op::kDiv, Op::kPow, Op::kGather,
                 Op::kMin, Op::kMax, Op::kEqual, Op::kLess, Op::kGreater,
                 Op::kAnd, Op::kOr})) {
    return std::string(model.OpType(node));
  }
  std::string pattern;
  for (const ValueId input :
       inputs.first(std::min<std::size_t>(2, inputs.size()))) {
    pattern += flow_.IsData(input) ? 'd' : 'c';
  }
  if ((op == Op::kAdd || op == Op::kMul) && pattern == "cd") pattern = "dc";
  return fmt::format("{}:{}", model.OpType(node), pattern);
}

std::string TokenGraph::Extra(const Token& token) const {
  const NodeId node = token.main_node();
  const Bytes bytes = flow_.model().NodeBytes(node);
  if (token.label == "LIN") {
    const auto inputs = flow_.model().Inputs(node);
    if (inputs.size() < 2) return "";
    const auto dims = flow_.facts().links.ShapeOf(inputs[1]).dims;
    if (dims.size() != 2) return "";
    return dims[0] == dims[1] ? "=" : "~";
  }
  if (token.label == "CONV") {
    return fmt::format("k{} s{}{}", Numbers(bytes, "kernel_shape"),
                       Numbers(bytes, "strides"),
                       IntAttribute(bytes, "group", 1) != 1 ? " g" : "");
  }
  const bool transposes = flow_.facts().ops[node] == Op::kTranspose;
  return transposes ? Numbers(bytes, "perm") : "";
}

std::vector<std::uint32_t> DepthFirstOrder(
    const std::vector<std::vector<std::uint32_t>>& inputs,
    const std::vector<std::uint32_t>& outputs) {
  enum class Id : std::uint32_t {};
  std::vector<bool> read(inputs.size(), false);
  for (const auto& token : inputs) {
    for (const std::uint32_t input : token) read[input] = true;
  }
  std::vector<Id> starts;
  for (const std::uint32_t output : outputs) starts.push_back(Id{output});
  for (const bool is_read : {false, true}) {  // a cycle has none to start from
    for (std::uint32_t i = 0; i < inputs.size(); ++i) {
      if (read[i] == is_read) starts.push_back(Id{i});
    }
  }
  const auto inputs_of = [&](Id id) -> const std::vector<std::uint32_t>& {
    return inputs[Index(id)];
  };
  std::vector<std::uint32_t> order;
  for (const Id id :
       DepthFirst<Id>(inputs.size(), starts, inputs_of,
                      [](std::uint32_t input) { return Id{input}; })) {
    order.push_back(static_cast<std::uint32_t>(id));
  }
  return order;
}

}  // namespace onnx_tag::recipes
