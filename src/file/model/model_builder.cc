#include "file/model/model_builder.h"

#include <algorithm>
#include <charconv>

namespace onnx_tag {
namespace {

// Protobuf's readers stop at a nesting of 100 messages, three for each graph.
constexpr std::ptrdiff_t kMostNested = 100;

// "12:then_branch/3:body[1]" is graph 1 of the attribute `body` of node 3 in
// "12:then_branch".
struct InnerPath {
  std::string_view outer;
  std::uint32_t index = 0;
  std::string_view attribute;
  std::uint32_t position = 0xffffffff;
};

bool ReadNumber(std::string_view& text, std::uint32_t& number) {
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

// False if the path is not one of a subgraph.
bool ReadInnerPath(std::string_view path, InnerPath& inner) {
  if (std::count(path.begin(), path.end(), '/') > kMostNested) return false;
  const std::size_t slash = path.rfind('/');
  std::string_view last = path;
  if (slash != std::string_view::npos) {
    inner.outer = path.substr(0, slash);
    last = path.substr(slash + 1);
  }
  if (!ReadNumber(last, inner.index) || !last.starts_with(':')) return false;
  inner.attribute = last.substr(1, last.find('[') - 1);
  last.remove_prefix(1 + inner.attribute.size());
  if (last.starts_with('[')) {
    last.remove_prefix(1);
    ReadNumber(last, inner.position);
  }
  return true;
}

}  // namespace

ModelBuilder::ModelBuilder() {
  model_.spine_.emplace_back();  // the message of all nodes: empty
  GraphAt("");
}

NameId ModelBuilder::Intern(std::string_view text) {
  return model_.names_.Intern(text, [this](std::string_view added) {
    return model_.owned_texts_.Keep(added);
  });
}

GraphId ModelBuilder::GraphAt(std::string_view path) {
  if (!names_.empty() && model_.graphs_[last_graph_].path == path) {
    return last_graph_;
  }
  const auto at = graphs_.find(path);
  if (at != graphs_.end()) return last_graph_ = at->second;
  Graph graph;
  graph.path = model_.owned_texts_.Keep(path);
  last_graph_ = model_.graphs_.Add(std::move(graph));
  graphs_.emplace(model_.graphs_[last_graph_].path, last_graph_);
  names_.emplace_back();
  return last_graph_;
}

void ModelBuilder::Add(const NodeRow& row) {
  Node node{};
  node.name = model_.owned_texts_.Keep(row.name);
  node.op_type = Intern(row.op);
  node.domain = Intern(row.domain);
  node.graph = GraphAt(row.graph);
  node.index = row.index;
  node.first_operand = static_cast<std::uint32_t>(model_.operands_.size());
  node.input_count = static_cast<std::uint32_t>(row.inputs.size());
  node.output_count = static_cast<std::uint32_t>(row.outputs.size());
  // The ids of names; NameResolver replaces them by values.
  for (const auto& names : {row.inputs, row.outputs}) {
    for (const std::string_view name : names) {
      model_.operands_.push_back(MakeId<ValueId>(Index(Intern(name))));
    }
  }
  if (row.scope_path) {
    node.first_metadata =
        static_cast<std::uint32_t>(model_.node_metadata_.size());
    node.metadata_count = 1;
    MetadataEntry& entry = model_.node_metadata_.emplace_back();
    entry.key = kScopePathKey;
    entry.value = model_.owned_texts_.Keep(*row.scope_path);
  }
  const NodeId id = model_.nodes_.Add(node);
  model_.graphs_[node.graph].nodes.push_back(id);
}

Model ModelBuilder::Build(std::span<const std::string> inputs,
                          std::span<const std::string> outputs) {
  for (const std::string& name : inputs) {
    names_[0].inputs.push_back(Intern(name));
  }
  for (const std::string& name : outputs) {
    names_[0].outputs.push_back(Intern(name));
  }
  for (std::size_t i = 1; i < model_.graphs_.size(); ++i) {
    DescribeGraph(MakeId<GraphId>(i));
  }
  NameResolver(model_, names_).Resolve();
  MarkOutputs();
  return std::move(model_);
}

void ModelBuilder::DescribeGraph(GraphId id) {
  Graph& graph = model_.graphs_[id];
  InnerPath inner;
  if (graph.path.starts_with("train[") &&
      graph.path.find('/') == std::string_view::npos) {
    graph.kind = GraphKind::kTraining;
    graph.training_algorithm = graph.path.ends_with(":algorithm");
  } else if (ReadInnerPath(graph.path, inner)) {
    const auto outer = graphs_.find(inner.outer);
    if (outer != graphs_.end()) {
      graph.parent_node = NodeAt(outer->second, inner.index);
    }
    if (graph.parent_node == kNo<NodeId>) return MakeFunction(id);
    graph.kind = GraphKind::kSubgraph;
    graph.parent = outer->second;
    graph.attribute = inner.attribute;
    graph.position = inner.position;
    model_.subgraph_nodes_.push_back(graph.parent_node);
    model_.subgraph_graphs_.push_back(id);
  } else {
    MakeFunction(id);
  }
}

// "fn:domain::name:overload"
void ModelBuilder::MakeFunction(GraphId id) {
  Graph& graph = model_.graphs_[id];
  graph.kind = GraphKind::kFunction;
  graph.function = static_cast<std::uint32_t>(model_.functions_.size());
  Function function{};
  function.body = id;
  function.name = graph.path;
  const std::size_t colons = graph.path.rfind("::");
  if (graph.path.starts_with("fn:") && colons != std::string_view::npos) {
    function.domain =
        graph.path.substr(3, colons - std::min(colons, std::size_t{3}));
    function.name = graph.path.substr(colons + 2);
    const std::size_t colon = function.name.find(':');
    if (colon != std::string_view::npos) {
      function.overload = function.name.substr(colon + 1);
      function.name = function.name.substr(0, colon);
    }
  }
  model_.functions_.push_back(std::move(function));
}

// kNo if there is none. The nodes of a graph are listed in order.
NodeId ModelBuilder::NodeAt(GraphId graph, std::uint32_t index) const {
  const std::vector<NodeId>& nodes = model_.graphs_[graph].nodes;
  const auto at = std::lower_bound(nodes.begin(), nodes.end(), index,
                                   [&](NodeId node, std::uint32_t wanted) {
                                     return model_[node].index < wanted;
                                   });
  return at != nodes.end() && model_[*at].index == index ? *at : kNo<NodeId>;
}

// A value without a consumer must be an output of its graph.
void ModelBuilder::MarkOutputs() {
  for (const ValueId id : AllIds<ValueId>(model_.values_.size())) {
    Value& value = model_.values_[id];
    value.is_output |=
        value.producer != kNo<NodeId> && model_.Consumers(id).empty();
  }
}

}  // namespace onnx_tag
