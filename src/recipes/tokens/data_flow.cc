#include "recipes/tokens/data_flow.h"

#include <algorithm>

#include "graph/neighbours.h"

namespace onnx_tag::recipes {
namespace {

bool IsOneOf(std::string_view op, std::initializer_list<std::string_view> ops) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

}  // namespace

DataFlow::DataFlow(const Model& model)
    : model_(model),
      data_node_(model.node_count(), false),
      transparent_(model.node_count(), false),
      data_value_(model.value_count(), false) {
  for (const GraphId graph : model.Graphs()) {
    if (model[graph].kind == GraphKind::kMain) main_ = graph;
  }
  if (model.graph_count() == 0) return;
  Sort();
  FindData();
  FindReadersThrough();
}

DataFlow::DataFlow(const Model& model, GraphId body, const DataFlow& outside)
    : model_(model),
      main_(body),
      data_node_(model.node_count(), false),
      transparent_(model.node_count(), false),
      data_value_(outside.data_value_) {
  SeeOutside(outside);
  Sort();
  FindData();
  FindReadersThrough();
}

bool DataFlow::IsVisible(GraphId graph) const {
  for (GraphId at = main_; at != kNo<GraphId>; at = model_[at].parent) {
    if (at == graph) return true;
  }
  return false;
}

// Values of enclosing bodies are not analysed; they count as data.
void DataFlow::SeeOutside(const DataFlow& outside) {
  for (GraphId at = model_[main_].parent;
       at != kNo<GraphId> && at != outside.main_; at = model_[at].parent) {
    for (const ValueId input : model_[at].inputs) {
      data_value_[Index(input)] = true;
    }
    for (const NodeId node : model_[at].nodes) {
      if (IsOneOf(model_.OpType(node), {"Constant", "Shape", "Size"})) continue;
      for (const ValueId output : model_.Outputs(node)) {
        if (output != kNo<ValueId>) data_value_[Index(output)] = true;
      }
    }
  }
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

std::vector<NodeId> DataFlow::FewReaders(ValueId value,
                                         std::size_t most) const {
  if (value == kNo<ValueId> || model_.Consumers(value).size() > most) return {};
  return Readers(value);
}

std::span<const ValueId> DataFlow::Operands(NodeId node) const {
  constexpr std::size_t kMost = 4;
  const auto inputs = model_.Inputs(node);
  return inputs.first(std::min(inputs.size(), kMost));
}

// Uses the order of the file if it is a valid execution order, else depth first
// from each node. A cycle (in an invalid file) is cut.
void DataFlow::Sort() {
  const std::vector<NodeId>& nodes = graph().nodes;
  enum class State : char { kNew, kOpen, kDone };
  IdVector<NodeId, State> state(model_.node_count(), State::kNew);
  order_.reserve(nodes.size());
  std::vector<NodeId> stack;
  for (const NodeId start : nodes) {
    stack.push_back(start);
    while (!stack.empty()) {
      const NodeId node = stack.back();
      if (state[node] != State::kNew) {
        if (state[node] == State::kOpen) {
          state[node] = State::kDone;
          order_.push_back(node);
        }
        stack.pop_back();
        continue;
      }
      state[node] = State::kOpen;
      for (const ValueId value : Reads(node)) {
        const NodeId producer = Producer(value);
        if (producer != kNo<NodeId> && state[producer] == State::kNew) {
          stack.push_back(producer);
        }
      }
    }
  }
}

void DataFlow::FindData() {
  for (const ValueId input : graph().inputs) {
    if (model_.InitializerOf(input) == nullptr) {
      data_value_[Index(input)] = true;
    }
  }
  for (const NodeId node : order_) {
    const std::string_view op = model_.OpType(node);
    if (op == "Shape" || op == "Size") continue;
    bool data = op.starts_with("Random") || !model_.Subgraphs(node).empty();
    for (const ValueId input : model_.Inputs(node))
      data = data || IsData(input);
    if (!data) continue;
    data_node_[node] = true;
    transparent_[node] = !model_.Inputs(node).empty() &&
                         IsOneOf(op, {"QuantizeLinear", "DequantizeLinear",
                                      "DynamicQuantizeLinear"});
    if (transparent_[node]) {
      if (source_.size() == 0) {
        source_.resize(model_.node_count(), kNo<ValueId>);
      }
      // A cycle, which no valid file has, ends at what comes later.
      source_[node] = Source(model_.Inputs(node)[0]);
    }
    for (const ValueId output : model_.Outputs(node)) {
      if (output != kNo<ValueId>) data_value_[Index(output)] = true;
    }
  }
}

void DataFlow::FindReadersThrough() {
  if (source_.size() == 0) return;
  reader_through_.resize(model_.node_count(), kNo<NodeId>);
  for (auto at = order_.rbegin(); at != order_.rend(); ++at) {
    if (!transparent_[*at]) continue;
    const NodeId next = NextReader(*at);
    reader_through_[*at] = next != kNo<NodeId> && transparent_[next]
                               ? reader_through_[next]
                               : next;
  }
}

ValueId DataFlow::Source(ValueId value) const {
  const NodeId node = Producer(value);
  if (node == kNo<NodeId> || !transparent_[node]) return value;
  const ValueId input = model_.Inputs(node)[0];
  return input != kNo<ValueId> && IsData(input) ? source_[node] : value;
}

NodeId DataFlow::DataProducer(
    ValueId value, std::initializer_list<std::string_view> ops) const {
  const NodeId node = Producer(Source(value));
  return node != kNo<NodeId> && IsData(node) &&
                 IsOneOf(model_.OpType(node), ops)
             ? node
             : kNo<NodeId>;
}

NodeId DataFlow::NextReader(NodeId node) const {
  const auto outputs = model_.Outputs(node);
  const NodeId only =
      outputs.empty() ? kNo<NodeId> : OnlyConsumer(model_, outputs[0]);
  return only == kNo<NodeId> || model_[only].graph != main_ ? kNo<NodeId>
                                                            : only;
}

NodeId DataFlow::OnlyReader(NodeId node,
                            std::initializer_list<std::string_view> ops) const {
  if (node == kNo<NodeId>) return node;
  NodeId only = NextReader(node);
  if (only != kNo<NodeId> && transparent_[only]) only = reader_through_[only];
  return only != kNo<NodeId> && IsOneOf(model_.OpType(only), ops) ? only
                                                                  : kNo<NodeId>;
}

ValueId DataFlow::ConstantInput(NodeId node) const {
  for (const ValueId input : Operands(node)) {
    if (input != kNo<ValueId> && !IsData(input)) return input;
  }
  return kNo<ValueId>;
}

std::vector<ValueId> DataFlow::DataInputs(NodeId node) const {
  std::vector<ValueId> inputs;
  for (const ValueId input : Operands(node)) {
    if (IsData(input)) inputs.push_back(Source(input));
  }
  return inputs;
}

DataFlow::Shape DataFlow::TensorShape(ValueId value) const {
  constexpr int kSteps = 4;
  for (int step = 0; value != kNo<ValueId>; ++step) {
    const Initializer* const tensor = model_.InitializerOf(value);
    if (tensor != nullptr) return {true, model_.Dims(*tensor)};
    const NodeId node = Producer(value);
    if (step == kSteps || node == kNo<NodeId> || model_.Inputs(node).empty() ||
        !IsOneOf(model_.OpType(node),
                 {"Identity", "Cast", "Transpose", "DequantizeLinear"})) {
      break;
    }
    value = model_.Inputs(node)[0];
  }
  return {};
}

}  // namespace onnx_tag::recipes
