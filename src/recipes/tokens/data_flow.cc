#include "recipes/tokens/data_flow.h"

#include <algorithm>

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
}

bool DataFlow::IsVisible(GraphId graph) const {
  for (GraphId at = main_; at != kNo<GraphId>; at = model_[at].parent) {
    if (at == graph) return true;
  }
  return false;
}

// What bodies around this one make of data is not traced: all of it is taken
// for data.
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
  for (NodeId node : model_.Consumers(value)) {
    while (node != kNo<NodeId> && model_[node].graph != main_) {
      node = model_[model_[node].graph].parent_node;
    }
    if (node != kNo<NodeId> &&
        std::find(readers.begin(), readers.end(), node) == readers.end()) {
      readers.push_back(node);
    }
  }
  return readers;
}

// The file's order where that is one of execution, else depth first from each
// node in turn; a cycle, which no valid file has, is cut where it is met.
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
    for (const ValueId output : model_.Outputs(node)) {
      if (output != kNo<ValueId>) data_value_[Index(output)] = true;
    }
  }
}

ValueId DataFlow::Source(ValueId value) const {
  for (;;) {
    const NodeId node = Producer(value);
    if (node == kNo<NodeId> || !transparent_[node]) return value;
    // A cycle, which no valid file has, must end somewhere.
    const ValueId input = model_.Inputs(node)[0];
    if (input == kNo<ValueId> || !IsData(input)) return value;
    value = input;
  }
}

NodeId DataFlow::DataProducer(
    ValueId value, std::initializer_list<std::string_view> ops) const {
  const NodeId node = Producer(Source(value));
  return node != kNo<NodeId> && IsData(node) &&
                 IsOneOf(model_.OpType(node), ops)
             ? node
             : kNo<NodeId>;
}

NodeId DataFlow::OnlyReader(NodeId node,
                            std::initializer_list<std::string_view> ops) const {
  if (node == kNo<NodeId>) return node;
  const auto outputs = model_.Outputs(node);
  if (outputs.empty() || outputs[0] == kNo<ValueId> ||
      model_[outputs[0]].is_output) {
    return kNo<NodeId>;
  }
  // A reader that takes it twice, as x * x does, counts once.
  NodeId only = kNo<NodeId>;
  for (const NodeId reader : model_.Consumers(outputs[0])) {
    if (only != kNo<NodeId> && reader != only) return kNo<NodeId>;
    only = reader;
  }
  if (only == kNo<NodeId> || model_[only].graph != main_) return kNo<NodeId>;
  if (transparent_[only]) return OnlyReader(only, ops);
  return IsOneOf(model_.OpType(only), ops) ? only : kNo<NodeId>;
}

ValueId DataFlow::ConstantInput(NodeId node) const {
  for (const ValueId input : model_.Inputs(node)) {
    if (input != kNo<ValueId> && !IsData(input)) return input;
  }
  return kNo<ValueId>;
}

std::vector<ValueId> DataFlow::DataInputs(NodeId node) const {
  std::vector<ValueId> inputs;
  for (const ValueId input : model_.Inputs(node)) {
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
