#include "core/graph/composites.h"

#include <algorithm>

#include "base/lists.h"
#include "core/graph/neighbours.h"

namespace onnx_tag {

class CompositeFinder {
 public:
  CompositeFinder(const Links& links, Composites& found)
      : links_(links), model_(links.model()), ops_(links.ops()), found_(found) {
    found_.of_.resize(model_.node_count(), Composites::kNone);
  }

  void Run() {
    for (const NodeId node : model_.Nodes()) {
      // A node with a subgraph may be data without reading any.
      if (links_.data().IsMadeBy(node) && !model_.Inputs(node).empty()) {
        Look(node);
      }
    }
  }

 private:
  using Kind = CompositeKind;
  using Ops = std::initializer_list<Op>;

  void Look(NodeId node) {
    static constexpr struct {
      Op op;
      void (CompositeFinder::*take)(NodeId node);
    } kPatterns[] = {
        {Op::kMatMul, &CompositeFinder::TakeMatMul},
        {Op::kFusedMatMul, &CompositeFinder::TakeMatMul},
        {Op::kMatMulInteger, &CompositeFinder::TakeIntegerProduct},
        {Op::kConvInteger, &CompositeFinder::TakeIntegerProduct},
        {Op::kGemm, &CompositeFinder::TakeGemm},
        {Op::kFusedGemm, &CompositeFinder::TakeGemm},
        {Op::kSqrt, &CompositeFinder::TakeNorm},
        {Op::kInstanceNormalization, &CompositeFinder::TakeGroupNorm},
        {Op::kErf, &CompositeFinder::TakeOnePlus},
        {Op::kTanh, &CompositeFinder::TakeOnePlus},
        {Op::kSigmoid, &CompositeFinder::TakeGate},
        {Op::kHardSigmoid, &CompositeFinder::TakeGate},
        {Op::kClip, &CompositeFinder::TakeClipGate},
        {Op::kSoftplus, &CompositeFinder::TakeMish},
    };
    for (const auto& [op, take] : kPatterns) {
      if (ops_[node] == op) (this->*take)(node);
    }
  }

  // ---- what is taken

  // What is not there is left out.
  void Begin(std::initializer_list<NodeId> nodes) {
    nodes_.clear();
    for (const NodeId node : nodes) Add(node);
  }
  void Add(NodeId node) {
    if (node != kNo<NodeId> && !Has(node)) nodes_.push_back(node);
  }
  bool Has(NodeId node) const { return IsAmong(node, nodes_); }
  void Take(Kind kind, NodeId main) {
    for (const NodeId node : nodes_) {
      if (found_.Of(node) != nullptr) return;
    }
    for (const NodeId node : nodes_) {
      found_.of_[node] = static_cast<std::uint32_t>(found_.composites_.size());
    }
    found_.composites_.push_back(
        {kind, main, static_cast<std::uint32_t>(found_.nodes_.size()),
         static_cast<std::uint32_t>(nodes_.size())});
    found_.nodes_.insert(found_.nodes_.end(), nodes_.begin(), nodes_.end());
  }

  // ---- neighbours

  NodeId Next(NodeId node, Ops ops) const {
    return links_.OnlyReader(node, ops);
  }
  ValueId Constant(NodeId node) const { return links_.ConstantOperand(node); }
  bool HasConstant(NodeId node) const { return Constant(node) != kNo<ValueId>; }
  NodeId FirstProducer(NodeId node, Ops ops) const {
    if (node == kNo<NodeId>) return node;
    for (const ValueId input : links_.DataOperandsOf(node)) {
      const NodeId producer = links_.Producer(node, input, ops);
      if (producer != kNo<NodeId>) return producer;
    }
    return kNo<NodeId>;
  }
  // The data operand of `node` that `but` does not make, or kNo.
  ValueId OtherOperand(NodeId node, NodeId but) const {
    for (const ValueId input : links_.DataOperandsOf(node)) {
      if (model_.Producer(input) != but) return input;
    }
    return kNo<ValueId>;
  }
  bool Reads(NodeId node, ValueId value) const {
    return IsAmong(value, links_.DataOperandsOf(node));
  }
  bool IsReadOnlyInside(NodeId node) const {
    constexpr std::size_t kMostReads = 16;
    const ValueId output = FirstOutput(model_, node);
    if (output == kNo<ValueId> || model_[output].is_output) return false;
    const auto readers = model_.Consumers(output);
    return readers.size() <= kMostReads &&
           AllIn(readers, [this](NodeId reader) { return Has(reader); });
  }

  // ---- products

  bool IsVector(ValueId value) const {
    const Links::TensorShape shape = links_.ShapeOf(value);
    return shape.known && shape.dims.size() == 1;
  }

  // The node that adds a vector of the file to the result of `node`, or kNo.
  NodeId BiasAfter(NodeId node) const {
    const NodeId add = Next(node, {Op::kAdd});
    return add != kNo<NodeId> && IsVector(Constant(add)) ? add : kNo<NodeId>;
  }

  void TakeMatMul(NodeId node) {
    if (!HasConstant(node)) return;
    const NodeId add = BiasAfter(node);
    if (add == kNo<NodeId>) return;
    Begin({node, add});
    Take(Kind::kLinear, node);
  }

  // ONNX Runtime, OnnxSlim and GPT-2's Conv1D reshape the input to 2-D and
  // back.
  void TakeGemm(NodeId node) {
    const auto inputs = model_.Inputs(node);
    if (inputs.size() < 2 || links_.data().Contains(inputs[1])) return;
    Begin({node});
    AddReshapes(node, node);
    if (nodes_.size() > 1) Take(Kind::kLinear, node);
  }

  void AddReshapes(NodeId node, NodeId last) {
    const NodeId before =
        links_.Producer(node, model_.Inputs(node)[0], {Op::kReshape});
    const NodeId after = Next(last, {Op::kReshape});
    if (before == kNo<NodeId> || after == kNo<NodeId> ||
        Next(before, {ops_[node]}) != node) {
      return;
    }
    nodes_.insert(nodes_.begin(), before);
    Add(after);
  }

  void TakeIntegerProduct(NodeId node) {
    const QuantizedProduct parts = FindQuantizedProduct(links_, node);
    if (parts.scaled == kNo<NodeId>) return;
    Begin({node, parts.cast, parts.scaled, parts.scales, parts.bias});
    const bool linear = ops_.Is(node, OpKind::kProduct);
    if (linear) {
      AddReshapes(node, parts.bias == kNo<NodeId> ? parts.scaled : parts.bias);
    }
    Take(linear ? Kind::kLinear : Kind::kConvolution, node);
  }

  // ---- activations

  // Adds the arithmetic between `x` and the first input of `node`. False if the
  // input does not depend on `x` alone.
  bool AddArithmetic(NodeId node, ValueId x) {
    constexpr std::size_t kMost = 8;
    const std::size_t begin = nodes_.size();
    if (!AddProducer(node, links_.Source(model_.Inputs(node)[0]), x)) {
      return false;
    }
    for (std::size_t i = begin; i < nodes_.size(); ++i) {
      if (nodes_.size() > begin + kMost) return false;
      for (const ValueId input : links_.DataOperandsOf(nodes_[i])) {
        if (!AddProducer(nodes_[i], input, x)) return false;
      }
    }
    // A power of x may have other readers.
    for (std::size_t i = begin; i < nodes_.size();) {
      if (IsReadOnlyInside(nodes_[i])) {
        ++i;
      } else {
        nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
    return true;
  }
  bool AddProducer(NodeId reader, ValueId input, ValueId x) {
    if (input == x) return true;
    const NodeId producer = links_.Producer(
        reader, input, {Op::kMul, Op::kDiv, Op::kAdd, Op::kPow});
    Add(producer);
    return producer != kNo<NodeId>;
  }

  // x (1 + f) / 2, where f is erf(x / sqrt 2) or tanh(c (x + 0.0447 x^3)). The
  // half stands with x, with the sum or behind.
  void TakeOnePlus(NodeId f) {
    const NodeId plus = Next(f, {Op::kAdd});
    if (plus == kNo<NodeId> || !HasConstant(plus)) return;
    const NodeId product = Next(plus, {Op::kMul});
    if (product == kNo<NodeId>) return;
    if (HasConstant(product)) {
      const NodeId times = Next(product, {Op::kMul});
      if (times == kNo<NodeId> || HasConstant(times)) return;
      TakeGelu(f, plus, product, times, OtherOperand(times, product));
      return;
    }
    const ValueId other = OtherOperand(product, plus);
    const NodeId half = Next(product, {Op::kMul});
    if (half != kNo<NodeId> && HasConstant(half) &&
        TakeGelu(f, plus, product, half, other)) {
      return;
    }
    const NodeId halved = links_.Producer(product, other, {Op::kMul, Op::kDiv});
    if (halved != kNo<NodeId> && HasConstant(halved) &&
        Next(halved, {Op::kMul}) == product &&
        TakeGelu(f, plus, product, halved,
                 links_.DataOperandsOf(halved).first())) {
      return;
    }
    TakeGelu(f, plus, product, kNo<NodeId>, other);
  }

  // The recipe book expects the nodes in this order.
  bool TakeGelu(NodeId f, NodeId plus, NodeId product, NodeId half, ValueId x) {
    Begin({f, plus, product});
    const auto before = static_cast<std::ptrdiff_t>(nodes_.size());
    if (x == kNo<ValueId> || !AddArithmetic(f, x)) return false;
    // x (1 + tanh x) is something else.
    if (nodes_.begin() + before == nodes_.end()) return false;
    if (ops_[f] == Op::kErf) {
      std::rotate(nodes_.begin(), nodes_.begin() + before, nodes_.end());
    }
    Add(half);
    Take(Kind::kGelu, f);
    return true;
  }

  // x f(x), or x sigmoid(1.702 x).
  void TakeGate(NodeId f) {
    const NodeId product = Next(f, {Op::kMul});
    if (product == kNo<NodeId>) return;
    const ValueId x = links_.Source(model_.Inputs(f)[0]);
    const bool hard = ops_[f] == Op::kHardSigmoid;
    if (Reads(product, x)) {
      Begin({f, product});
      Take(hard ? Kind::kHardSwish : Kind::kSilu, f);
      return;
    }
    const NodeId scaled = links_.Producer(f, x, {Op::kMul});
    if (hard || scaled == kNo<NodeId> || !HasConstant(scaled) ||
        !Reads(product, links_.DataOperandsOf(scaled).first())) {
      return;
    }
    Begin({scaled, f, product});
    Take(Kind::kQuickGelu, f);
  }

  // x clip(x + 3, 0, 6) / 6; the division may precede the product.
  void TakeClipGate(NodeId clip) {
    const NodeId plus =
        links_.Producer(clip, model_.Inputs(clip)[0], {Op::kAdd});
    if (plus == kNo<NodeId> || !HasConstant(plus) ||
        Next(plus, {Op::kClip}) != clip) {
      return;
    }
    const ValueId x = links_.DataOperandsOf(plus).first();
    const NodeId first = Next(clip, {Op::kMul, Op::kDiv});
    const NodeId second = Next(first, {Op::kMul, Op::kDiv});
    if (second == kNo<NodeId> || HasConstant(first) == HasConstant(second) ||
        !Reads(HasConstant(first) ? second : first, x)) {
      return;
    }
    Begin({plus, clip, first, second});
    Take(Kind::kHardSwish, clip);
  }

  // x tanh(softplus(x))
  void TakeMish(NodeId softplus) {
    const NodeId tanh = Next(softplus, {Op::kTanh});
    const NodeId product = Next(tanh, {Op::kMul});
    if (product == kNo<NodeId> ||
        !Reads(product, links_.Source(model_.Inputs(softplus)[0]))) {
      return;
    }
    Begin({softplus, tanh, product});
    Take(Kind::kMish, softplus);
  }

  // ---- norms

  // d / sqrt(mean(d^2) + eps), then weight and bias; d is x or x - mean(x).
  void TakeNorm(NodeId root) {
    const NodeId add =
        links_.Producer(root, model_.Inputs(root)[0], {Op::kAdd});
    const NodeId mean = FirstProducer(add, {Op::kReduceMean});
    if (mean == kNo<NodeId>) return;
    const NodeId square = links_.Producer(
        mean, links_.DataOperandsOf(mean).first(), {Op::kPow, Op::kMul});
    if (square == kNo<NodeId>) return;
    Begin({root, add, mean, square});
    const bool centred =
        AddCentre(square, links_.DataOperandsOf(square).first());
    NodeId last = root;
    const NodeId inverse = Next(root, {Op::kReciprocal, Op::kDiv});
    if (inverse != kNo<NodeId> &&
        (ops_[inverse] == Op::kReciprocal ||
         !links_.data().Contains(model_.Inputs(inverse)[0]))) {
      Add(inverse);
      last = inverse;
    }
    const NodeId divided = Next(last, {Op::kMul, Op::kDiv});
    if (divided == kNo<NodeId>) return;
    Add(divided);
    const NodeId cast = Next(divided, {Op::kCast});
    Add(cast);
    const NodeId weighted = WeightAfter(cast == kNo<NodeId> ? divided : cast);
    Add(weighted);
    if (weighted != kNo<NodeId>) Add(BiasAfter(weighted));
    Take(centred ? Kind::kLayerNorm : Kind::kRmsNorm,
         weighted != kNo<NodeId> ? weighted : divided);
  }

  // The nodes of d = x - mean(x); false if d is x.
  bool AddCentre(NodeId square, ValueId d) {
    NodeId minus = links_.Producer(square, d, {Op::kSub});
    const NodeId cast = links_.Producer(square, d, {Op::kCast});
    if (cast != kNo<NodeId>) {
      Add(cast);
      minus = links_.Producer(cast, links_.DataOperandsOf(cast).first(),
                              {Op::kSub});
    }
    const NodeId mean = FirstProducer(minus, {Op::kReduceMean});
    if (mean == kNo<NodeId>) return false;
    Add(minus);
    Add(mean);
    // torch 1.8 writes the difference twice.
    constexpr std::size_t kMostReads = 8;
    const ValueId average = model_.Outputs(mean)[0];
    if (average == kNo<ValueId>) return true;
    const auto readers = model_.Consumers(average);
    if (readers.size() > kMostReads) return true;
    for (const NodeId reader : readers) {
      if (ops_[reader] == Op::kSub &&
          model_[reader].graph == model_[mean].graph) {
        Add(reader);
      }
    }
    return true;
  }

  NodeId WeightAfter(NodeId node) const {
    const NodeId product = Next(node, {Op::kMul});
    if (product == kNo<NodeId>) return product;
    const ValueId weight = Constant(product);
    if (weight == kNo<ValueId>) return kNo<NodeId>;
    const Links::TensorShape shape = links_.ShapeOf(weight);
    return !shape.known || shape.dims.size() == 1 ? product : kNo<NodeId>;
  }

  // The groups become instances, and then channels again.
  void TakeGroupNorm(NodeId norm) {
    const NodeId before =
        links_.Producer(norm, model_.Inputs(norm)[0], {Op::kReshape});
    const NodeId after = Next(norm, {Op::kReshape});
    if (before == kNo<NodeId> || after == kNo<NodeId> ||
        Next(before, {ops_[norm]}) != norm) {
      return;
    }
    Begin({before, norm, after});
    const NodeId weighted = Next(after, {Op::kMul});
    const bool has_weight = weighted != kNo<NodeId> && HasConstant(weighted);
    if (has_weight) {
      Add(weighted);
      const NodeId biased = Next(weighted, {Op::kAdd});
      if (biased != kNo<NodeId> && HasConstant(biased)) Add(biased);
    }
    Take(Kind::kGroupNorm, has_weight ? weighted : norm);
  }

  const Links& links_;
  const Model& model_;
  const Operators& ops_;
  Composites& found_;
  std::vector<NodeId> nodes_;  // of the composite that is looked at
};

Composites::Composites(const Links& links) {
  CompositeFinder(links, *this).Run();
}

QuantizedProduct FindQuantizedProduct(const Links& links, NodeId product) {
  const Model& model = links.model();
  const Operators& ops = links.ops();
  QuantizedProduct found{.product = product};
  const NodeId quantizer = ProducerOf(model, FirstInput(model, product));
  if (ops[quantizer] == Op::kDynamicQuantizeLinear) found.quantizer = quantizer;
  found.cast = links.OnlyReader(product, {Op::kCast});
  found.scaled = links.OnlyReader(found.cast, {Op::kMul});
  if (found.scaled == kNo<NodeId>) return found;
  for (const ValueId input : links.Operands(found.scaled)) {
    const NodeId scales = ProducerOf(model, input);
    if (scales != found.cast && ops[scales] == Op::kMul &&
        OnlyConsumer(model, scales) == found.scaled) {
      found.scales = scales;
    }
  }
  const NodeId bias = links.OnlyReader(found.scaled, {Op::kAdd});
  if (bias != kNo<NodeId> && links.ConstantOperand(bias) != kNo<ValueId>) {
    found.bias = bias;
  }
  return found;
}

}  // namespace onnx_tag
