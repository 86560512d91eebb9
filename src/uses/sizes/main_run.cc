// Tested by tests/uses/sizes/main_run_test.cc.
#include "uses/sizes/main_run.h"

#include <algorithm>

#include "base/lists.h"
#include "core/graph/operators.h"
#include "core/graph/order.h"
#include "file/model/element_types.h"
#include "uses/sizes/attributes.h"
#include "uses/sizes/dim.h"
#include "uses/sizes/rules/rules.h"

namespace onnx_tag::sizes {
namespace {

constexpr GraphId kMainGraph{0};
// Functions may call each other in a circle.
constexpr int kMostInside = 64;

// Which operands of an Einsum of two, and whether its result, must be brought
// into the order of a batched product: [batch, rows, sums], [batch, sums,
// columns] and [batch, rows, columns].
struct EinsumMoves {
  explicit EinsumMoves(const std::optional<EinsumTerms>& terms) {
    if (!terms || terms->operands.size() != 2) return;
    const std::string& a = terms->operands[0];
    const std::string& b = terms->operands[1];
    const std::string& made = terms->result;
    const auto pick = [&](bool in_a, bool in_b, bool in_result) {
      const auto has = [](const std::string& text, char c) {
        return text.find(c) != std::string::npos;
      };
      std::string letters;
      for (const char c : a + b) {
        if (!has(letters, c) && has(a, c) == in_a && has(b, c) == in_b &&
            has(made, c) == in_result) {
          letters += c;
        }
      }
      return letters;
    };
    const std::string batch = pick(true, true, true);
    const std::string sums = pick(true, true, false);
    const std::string rows = pick(true, false, true);
    const std::string columns = pick(false, true, true);
    left = a != batch + rows + sums;
    right = b != batch + sums + columns;
    result = made != batch + rows + columns;
  }
  bool left = false;
  bool right = false;
  bool result = false;
};

}  // namespace

MainRun::MainRun(const Model& model, const Shapes& shapes,
                 const Evaluation& numbers, std::span<const Weight> weights,
                 const std::vector<bool>& constant)
    : model_(model),
      shapes_(shapes),
      numbers_(numbers),
      calls_(model),
      item_of_(model.value_count(), kNobody),
      step_of_(model.node_count(), kNobody),
      peaks_(model.graph_count()) {
  for (const GraphId id : model.Graphs()) {
    if (model[id].kind != GraphKind::kSubgraph) continue;
    for (const ValueId output : model[id].outputs) {
      if (output == kNo<ValueId> || model[output].graph == id) continue;
      returned_[output].push_back(model[id].parent_node);
    }
  }
  for (const NodeId node : ExecutionOrder(model, kMainGraph)) {
    step_of_[node] = static_cast<std::uint32_t>(steps_.size());
    const auto own = CountOf(numbers(shapes.Flops(node)));
    const auto within = CountOf(numbers(shapes.FlopsInside(node)));
    unknown_flops_ += (own ? 0u : 1u) + (within ? 0u : 1u);
    steps_.push_back({.node = node,
                      .is_constant = constant[model[node].index],
                      .cost = CappedSum(own.value_or(0), within.value_or(0)),
                      .inside = InsideOf(node, 0)});
  }
  AddItems(weights);
}

void MainRun::AddItems(std::span<const Weight> weights) {
  const auto add = [&](ValueId value) -> Item& {
    item_of_[value] = static_cast<std::uint32_t>(items_.size());
    return items_.emplace_back(Item{.value = value});
  };
  for (const Weight& weight : weights) {
    Item& item = add(weight.value);
    item.bytes = weight.bytes;
    item.is_weight = true;
    // One of a subgraph goes with the node that has the subgraph, and a
    // constant with the node that makes it.
    const Value& value = model_[weight.value];
    NodeId owner = value.producer;
    if (value.graph != kMainGraph) {
      const NodeId inside = model_[value.graph].parent_node;
      owner = inside == kNo<NodeId> ? inside : NodeAround(inside, kMainGraph);
    } else if (owner != kNo<NodeId>) {
      owner = NodeAround(owner, kMainGraph);
    }
    if (owner == kNo<NodeId>) continue;
    steps_[step_of_[owner]].reads.push_back(item_of_[weight.value]);
    if (value.graph == kMainGraph) item.maker = step_of_[owner];
  }
  for (std::uint32_t step = 0; step < steps_.size(); ++step) {
    for (const ValueId output : model_.Outputs(steps_[step].node)) {
      if (output == kNo<ValueId> || item_of_[output] != kNobody) continue;
      Item& item = add(output);
      item.bytes = BytesOf(output);
      item.maker = step;
      item.last = step;
      item.is_output = model_[output].is_output;
      steps_[step].makes.push_back(item_of_[output]);
    }
  }
  for (const ValueId input : model_[kMainGraph].inputs) {
    if (input == kNo<ValueId> || item_of_[input] != kNobody ||
        model_.InitializerOf(input) != nullptr) {
      continue;
    }
    const std::uint64_t bytes = BytesOf(input);
    add(input).bytes = bytes;
  }
  for (std::uint32_t id = 0; id < items_.size(); ++id) {
    Item& item = items_[id];
    if (model_[item.value].graph != kMainGraph) continue;
    ForEachRead(item.value, [&](NodeId reader) {
      const std::uint32_t step = step_of_[reader];
      std::vector<std::uint32_t>& reads = steps_[step].reads;
      // A node that reads a value twice does so in a row here.
      const bool there = (item.is_weight && item.maker == step) ||
                         (!reads.empty() && reads.back() == id);
      if (!there) reads.push_back(id);
      item.is_read = true;
      item.last = std::max(item.last, step);
    });
  }
}

NodeId MainRun::NodeAround(NodeId node, GraphId graph) const {
  while (model_[node].graph != graph) {
    const Graph& at = model_[model_[node].graph];
    if (at.kind != GraphKind::kSubgraph) return kNo<NodeId>;
    node = at.parent_node;
  }
  return node;
}

template <typename Use>
void MainRun::ForEachRead(ValueId value, const Use& use) const {
  const GraphId graph = model_[value].graph;
  const auto tell = [&](NodeId reader) {
    const NodeId around = NodeAround(reader, graph);
    if (around != kNo<NodeId>) use(around);
  };
  for (const NodeId reader : model_.Consumers(value)) tell(reader);
  const auto returned = returned_.find(value);
  if (returned == returned_.end()) return;
  for (const NodeId reader : returned->second) tell(reader);
}

std::uint64_t MainRun::BytesOf(ValueId value) {
  const std::uint32_t bits = BitsPerElement(shapes_.TypeOf(value));
  const Sequence* const sequence = shapes_.SequenceOf(value);
  const std::optional<Shape>& shape =
      sequence != nullptr ? sequence->element : shapes_.Of(value);
  if (bits == 0 || !shape) {
    ++unknown_values_;
    return 0;
  }
  Wide product = bits;
  const auto times = [&](Dim dim) {
    const Dim number = numbers_(dim);
    if (number.IsOver()) product = kFar;
    if (!number.IsNumber() || number.number() < 0) return number.IsOver();
    if (!IsFar(product)) product = Product(product, number.number());
    return true;
  };
  bool known = sequence == nullptr || times(sequence->length);
  for (const Dim dim : *shape) known = known && times(dim);
  if (!known) {
    ++unknown_values_;
    return 0;
  }
  return IsFar(product) ? kOver : (static_cast<std::uint64_t>(product) + 7) / 8;
}

std::uint64_t MainRun::InsideOf(NodeId node, int depth) {
  std::uint64_t most = 0;
  for (const GraphId graph : model_.Subgraphs(node)) {
    most = std::max(most, PeakOf(graph, depth + 1));
  }
  const GraphId body = calls_.BodyOf(model_, node);
  if (body != kNo<GraphId>) most = std::max(most, PeakOf(body, depth + 1));
  return std::max(most, CopiesOf(node));
}

// ONNX Runtime computes an Einsum as a batched product. It copies the second
// operand and the result, and once more what is in another order.
std::uint64_t MainRun::CopiesOf(NodeId node) {
  const auto inputs = model_.Inputs(node);
  const auto outputs = model_.Outputs(node);
  if (FindOp(model_.OpType(node)) != Op::kEinsum || outputs.empty()) return 0;
  const std::uint64_t unknown = unknown_values_;  // counted with the values
  const auto bytes = [&](ValueId value) {
    return value == kNo<ValueId> ? 0 : BytesOf(value);
  };
  std::uint64_t copies = bytes(outputs[0]);
  if (inputs.size() == 2) {
    const EinsumMoves moves(
        ReadEinsum(Attributes(model_.NodeBytes(node)).Get("equation").text));
    copies = CappedSum(copies, moves.result ? copies : 0);
    copies = CappedSum(copies, bytes(inputs[1]));
    if (moves.right) copies = CappedSum(copies, bytes(inputs[1]));
    if (moves.left) copies = CappedSum(copies, bytes(inputs[0]));
  }
  unknown_values_ = unknown;
  return copies;
}

std::uint64_t MainRun::PeakOf(GraphId graph, int depth) {
  std::optional<std::uint64_t>& known = peaks_[Index(graph)];
  if (known) return *known;
  known = 0;  // a circle of functions ends here
  if (depth > kMostInside) return 0;
  const std::vector<NodeId>& nodes = model_[graph].nodes;
  // What can be given back after each node.
  std::vector<std::uint64_t> freed(nodes.size(), 0);
  std::uint64_t live = 0;
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const ValueId output : model_.Outputs(nodes[i])) {
      if (output == kNo<ValueId>) continue;
      const std::uint64_t bytes = BytesOf(output);
      std::size_t last = i;
      ForEachRead(output, [&](NodeId reader) {
        last = std::max<std::size_t>(last, model_[reader].index);
      });
      live = CappedSum(live, bytes);
      if (!model_[output].is_output) freed[last] += bytes;
    }
    most = std::max(most, CappedSum(live, InsideOf(nodes[i], depth)));
    live -= std::min(live, freed[i]);
  }
  peaks_[Index(graph)] = most;
  return most;
}

void MainRun::SetCosts(const IdVector<NodeId, std::int64_t>& costs) {
  for (Step& step : steps_) step.cost = 0;
  for (const NodeId node : model_.Nodes()) {
    const NodeId outer = NodeAround(node, kMainGraph);
    if (outer == kNo<NodeId> || costs[node] < 0) continue;
    std::uint64_t& cost = steps_[step_of_[outer]].cost;
    cost = CappedSum(cost, static_cast<std::uint64_t>(costs[node]));
  }
}

std::vector<std::uint64_t> MainRun::Live() const {
  std::uint64_t live = 0;
  for (const Item& item : items_) {
    if (!item.is_weight && item.maker == kNobody) {
      live = CappedSum(live, item.bytes);
    }
  }
  std::vector<std::uint64_t> freed(steps_.size(), 0);
  std::vector<std::uint64_t> result;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    for (const std::uint32_t id : steps_[i].makes) {
      const Item& item = items_[id];
      live = CappedSum(live, item.bytes);
      if (!item.is_output) {
        freed[item.last] = CappedSum(freed[item.last], item.bytes);
      }
    }
    result.push_back(CappedSum(live, steps_[i].inside));
    if (live < kOver) live -= std::min(live, freed[i]);
  }
  return result;
}

std::vector<std::uint64_t> MainRun::Crossing() const {
  std::vector<std::uint64_t> freed(steps_.size() + 1, 0);
  std::vector<std::uint64_t> crossing(steps_.size() + 1, 0);
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    crossing[i] = bytes;
    for (const std::uint32_t id : steps_[i].makes) {
      const Item& item = items_[id];
      if (steps_[i].is_constant || item.last <= i) continue;
      bytes = CappedSum(bytes, item.bytes);
      freed[item.last] = CappedSum(freed[item.last], item.bytes);
    }
    if (bytes < kOver) bytes -= std::min(bytes, freed[i]);
  }
  return crossing;
}

// ---------------------------------------------------------------- sweeps
std::vector<std::uint64_t> PartSweep::From(std::size_t first,
                                           std::span<const std::size_t> lasts) {
  ++sweep_;
  first_ = first;
  cost_ = held_ = live_ = peak_ = weights_ = 0;
  std::vector<std::uint64_t> costs;
  std::size_t step = first;
  for (const std::size_t last : lasts) {
    for (; step < last; ++step) {
      if (!run_.steps()[step].is_constant) Add(step);
    }
    if (last == run_.steps().size()) {
      // Constants that are results are in the last part.
      for (std::size_t i = 0; i < last; ++i) {
        const MainRun::Step& one = run_.steps()[i];
        const bool result = one.is_constant && AnyIn(one.makes, [&](auto id) {
                              return run_.items()[id].is_output;
                            });
        if (result) AddConstant(i);
      }
    }
    costs.push_back(measure_ == Measure::kWeights ? weights_
                    : measure_ == Measure::kFlops
                        ? cost_
                        : CappedSum(weights_, CappedSum(held_, peak_)));
  }
  return costs;
}

void PartSweep::Add(std::size_t at) {
  const MainRun::Step& step = run_.steps()[at];
  cost_ = CappedSum(cost_, step.cost);
  for (const std::uint32_t id : step.makes) {
    live_ = CappedSum(live_, run_.items()[id].bytes);
  }
  for (const std::uint32_t id : step.reads) {
    const MainRun::Item& item = run_.items()[id];
    const bool seen = item_seen_[id] == sweep_;
    item_seen_[id] = sweep_;
    if (item.is_weight) {
      if (!seen) weights_ = CappedSum(weights_, item.bytes);
      if (item.maker != MainRun::kNobody && item.maker != at) {
        AddConstant(item.maker);
      }
    } else if (item.maker != MainRun::kNobody &&
               run_.steps()[item.maker].is_constant) {
      AddConstant(item.maker);
    } else if ((item.maker == MainRun::kNobody || item.maker < first_) &&
               !seen) {
      held_ = CappedSum(held_, item.bytes);
    }
  }
  peak_ = std::max(peak_, CappedSum(live_, step.inside));
  if (live_ >= kOver) return;
  for (const std::uint32_t id : step.reads) {
    const MainRun::Item& item = run_.items()[id];
    const bool made_here = !item.is_weight && item.maker != MainRun::kNobody &&
                           item.maker >= first_ &&
                           !run_.steps()[item.maker].is_constant;
    if (made_here && item.last == at && !item.is_output) {
      live_ -= std::min(live_, item.bytes);
    }
  }
  for (const std::uint32_t id : step.makes) {
    const MainRun::Item& item = run_.items()[id];
    if (!item.is_read && !item.is_output) live_ -= std::min(live_, item.bytes);
  }
}

// With all constants that it is made of.
void PartSweep::AddConstant(std::size_t step) {
  std::vector<std::size_t> open = {step};
  while (!open.empty()) {
    const std::size_t at = open.back();
    open.pop_back();
    if (step_seen_[at] == sweep_) continue;
    step_seen_[at] = sweep_;
    const MainRun::Step& one = run_.steps()[at];
    cost_ = CappedSum(cost_, one.cost);
    for (const std::uint32_t id : one.makes) {
      held_ = CappedSum(held_, run_.items()[id].bytes);
    }
    for (const std::uint32_t id : one.reads) {
      const MainRun::Item& item = run_.items()[id];
      if (item.is_weight && item_seen_[id] != sweep_) {
        weights_ = CappedSum(weights_, item.bytes);
      }
      item_seen_[id] = sweep_;
      if (item.maker != MainRun::kNobody && item.maker != at) {
        open.push_back(item.maker);
      }
    }
  }
}

}  // namespace onnx_tag::sizes
