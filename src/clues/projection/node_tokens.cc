#include "clues/projection/node_tokens.h"

#include <algorithm>

#include "base/lists.h"
#include "core/graph/neighbours.h"
#include "core/graph/order.h"

namespace onnx_tag {
namespace {

// The maximum depth of nested graphs and calls. ONNX does not allow recursion.
constexpr int kMaxDepth = 64;

// No operation of a model: they copy, or tools put them anywhere.
constexpr OpKinds kNoOperation = {OpKind::kIdentity, OpKind::kConstant,
                                  OpKind::kQuantizer, OpKind::kDequantizer};
// Put together lists of sizes and the like, or change the layout of a weight.
constexpr OpKinds kMovesConstants = {OpKind::kCast,   OpKind::kReshape,
                                     OpKind::kSlice,  OpKind::kTranspose,
                                     OpKind::kConcat, OpKind::kControl};

// A LayerNorm may be written for other norms; none but an RMS norm leaves out
// the mean.
Op OperatorOf(CompositeKind kind) {
  switch (kind) {
    case CompositeKind::kRmsNorm:
      return Op::kRMSNormalization;
    case CompositeKind::kGelu:
      return Op::kGelu;
    case CompositeKind::kSilu:
      return Op::kSwish;
    case CompositeKind::kHardSwish:
      return Op::kHardSwish;
    case CompositeKind::kMish:
      return Op::kMish;
    default:
      return Op::kNone;
  }
}

// Whether it is one of these.
bool IsWhole(Op op) {
  return op == Op::kRMSNormalization || op == Op::kGelu || op == Op::kSwish ||
         op == Op::kHardSwish || op == Op::kMish;
}

class TokenMaker {
 public:
  explicit TokenMaker(const GraphFacts& facts) : facts_(facts) {
    for (const FunctionCalls::Call& call : facts.calls.calls()) {
      called_[call.node] = model_.functions()[Index(call.function)].body;
    }
    for (const NodeId node : model_.Nodes()) {
      if (facts.ops.Is(node, OpKind::kInteger)) MarkQuantizer(node);
    }
  }

  NodeTokens Make() {
    table_.by_node.resize(model_.node_count(), kNo<NodeTokenId>);
    table_.order.reserve(model_.node_count());
    if (model_.graph_count() > 0) WalkGraph(GraphId{0}, 0);
    // Functions that are never called, and training graphs.
    for (const NodeId node : model_.Nodes()) {
      if (!placed_[node]) Visit(node, kMaxDepth);
    }
    return std::move(table_);
  }

 private:
  // What dynamic quantization puts around a product in integers: the scales
  // of both sides, and their product with the result.
  void MarkQuantizer(NodeId node) {
    const QuantizedProduct around = FindQuantizedProduct(facts_.links, node);
    for (const NodeId part : {around.cast, around.scales, around.scaled}) {
      if (part != kNo<NodeId>) of_quantizer_[part] = true;
    }
  }

  void WalkGraph(GraphId graph, int depth) {
    for (const NodeId node : model_[graph].nodes) Visit(node, depth);
  }

  void Visit(NodeId node, int depth) {
    if (placed_[node]) return;
    placed_[node] = true;
    table_.order.push_back(node);
    if (IsOperation(node)) {
      AddToken(node);
    } else {
      HandOn(node);
    }
    if (depth >= kMaxDepth) return;
    // A body follows its node: its operations count as the node's.
    for (const GraphId graph : model_.Subgraphs(node)) {
      WalkBody(node, graph, depth);
    }
    if (called_[node] != kNo<GraphId>) WalkBody(node, called_[node], depth);
  }

  // The inputs of a Loop's body or of a function are the inputs of its node.
  void WalkBody(NodeId node, GraphId graph, int depth) {
    const auto inputs = model_.Inputs(node);
    const auto& formals = model_[graph].inputs;
    for (std::size_t i = 0;
         formals.size() == inputs.size() && i < formals.size(); ++i) {
      if (inputs[i] != kNo<ValueId>)
        token_of_[formals[i]] = token_of_[inputs[i]];
    }
    WalkGraph(graph, depth + 1);
  }

  // Whether an operation of the source model may have made it. What moves
  // constants and sizes is none.
  bool IsOperation(NodeId node) const {
    const ValueId output = FirstOutput(model_, node);
    if (of_quantizer_[node] || facts_.ops.Is(node, kNoOperation) ||
        output == kNo<ValueId>) {
      return false;
    }
    if (facts_.data.Contains(output) ||
        facts_.ops.Is(node, OpKind::kGenerator)) {
      return true;
    }
    const auto inputs = model_.Inputs(node);
    // A number that is repeated to a size is no operation of its own.
    if (facts_.data.IsComputed(output)) {
      return AnyIn(inputs, [&](ValueId input) {
        return facts_.data.IsComputed(input) ||
               !facts_.links.ShapeOf(input).dims.empty();
      });
    }
    // A constant that an operation made is moved by operations.
    return facts_.data.IsConstant(output) &&
           (!facts_.ops.Is(node, kMovesConstants) ||
            AnyIn(inputs, [&](ValueId input) {
              return input != kNo<ValueId> &&
                     token_of_[input] != kNo<NodeTokenId>;
            }));
  }

  // A node that is not a token passes its sources on.
  void HandOn(NodeId node) {
    NodeTokenId source = kNo<NodeTokenId>;
    for (const ValueId input : model_.Inputs(node)) {
      if (input != kNo<ValueId> && token_of_[input] != kNo<NodeTokenId>) {
        source = token_of_[input];
        break;
      }
    }
    SetToken(node, source);
  }

  void SetToken(NodeId node, NodeTokenId token) {
    for (const ValueId output : model_.Outputs(node)) {
      if (output != kNo<ValueId>) token_of_[output] = token;
    }
  }

  void AddToken(NodeId node) {
    const NodeTokenId id = MakeId<NodeTokenId>(table_.tokens.size());
    const Operator& op = Describe(facts_.ops[node]);
    NodeToken token;
    token.node = node;
    token.op = PlainOperator(facts_.ops[node]);
    const auto* const composite = facts_.composites().Of(node);
    token.whole = composite != nullptr ? OperatorOf(composite->kind)
                  : IsWhole(token.op)  ? token.op
                                       : Op::kNone;
    token.depends_on_input = facts_.data.IsMadeBy(node);
    const auto inputs = model_.Inputs(node);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] == kNo<ValueId>) continue;
      if (op.Input(i) != Operand::kSetting) {
        AddWeight(inputs[i], token);
        token.reads_table = token.reads_table || IsTable(inputs[i]);
      }
      const NodeTokenId source = token_of_[inputs[i]];
      if (source == kNo<NodeTokenId> || reader_[source] == id) continue;
      reader_[source] = id;
      token.sources.push_back(source);
    }
    AddShape(node, token);
    table_.by_node[node] = id;
    table_.tokens.Add(std::move(token));
    reader_.Add(kNo<NodeTokenId>);
    SetToken(node, id);
  }

  // Whether it is a tensor of several numbers, or computed from one.
  bool IsTable(ValueId value) const {
    if (facts_.data.Contains(value)) return false;
    const auto shape = facts_.links.ShapeOf(value);
    const NodeId maker = model_.Producer(value);
    return shape.known
               ? AnyIn(shape.dims, [](auto dim) { return dim != 1; })
               : maker != kNo<NodeId> && facts_.ops[maker] != Op::kConstant;
  }

  void AddWeight(ValueId value, NodeToken& token) const {
    const auto dims = facts_.links.ShapeOf(value).dims;
    if (dims.empty()) return;
    Shape& shape = token.weights.emplace_back(dims.begin(), dims.end());
    std::sort(shape.begin(), shape.end());
  }

  void AddShape(NodeId node, NodeToken& token) const {
    const ValueInfo* const info = model_.InfoOf(FirstOutput(model_, node));
    if (info == nullptr || !info->has_shape) return;
    const auto dims = model_.Dims(*info);
    token.has_shape = true;
    token.shape.assign(dims.begin(), dims.end());
  }

  const GraphFacts& facts_;
  const Model& model_ = facts_.model;
  NodeTokens table_;
  IdVector<NodeId, bool> placed_{model_.node_count()};
  IdVector<NodeId, bool> of_quantizer_{model_.node_count()};
  // The body of the function.
  IdVector<NodeId, GraphId> called_{model_.node_count(), kNo<GraphId>};
  // The token it comes from.
  IdVector<ValueId, NodeTokenId> token_of_{model_.value_count(),
                                           kNo<NodeTokenId>};
  IdVector<NodeTokenId, NodeTokenId> reader_;  // the last one that read it
};

}  // namespace

NodeTokens MakeNodeTokens(const GraphFacts& facts) {
  return TokenMaker(facts).Make();
}

NodeTokens InOrder(const NodeTokens& table,
                   const std::vector<NodeTokenId>& order) {
  NodeTokens sorted;
  sorted.tokens = InOrder(table.tokens, order);
  sorted.by_node.resize(table.by_node.size(), kNo<NodeTokenId>);
  sorted.order = table.order;
  for (const NodeTokenId id : AllIds<NodeTokenId>(sorted.tokens.size())) {
    sorted.by_node[sorted.tokens[id].node] = id;
  }
  return sorted;
}

NodeTokens SortDepthFirst(const Model& model, const NodeTokens& table) {
  // A graph inside a node runs with it.
  IdVector<NodeId, std::uint32_t> rank(model.node_count(), 0);
  std::uint32_t next = 0;
  for (const NodeId node : DepthFirstOrder(model, GraphId{0})) {
    rank[node] = next++;
  }
  const auto outermost = [&](NodeId node) {
    while (model[node].graph != GraphId{0} &&
           model[model[node].graph].kind == GraphKind::kSubgraph) {
      node = model[model[node].graph].parent_node;
    }
    return model[node].graph == GraphId{0} ? rank[node] : next;
  };
  std::vector<NodeId> nodes = table.order;
  SortBy(nodes, outermost);
  std::vector<NodeTokenId> order;
  for (const NodeId node : nodes) {
    if (table.by_node[node] != kNo<NodeTokenId>) {
      order.push_back(table.by_node[node]);
    }
  }
  NodeTokens sorted = InOrder(table, order);
  sorted.order = std::move(nodes);
  return sorted;
}

IdVector<NodeTokenId, std::vector<NodeTokenId>> ReadersOf(
    const IdVector<NodeTokenId, NodeToken>& tokens) {
  IdVector<NodeTokenId, std::vector<NodeTokenId>> readers(tokens.size());
  for (const NodeTokenId id : AllIds<NodeTokenId>(tokens.size())) {
    for (const NodeTokenId source : tokens[id].sources) {
      readers[source].push_back(id);
    }
  }
  return readers;
}

}  // namespace onnx_tag
