// Turns names into values. A name means a value of the same graph, else a value
// of an enclosing graph. Names are dense ids, so the current meaning of each
// name is stored in one vector. A subgraph overwrites its own names in this
// vector and restores them at its end.
#include <algorithm>
#include <utility>

#include "file/model/reader.h"

namespace onnx_tag {

NameResolver::NameResolver(Model& model, const std::vector<GraphNames>& names)
    : model_(model), names_(names) {}

void NameResolver::SortSubgraphs() {
  // Graphs are numbered in file order. So the second branch of a node follows
  // the nodes and subgraphs of the first branch.
  std::vector<std::pair<NodeId, GraphId>> pairs;
  for (std::size_t i = 0; i < model_.subgraph_nodes_.size(); ++i) {
    pairs.emplace_back(model_.subgraph_nodes_[i], model_.subgraph_graphs_[i]);
  }
  std::sort(pairs.begin(), pairs.end());
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    model_.subgraph_nodes_[i] = pairs[i].first;
    model_.subgraph_graphs_[i] = pairs[i].second;
  }
}

void NameResolver::Resolve() {
  SortSubgraphs();
  bound_.assign(model_.names_.size(), kNo<ValueId>);
  model_.values_.reserve(model_.names_.size());
  // The training graphs use the weights of the main graph, so its names stay
  // bound. Functions see only their own names.
  ResolveGraph(GraphId{0});
  ResolveAll(GraphKind::kTraining);
  bound_.assign(model_.names_.size(), kNo<ValueId>);
  shadowed_.clear();
  ResolveAll(GraphKind::kFunction);
  LinkConsumers();
}

void NameResolver::ResolveAll(GraphKind kind) {
  for (const GraphId graph : model_.Graphs()) {
    if (model_.graphs_[graph].kind == kind) ResolveInside(graph);
  }
}

// The names of the graph are forgotten behind it.
void NameResolver::ResolveInside(GraphId graph) {
  const std::size_t mark = shadowed_.size();
  ResolveGraph(graph);
  for (; shadowed_.size() > mark; shadowed_.pop_back()) {
    bound_[Index(shadowed_.back().name)] = shadowed_.back().outer;
  }
}

ValueId NameResolver::Bind(GraphId graph, NameId name) {
  ValueId& bound = bound_[Index(name)];
  if (bound != kNo<ValueId> && model_.values_[bound].graph == graph) {
    return bound;  // defined twice, or an initializer that is also an input
  }
  shadowed_.push_back({name, bound});
  bound = model_.values_.Add({.name = name, .graph = graph});
  return bound;
}

ValueId NameResolver::Lookup(GraphId graph, NameId name) {
  const ValueId bound = bound_[Index(name)];
  // An undefined name is a value without a producer.
  return bound == kNo<ValueId> ? Bind(graph, name) : bound;
}

void NameResolver::Declare(GraphId graph) {
  const GraphNames& names = names_[Index(graph)];
  for (const NameId name : names.inputs) {
    const ValueId value = Bind(graph, name);
    model_.values_[value].is_input = true;
    model_.graphs_[graph].inputs.push_back(value);
  }
  for (const std::uint32_t index : names.initializers) {
    Initializer& tensor = model_.initializers_[index];
    tensor.value = Bind(graph, MakeId<NameId>(Index(tensor.value)));
    model_.values_[tensor.value].initializer = index;
  }
  for (const NodeId id : model_.graphs_[graph].nodes) {
    const Node& node = model_.nodes_[id];
    const std::size_t first = node.first_operand + node.input_count;
    for (std::size_t i = first; i < first + node.output_count; ++i) {
      const auto name = MakeId<NameId>(Index(model_.operands_[i]));
      if (model_.names_[name].empty()) {
        model_.operands_[i] = kNo<ValueId>;
        continue;
      }
      ValueId value = Bind(graph, name);
      // Of several producers, which no valid file has, the first one's value is
      // read. Shared, it would be a list of readers for each of them.
      if (model_.values_[value].producer != kNo<NodeId>) {
        value = model_.values_.Add({.name = name, .graph = graph});
      }
      model_.operands_[i] = value;
      model_.values_[value].producer = id;
    }
  }
}

void NameResolver::ResolveGraph(GraphId graph) {
  Declare(graph);
  for (const NodeId id : std::as_const(model_.graphs_[graph].nodes)) {
    const Node& node = model_.nodes_[id];
    const std::size_t first = node.first_operand;
    for (std::size_t i = first; i < first + node.input_count; ++i) {
      const auto name = MakeId<NameId>(Index(model_.operands_[i]));
      model_.operands_[i] =
          model_.names_[name].empty() ? kNo<ValueId> : Lookup(graph, name);
    }
    if (model_.subgraph_nodes_.empty()) continue;
    for (const GraphId inner : model_.Subgraphs(id)) ResolveInside(inner);
  }
  for (const NameId name : names_[Index(graph)].outputs) {
    const ValueId value = Lookup(graph, name);
    model_.values_[value].is_output = true;
    model_.graphs_[graph].outputs.push_back(value);
  }
  for (const GraphNames::Info& info : names_[Index(graph)].infos) {
    const ValueId value = bound_[Index(info.name)];
    if (value != kNo<ValueId> && model_.values_[value].graph == graph) {
      model_.values_[value].info = info.info;
    }
  }
}

void NameResolver::LinkConsumers() {
  std::vector<std::uint32_t>& first = model_.first_consumer_;
  first.assign(model_.values_.size() + 1, 0);
  for (const Node& node : model_.nodes_) {
    for (std::size_t i = 0; i < node.input_count; ++i) {
      const ValueId value = model_.operands_[node.first_operand + i];
      if (value != kNo<ValueId>) ++first[Index(value) + 1];
    }
  }
  for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
  model_.consumers_.resize(first.back());
  std::vector<std::uint32_t> next(first.begin(), first.end() - 1);
  for (const NodeId id : model_.Nodes()) {
    for (const ValueId value : model_.Inputs(id)) {
      if (value != kNo<ValueId>) model_.consumers_[next[Index(value)]++] = id;
    }
  }
}

}  // namespace onnx_tag
