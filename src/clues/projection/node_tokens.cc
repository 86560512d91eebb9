#include "clues/projection/node_tokens.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "core/graph/neighbours.h"
#include "core/graph/order.h"

namespace onnx_tag {
namespace {

// The maximum depth of nested graphs and calls. ONNX does not allow recursion.
constexpr int kMaxDepth = 64;

bool CutsData(std::string_view op) { return op == "Shape" || op == "Size"; }

bool MakesTensor(std::string_view op) {
  return op == "Range" || op == "ConstantOfShape" || op == "EyeLike" ||
         op == "Trilu" || op.starts_with("Random");
}

bool TurnsWeight(std::string_view op) {
  return op == "Transpose" || op == "Reshape" || op == "Cast" ||
         op == "DequantizeLinear" || op == "Identity" || op == "Unsqueeze" ||
         op == "Squeeze";
}

// Short lists of whole numbers are sizes, axes and the like.
bool IsSizes(const Model& model, const Initializer& tensor) {
  constexpr std::int32_t kInt64 = 7;
  return tensor.rank == 0 || (tensor.data_type == kInt64 && tensor.rank == 1 &&
                              model.Dims(tensor)[0] <= 8);
}

// Whether the operator only combines constants, such as a list of sizes.
bool PutsTogether(std::string_view op) {
  return op == "Constant" || op == "Identity" || op == "Unsqueeze" ||
         op == "Squeeze" || op == "Concat" || op == "Cast" || op == "Gather" ||
         op == "Slice" || op == "Reshape" || op == "If" || op == "Loop";
}

class TokenMaker {
 public:
  explicit TokenMaker(const Model& model)
      : model_(model),
        substance_(model.value_count(), Substance::kConstant),
        placed_(model.node_count(), false),
        token_of_(model.value_count(), kNo<NodeTokenId>),
        is_scale_(model.value_count(), false) {}

  NodeTokens Make() {
    table_.by_node.resize(model_.node_count(), kNo<NodeTokenId>);
    table_.order.reserve(model_.node_count());
    if (model_.graph_count() > 0) {
      FindBodies();
      Start();
      WalkGraph(GraphId{0}, 0);
    }
    // Functions that are never called, and training graphs.
    for (const NodeId node : model_.Nodes()) {
      if (!placed_[Index(node)]) Visit(node, kMaxDepth);
    }
    return std::move(table_);
  }

 private:
  void FindBodies() {
    for (const Function& function : model_.functions()) {
      std::string key(function.domain);
      key.append("\n").append(function.name);
      bodies_.emplace(std::move(key), function.body);
    }
  }

  void Start() {
    for (const Initializer& tensor : model_.initializers()) {
      if (!IsSizes(model_, tensor)) {
        substance_[tensor.value] = Substance::kWeight;
      }
    }
    for (const ValueId input : model_[GraphId{0}].inputs) {
      if (model_.InitializerOf(input) == nullptr) {
        substance_[input] = Substance::kFed;
      }
    }
  }

  void WalkGraph(GraphId graph, int depth) {
    for (const NodeId node : model_[graph].nodes) Visit(node, depth);
  }

  void Visit(NodeId node, int depth) {
    if (placed_[Index(node)]) return;
    placed_[Index(node)] = true;
    table_.order.push_back(node);
    Weigh(node);
    if (depth >= kMaxDepth) return;
    // A body precedes its node: its operations count as the node's.
    for (const GraphId graph : model_.Subgraphs(node)) {
      PassInputs(node, graph);
      WalkGraph(graph, depth + 1);
    }
    if (bodies_.empty()) return;
    std::string key(model_.Domain(node));
    key.append("\n").append(model_.OpType(node));
    const auto body = bodies_.find(key);
    if (body == bodies_.end()) return;
    PassInputs(node, body->second);
    WalkGraph(body->second, depth + 1);
  }

  // The inputs of a Loop's body or of a function are the inputs of its node.
  void PassInputs(NodeId node, GraphId graph) {
    const auto inputs = model_.Inputs(node);
    const auto& formals = model_[graph].inputs;
    const bool aligned = formals.size() == inputs.size();
    Substance all = Substance::kConstant;
    for (const ValueId input : inputs) {
      if (input != kNo<ValueId>) all = std::max(all, substance_[input]);
    }
    for (std::size_t i = 0; i < formals.size(); ++i) {
      const bool own = aligned && inputs[i] != kNo<ValueId>;
      substance_[formals[i]] = own ? substance_[inputs[i]] : all;
      if (own) token_of_[formals[i]] = token_of_[inputs[i]];
    }
  }

  void Weigh(NodeId node) {
    const std::string_view op = model_.OpType(node);
    Substance most = Substance::kConstant;
    for (const ValueId input : model_.Inputs(node)) {
      if (input != kNo<ValueId>) most = std::max(most, substance_[input]);
    }
    // Data indexes into a table of weights: the result is data.
    Substance result = most;
    if (CutsData(op)) {
      result = Substance::kSize;
    } else if (most <= Substance::kWeight && MakesTensor(op)) {
      result = Substance::kMade;
    } else if (most == Substance::kWeight && !TurnsWeight(op)) {
      result = Substance::kMade;
    } else if (most == Substance::kConstant && !PutsTogether(op)) {
      result = Substance::kMade;
    }
    for (const ValueId output : model_.Outputs(node)) {
      if (output != kNo<ValueId>) substance_[output] = result;
    }
    // Asked of all nodes, because the product of two scales is a scale.
    const bool of_quantizer = IsOfQuantizer(node, op);
    const bool token = !of_quantizer && result >= Substance::kMade &&
                       op != "Identity" && op != "Constant" &&
                       op != "DequantizeLinear" && op != "QuantizeLinear";
    if (token) {
      AddToken(node, result);
    } else {
      HandOn(node);
    }
  }

  // What dynamic quantization puts around a product in integers: the scales
  // of both sides, and their product with the result.
  bool IsOfQuantizer(NodeId node, std::string_view op) {
    const auto inputs = model_.Inputs(node);
    const auto outputs = model_.Outputs(node);
    if (op == "DynamicQuantizeLinear") {
      for (std::size_t i = 1; i < outputs.size(); ++i) Scale(outputs[i]);
      return true;
    }
    if (op == "Cast") return CastsProduct(node);
    if (op != "Mul" || inputs.size() != 2) return false;
    for (const ValueId input : inputs) {
      const NodeId cast = ProducerOf(model_, input);
      if (cast != kNo<NodeId> && CastsProduct(cast)) return true;
    }
    std::size_t scales = 0;
    for (const ValueId input : inputs) {
      scales += input != kNo<ValueId> && is_scale_[input];
    }
    if (scales == 0) return false;
    const bool made_of_scales =
        std::all_of(inputs.begin(), inputs.end(), [&](ValueId input) {
          return input != kNo<ValueId> &&
                 (is_scale_[input] || substance_[input] <= Substance::kWeight);
        });
    if (made_of_scales) Scale(outputs[0]);
    return true;
  }

  // Whether it turns a product in integers into floats.
  bool CastsProduct(NodeId node) const {
    const auto inputs = model_.Inputs(node);
    const NodeId product =
        inputs.empty() ? kNo<NodeId> : ProducerOf(model_, inputs[0]);
    return model_.OpType(node) == "Cast" && product != kNo<NodeId> &&
           model_.OpType(product).ends_with("Integer");
  }

  void Scale(ValueId value) {
    if (value == kNo<ValueId>) return;
    is_scale_[value] = true;
    substance_[value] = Substance::kSize;
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
    for (const ValueId output : model_.Outputs(node)) {
      if (output != kNo<ValueId>) token_of_[output] = source;
    }
  }

  void AddToken(NodeId node, Substance substance) {
    NodeToken token;
    token.node = node;
    token.op = model_[node].op_type;
    token.fed = substance == Substance::kFed;
    for (const ValueId input : model_.Inputs(node)) {
      if (input == kNo<ValueId>) continue;
      AddWeight(input, token);
      const NodeTokenId source = token_of_[input];
      if (source != kNo<NodeTokenId> &&
          std::find(token.sources.begin(), token.sources.end(), source) ==
              token.sources.end()) {
        token.sources.push_back(source);
      }
    }
    AddShape(node, token);
    const NodeTokenId id = table_.tokens.Add(std::move(token));
    table_.by_node[node] = id;
    for (const ValueId output : model_.Outputs(node)) {
      if (output != kNo<ValueId>) token_of_[output] = id;
    }
  }

  void AddWeight(ValueId value, NodeToken& token) const {
    // Through a few nodes that transpose or reshape a weight.
    for (int hops = 0; hops < 4; ++hops) {
      if (const Initializer* const tensor = model_.InitializerOf(value)) {
        if (IsSizes(model_, *tensor)) return;
        const auto dims = model_.Dims(*tensor);
        Shape shape(dims.begin(), dims.end());
        std::sort(shape.begin(), shape.end());
        token.weights.push_back(std::move(shape));
        return;
      }
      if (substance_[value] != Substance::kWeight) return;
      const NodeId producer = model_.Producer(value);
      if (producer == kNo<NodeId>) return;
      const auto inputs = model_.Inputs(producer);
      if (inputs.empty() || inputs[0] == kNo<ValueId>) return;
      value = inputs[0];
    }
  }

  void AddShape(NodeId node, NodeToken& token) const {
    const auto outputs = model_.Outputs(node);
    if (outputs.empty() || outputs[0] == kNo<ValueId>) return;
    const ValueInfo* const info = model_.InfoOf(outputs[0]);
    if (info == nullptr || !info->has_shape) return;
    const auto dims = model_.Dims(*info);
    token.has_shape = true;
    token.shape.assign(dims.begin(), dims.end());
  }

  const Model& model_;
  NodeTokens table_;
  IdVector<ValueId, Substance> substance_;
  std::vector<bool> placed_;
  IdVector<ValueId, NodeTokenId>
      token_of_;                      // by value: the token it comes from
  IdVector<ValueId, bool> is_scale_;  // a quantizer's
  std::unordered_map<std::string, GraphId> bodies_;
};

}  // namespace

NodeTokens MakeNodeTokens(const Model& model) {
  return TokenMaker(model).Make();
}

NodeTokens SortDepthFirst(const Model& model, const NodeTokens& table) {
  // A graph inside a node runs with it.
  IdVector<NodeId, std::uint32_t> rank(model.node_count(), 0);
  std::uint32_t next = 0;
  for (const NodeId node : DepthFirstOrder(model, GraphId{0})) {
    rank[node] = next++;
  }
  const auto before = [&](NodeId a, NodeId b) {
    const auto outermost = [&](NodeId node) {
      while (model[node].graph != GraphId{0} &&
             model[model[node].graph].kind == GraphKind::kSubgraph) {
        node = model[model[node].graph].parent_node;
      }
      return model[node].graph == GraphId{0} ? rank[node] : next;
    };
    return outermost(a) < outermost(b);
  };
  NodeTokens sorted;
  sorted.order = table.order;
  std::stable_sort(sorted.order.begin(), sorted.order.end(), before);
  sorted.by_node.resize(model.node_count(), kNo<NodeTokenId>);
  IdVector<NodeTokenId, NodeTokenId> moved(table.tokens.size(),
                                           kNo<NodeTokenId>);
  for (const NodeId node : sorted.order) {
    const NodeTokenId old = table.by_node[node];
    if (old == kNo<NodeTokenId>) continue;
    moved[old] = sorted.tokens.Add(table.tokens[old]);
    sorted.by_node[node] = moved[old];
  }
  for (NodeToken& token : sorted.tokens) {
    for (NodeTokenId& source : token.sources) source = moved[source];
  }
  return sorted;
}

}  // namespace onnx_tag
