// Finds decomposed activations in the code of other modules.
#include <array>

#include "graph/neighbours.h"
#include "roles/role_facts.h"

namespace onnx_tag {
namespace {

class Activations {
 public:
  explicit Activations(RoleFacts& facts) : facts_(facts), model_(facts.model) {}

  void Run() {
    facts_.in_activation.assign(model_.node_count(), false);
    for (const NodeId node : model_.Nodes()) {
      const std::string_view op = facts_.Op(node).name;
      if (model_.Inputs(node).empty()) continue;
      if (op == "Erf") {
        Gelu(node);
      } else if (op == "Sigmoid") {
        Silu(node);
      } else if (op == "Tanh") {
        TanhGelu(node);
      }
    }
  }

 private:
  void Mark(NodeId node) { facts_.in_activation[Index(node)] = true; }

  bool Is(NodeId node, std::string_view op) const {
    return node != kNo<NodeId> && facts_.Op(node).name == op;
  }

  // If one operand of a binary operation is a constant, the other operand; else
  // kNo.
  ValueId BesideConstant(NodeId node) const {
    const auto inputs = model_.Inputs(node);
    if (inputs.size() != 2) return kNo<ValueId>;
    const bool first = facts_.IsConstant(inputs[0]);
    if (first == facts_.IsConstant(inputs[1])) return kNo<ValueId>;
    return inputs[first ? 1 : 0];
  }

  // The x of x * f(x), if f(x) reads `inner`: x itself, or x times a constant.
  ValueId Source(ValueId inner) {
    const NodeId scaled = facts_.Producer(inner);
    if (!Is(scaled, "Div") && !Is(scaled, "Mul")) return inner;
    const ValueId source = BesideConstant(scaled);
    if (source == kNo<ValueId> || OnlyConsumer(model_, scaled) == kNo<NodeId>) {
      return inner;
    }
    return source;
  }

  // The Mul that reads `node` and x (or x / 2); else kNo.
  NodeId TimesSource(NodeId node, ValueId x) {
    const NodeId times = OnlyConsumer(model_, node);
    if (!Is(times, "Mul") || model_.Inputs(times).size() != 2) {
      return kNo<NodeId>;
    }
    for (const ValueId input : model_.Inputs(times)) {
      if (input == x) return times;
      const NodeId half = facts_.Producer(input);
      if (Is(half, "Mul") && half != node && BesideConstant(half) == x) {
        Mark(half);
        return times;
      }
    }
    return kNo<NodeId>;
  }

  void Silu(NodeId sigmoid) {
    const ValueId inner = FirstInput(model_, sigmoid);
    const ValueId x = Source(inner);
    NodeId times = TimesSource(sigmoid, x);
    if (times == kNo<NodeId>) times = TimesSource(sigmoid, inner);
    if (times == kNo<NodeId>) return;
    Mark(times);
    if (x != inner && TimesSource(sigmoid, x) == times) {
      Mark(facts_.Producer(inner));
    }
  }

  // (1 + f) * x, also if the factor 1/2 comes last.
  bool OnePlus(NodeId f, ValueId x) {
    const NodeId plus = OnlyConsumer(model_, f);
    if (!Is(plus, "Add") || BesideConstant(plus) == kNo<ValueId>) return false;
    NodeId times = TimesSource(plus, x);
    if (times == kNo<NodeId>) {
      const NodeId half = OnlyConsumer(model_, plus);
      if (!Is(half, "Mul") || BesideConstant(half) == kNo<ValueId>) {
        return false;
      }
      times = TimesSource(half, x);
      if (times == kNo<NodeId>) return false;
      Mark(half);
    }
    Mark(plus);
    Mark(times);
    const NodeId last = OnlyConsumer(model_, times);
    if (Is(last, "Mul") && BesideConstant(last) != kNo<ValueId>) Mark(last);
    return true;
  }

  void Gelu(NodeId erf) {
    const ValueId inner = FirstInput(model_, erf);
    const ValueId x = Source(inner);
    if (OnePlus(erf, x) && x != inner) Mark(facts_.Producer(inner));
  }

  // tanh(c * (x + d * x^3))
  void TanhGelu(NodeId tanh) {
    const NodeId scaled = facts_.Producer(FirstInput(model_, tanh));
    if (!Is(scaled, "Mul")) return;
    const NodeId sum = facts_.Producer(BesideConstant(scaled));
    if (!Is(sum, "Add")) return;
    const auto sides = model_.Inputs(sum);
    for (std::size_t i = 0; i < sides.size() && sides.size() == 2; ++i) {
      const NodeId cube = facts_.Producer(sides[i]);
      if (!Is(cube, "Mul") || !OnePlus(tanh, sides[1 - i])) continue;
      for (const NodeId node : {scaled, sum, cube}) Mark(node);
      const NodeId power = facts_.Producer(BesideConstant(cube));
      if (Is(power, "Pow")) Mark(power);
      return;
    }
  }

  RoleFacts& facts_;
  const Model& model_;
};

}  // namespace

void MarkActivations(RoleFacts& facts) { Activations(facts).Run(); }

}  // namespace onnx_tag
