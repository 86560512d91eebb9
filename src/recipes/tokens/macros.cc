#include "recipes/tokens/macros.h"

#include <algorithm>
#include <optional>

namespace onnx_tag::recipes {
namespace {

class MacroFinder {
 public:
  explicit MacroFinder(const DataFlow& flow)
      : flow_(flow), model_(flow.model()), taken_(model_.node_count(), false) {}

  std::vector<Macro> Run() {
    for (const NodeId node : flow_.Order()) {
      // A node with a subgraph may be data without reading any.
      if (flow_.IsData(node) && !flow_.DataInputs(node).empty()) Look(node);
    }
    return std::move(macros_);
  }

 private:
  using Ops = std::initializer_list<std::string_view>;

  void Look(NodeId node) {
    const std::string_view op = model_.OpType(node);
    switch (op.empty() ? '\0' : op[0]) {
      case 'M':
        if (op == "MatMul") TakeMatMul(node);
        if (op == "MatMulInteger") TakeIntegerProduct(node, "LIN");
        break;
      case 'C':
        if (op == "ConvInteger") TakeIntegerProduct(node, "CONV");
        break;
      case 'G':
        if (op == "Gemm") TakeGemm(node);
        break;
      case 'F':
        if (op == "FusedMatMul") TakeMatMul(node);
        if (op == "FusedGemm") TakeGemm(node);
        break;
      case 'S':
        if (op == "Sqrt") TakeNorm(node);
        if (op == "Sigmoid") TakeSigmoid(node, "SILU");
        break;
      case 'H':
        if (op == "HardSigmoid") TakeSigmoid(node, "HSWISH");
        break;
      case 'E':
        if (op == "Erf") TakeErfGelu(node);
        break;
      case 'T':
        if (op == "Tanh") TakeTanhGelu(node);
        break;
      default:
        break;
    }
  }

  // `nodes` may have duplicates; `main` represents all of them.
  void Take(std::string_view label, std::vector<NodeId> nodes, NodeId main) {
    Macro macro{label, {}, 0};
    for (const NodeId node : nodes) {
      if (taken_[node]) return;
      if (std::find(macro.nodes.begin(), macro.nodes.end(), node) ==
          macro.nodes.end()) {
        macro.nodes.push_back(node);
      }
    }
    const auto at = std::find(macro.nodes.begin(), macro.nodes.end(), main);
    macro.main = static_cast<std::uint32_t>(at - macro.nodes.begin());
    for (const NodeId node : macro.nodes) taken_[node] = true;
    macros_.push_back(std::move(macro));
  }

  bool HasConstantInput(NodeId node) const {
    return flow_.ConstantInput(node) != kNo<ValueId>;
  }

  bool IsVector(ValueId value) const {
    const DataFlow::Shape shape = flow_.TensorShape(value);
    return shape.known && shape.dims.size() == 1;
  }

  // The node that adds a vector of the file to the result of `node`, or kNo.
  NodeId BiasAfter(NodeId node) const {
    const NodeId add = flow_.OnlyReader(node, {"Add"});
    if (add == kNo<NodeId>) return add;
    const ValueId bias = flow_.ConstantInput(add);
    return bias != kNo<ValueId> && IsVector(bias) ? add : kNo<NodeId>;
  }

  void TakeMatMul(NodeId node) {
    if (!HasConstantInput(node)) return;
    const NodeId add = BiasAfter(node);
    if (add != kNo<NodeId>) Take("LIN", {node, add}, node);
  }

  // Dynamic quantization: cast back, multiply with the scales, add the bias.
  void TakeIntegerProduct(NodeId node, std::string_view label) {
    const NodeId cast = flow_.OnlyReader(node, {"Cast"});
    const NodeId scaled = flow_.OnlyReader(cast, {"Mul"});
    if (scaled == kNo<NodeId>) return;
    std::vector<NodeId> nodes = {node, cast, scaled};
    for (const ValueId input : flow_.DataInputs(scaled)) {
      const NodeId scale = flow_.DataProducer(input, {"Mul"});
      if (scale != kNo<NodeId> && HasConstantInput(scale)) {
        nodes.push_back(scale);
      }
    }
    NodeId last = scaled;
    const NodeId add =
        label == "CONV" ? ConvolutionBiasAfter(scaled) : BiasAfter(scaled);
    if (add != kNo<NodeId>) {
      nodes.push_back(add);
      last = add;
    }
    AddReshapes(node, last, nodes);
    Take(label, std::move(nodes), node);
  }

  // Its bias has one axis for each axis of the image.
  NodeId ConvolutionBiasAfter(NodeId node) const {
    const NodeId add = flow_.OnlyReader(node, {"Add"});
    return add != kNo<NodeId> && HasConstantInput(add) ? add : kNo<NodeId>;
  }

  // GPT-2's Conv1D reshapes its input to 2-D and back.
  void AddReshapes(NodeId node, NodeId last, std::vector<NodeId>& nodes) const {
    const NodeId before =
        flow_.DataProducer(model_.Inputs(node)[0], {"Reshape"});
    const NodeId after = flow_.OnlyReader(last, {"Reshape"});
    if (before == kNo<NodeId> || after == kNo<NodeId> ||
        flow_.OnlyReader(before, {"MatMulInteger"}) != node) {
      return;
    }
    nodes.insert(nodes.begin(), before);
    nodes.push_back(after);
  }

  // ONNX Runtime, OnnxSlim and GPT-2's Conv1D reshape the input to 2-D and
  // back.
  void TakeGemm(NodeId node) {
    const auto inputs = model_.Inputs(node);
    if (inputs.size() < 2 || flow_.IsData(inputs[1])) return;
    const NodeId before = flow_.DataProducer(inputs[0], {"Reshape"});
    const NodeId after = flow_.OnlyReader(node, {"Reshape"});
    if (before == kNo<NodeId> || after == kNo<NodeId> ||
        flow_.OnlyReader(before, {"Gemm", "FusedGemm"}) != node) {
      return;
    }
    Take("LIN", {before, node, after}, node);
  }

  // x (1 + erf(x / sqrt 2)) / 2
  void TakeErfGelu(NodeId erf) {
    const NodeId scaled =
        flow_.DataProducer(model_.Inputs(erf)[0], {"Div", "Mul"});
    const NodeId add = flow_.OnlyReader(erf, {"Add"});
    const NodeId product = flow_.OnlyReader(add, {"Mul"});
    if (scaled == kNo<NodeId> || product == kNo<NodeId>) return;
    std::vector<NodeId> nodes = {scaled, erf, add, product};
    const auto x = flow_.DataInputs(scaled);
    const ValueId other = OtherDataInput(product, add);
    if (other != kNo<ValueId> && !x.empty() && other != x[0]) {
      // (x / 2) (1 + erf)
      const NodeId half = flow_.DataProducer(other, {"Mul"});
      if (half != kNo<NodeId> && Reads(half, x[0])) nodes.push_back(half);
    } else {
      const NodeId half = flow_.OnlyReader(product, {"Mul"});
      if (half != kNo<NodeId> && HasConstantInput(half)) nodes.push_back(half);
    }
    Take("GELU", std::move(nodes), erf);
  }

  // x (1 + tanh(c (x + 0.0447 x^3))) / 2
  void TakeTanhGelu(NodeId tanh) {
    const NodeId add = flow_.OnlyReader(tanh, {"Add"});
    if (add == kNo<NodeId> || !HasConstantInput(add)) return;
    const NodeId product = flow_.OnlyReader(add, {"Mul"});
    if (product == kNo<NodeId>) return;
    const NodeId scaled = flow_.DataProducer(model_.Inputs(tanh)[0], {"Mul"});
    const NodeId sum = FirstProducer(scaled, {"Add"});
    if (sum == kNo<NodeId>) return;
    std::vector<NodeId> nodes = {tanh, add, product, scaled, sum};
    AddCube(sum, nodes);
    const NodeId half =
        flow_.DataProducer(OtherDataInput(product, add), {"Mul"});
    if (half != kNo<NodeId> && HasConstantInput(half) &&
        flow_.OnlyReader(half, {"Mul"}) == product) {
      nodes.push_back(half);
    } else {
      const NodeId last = flow_.OnlyReader(product, {"Mul"});
      if (last != kNo<NodeId> && HasConstantInput(last)) nodes.push_back(last);
    }
    const bool has_power = std::any_of(
        nodes.begin(), nodes.end(),
        [this](NodeId node) { return model_.OpType(node) == "Pow"; });
    if (has_power || nodes.size() > 6) Take("GELU", std::move(nodes), tanh);
  }

  // The factors of 0.0447 x^3 that no other node reads.
  void AddCube(NodeId sum, std::vector<NodeId>& nodes) const {
    constexpr int kFactors = 4;
    for (const ValueId input : flow_.DataInputs(sum)) {
      NodeId factor = flow_.DataProducer(input, {"Mul"});
      for (int i = 0; i < kFactors && factor != kNo<NodeId>; ++i) {
        if (!IsReadOnlyBy(factor, nodes)) break;
        nodes.push_back(factor);
        factor = FirstProducer(factor, {"Mul", "Pow"});
      }
    }
  }

  bool IsReadOnlyBy(NodeId node, const std::vector<NodeId>& nodes) const {
    const std::vector<NodeId> readers =
        flow_.FewReaders(model_.Outputs(node)[0], 2 * nodes.size());
    return !readers.empty() &&
           std::all_of(readers.begin(), readers.end(), [&](NodeId reader) {
             return std::find(nodes.begin(), nodes.end(), reader) !=
                    nodes.end();
           });
  }

  // x sigmoid(x), or x sigmoid(1.702 x).
  void TakeSigmoid(NodeId node, std::string_view label) {
    const NodeId product = flow_.OnlyReader(node, {"Mul"});
    if (product == kNo<NodeId>) return;
    const ValueId x = flow_.Source(model_.Inputs(node)[0]);
    if (Reads(product, x)) return Take(label, {node, product}, node);
    const NodeId scaled = flow_.DataProducer(x, {"Mul"});
    if (scaled == kNo<NodeId>) return;
    for (const ValueId input : flow_.DataInputs(scaled)) {
      if (Reads(product, input)) {
        return Take("QGELU", {scaled, node, product}, node);
      }
    }
  }

  // d / sqrt(mean(d^2) + eps), then weight and bias; d is x or x - mean(x).
  void TakeNorm(NodeId root) {
    const NodeId add = flow_.DataProducer(model_.Inputs(root)[0], {"Add"});
    const NodeId mean = FirstProducer(add, {"ReduceMean"});
    if (mean == kNo<NodeId>) return;
    const std::vector<ValueId> squared = flow_.DataInputs(mean);
    const NodeId square = squared.empty()
                              ? kNo<NodeId>
                              : flow_.DataProducer(squared[0], {"Pow", "Mul"});
    if (square == kNo<NodeId>) return;
    const std::vector<ValueId> base = flow_.DataInputs(square);
    if (base.empty()) return;
    std::vector<NodeId> nodes = {root, add, mean, square};
    const bool centred = AddCentre(base[0], nodes);
    NodeId last = root;
    const NodeId inverse = flow_.OnlyReader(root, {"Reciprocal", "Div"});
    if (inverse != kNo<NodeId> && (model_.OpType(inverse) == "Reciprocal" ||
                                   !flow_.IsData(model_.Inputs(inverse)[0]))) {
      nodes.push_back(inverse);
      last = inverse;
    }
    const NodeId divided = flow_.OnlyReader(last, {"Mul", "Div"});
    if (divided == kNo<NodeId>) return;
    nodes.push_back(divided);
    last = divided;
    const NodeId cast = flow_.OnlyReader(last, {"Cast"});
    if (cast != kNo<NodeId>) {
      nodes.push_back(cast);
      last = cast;
    }
    const NodeId weighted = WeightAfter(last);
    if (weighted != kNo<NodeId>) {
      nodes.push_back(weighted);
      const NodeId biased = BiasAfter(weighted);
      if (biased != kNo<NodeId>) nodes.push_back(biased);
    }
    Take(centred ? "LN" : "RMS", std::move(nodes),
         weighted != kNo<NodeId> ? weighted : divided);
  }

  // The nodes of d = x - mean(x); false if d is x.
  bool AddCentre(ValueId d, std::vector<NodeId>& nodes) const {
    NodeId minus = flow_.DataProducer(d, {"Sub"});
    const NodeId cast = flow_.DataProducer(d, {"Cast"});
    if (cast != kNo<NodeId>) {
      nodes.push_back(cast);
      const std::vector<ValueId> inputs = flow_.DataInputs(cast);
      minus =
          inputs.empty() ? kNo<NodeId> : flow_.DataProducer(inputs[0], {"Sub"});
    }
    const NodeId mean = FirstProducer(minus, {"ReduceMean"});
    if (mean == kNo<NodeId>) return false;
    nodes.push_back(minus);
    nodes.push_back(mean);
    // torch 1.8 writes the difference twice.
    constexpr std::size_t kMostReads = 8;
    for (const NodeId reader :
         flow_.FewReaders(model_.Outputs(mean)[0], kMostReads)) {
      if (model_.OpType(reader) == "Sub") nodes.push_back(reader);
    }
    return true;
  }

  NodeId WeightAfter(NodeId node) const {
    const NodeId product = flow_.OnlyReader(node, {"Mul"});
    if (product == kNo<NodeId>) return product;
    const ValueId weight = flow_.ConstantInput(product);
    if (weight == kNo<ValueId>) return kNo<NodeId>;
    const DataFlow::Shape shape = flow_.TensorShape(weight);
    return !shape.known || shape.dims.size() == 1 ? product : kNo<NodeId>;
  }

  // The first of the node's data inputs that one of `ops` makes, or kNo.
  NodeId FirstProducer(NodeId node, Ops ops) const {
    if (node == kNo<NodeId>) return node;
    for (const ValueId input : flow_.DataInputs(node)) {
      const NodeId producer = flow_.DataProducer(input, ops);
      if (producer != kNo<NodeId>) return producer;
    }
    return kNo<NodeId>;
  }

  // The data input of `node` that `but` does not make, or kNo.
  ValueId OtherDataInput(NodeId node, NodeId but) const {
    for (const ValueId input : flow_.DataInputs(node)) {
      if (flow_.Producer(input) != but) return input;
    }
    return kNo<ValueId>;
  }

  bool Reads(NodeId node, ValueId value) const {
    const auto inputs = flow_.DataInputs(node);
    return std::find(inputs.begin(), inputs.end(), value) != inputs.end();
  }

  const DataFlow& flow_;
  const Model& model_;
  IdVector<NodeId, bool> taken_;
  std::vector<Macro> macros_;
};

}  // namespace

std::vector<Macro> FindMacros(const DataFlow& flow) {
  return MacroFinder(flow).Run();
}

}  // namespace onnx_tag::recipes
