#include "transfer/outline.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <unordered_map>

#include "base/hash.h"

namespace onnx_tag::transfer {
namespace {

std::uint64_t HashShape(const Model& model, const Initializer& weight) {
  std::uint64_t hash = HashMix(0, weight.rank);
  for (const std::int64_t dim : model.Dims(weight)) {
    hash = HashMix(hash, static_cast<std::uint64_t>(dim));
  }
  return hash | 1;
}

// The graphs of a sidecar, from their paths: "12:then_branch/3:body" is in node
// 3 of "12:then_branch".
class SidecarGraphs {
 public:
  explicit SidecarGraphs(const NodeList& nodes) {
    // The main graph is the first, even if it has no nodes.
    graphs_.emplace("", GraphId{0});
    paths_.emplace_back();
    nodes_.emplace_back();
    for (const NodeId node : nodes.All()) {
      const auto [at, added] = graphs_.try_emplace(
          nodes.Graph(node), MakeId<GraphId>(paths_.size()));
      if (added) {
        paths_.push_back(nodes.Graph(node));
        nodes_.emplace_back();
      }
      nodes_[Index(at->second)].emplace(nodes.IndexOf(node), node);
    }
  }

  GraphId Find(std::string_view path) const {
    const auto at = graphs_.find(path);
    return at == graphs_.end() ? kNo<GraphId> : at->second;
  }
  const std::vector<std::string_view>& paths() const { return paths_; }

  struct Place {
    NodeId node = kNo<NodeId>;
    GraphId graph = kNo<GraphId>;
    std::string_view label;
  };
  // The node that contains the graph.
  Place ParentOf(std::string_view path) const {
    Place place{.label = path};
    if (path.empty() || path.starts_with("fn:") || path.starts_with("train[")) {
      // A function's own graphs start with it: "fn:a::b/3:body".
      if (path.find('/') == std::string_view::npos) return place;
    }
    const std::size_t slash = path.rfind('/');
    const std::string_view last =
        slash == std::string_view::npos ? path : path.substr(slash + 1);
    std::uint32_t index = 0;
    const auto [end, error] =
        std::from_chars(last.data(), last.data() + last.size(), index);
    if (error != std::errc() || end == last.data() + last.size()) return place;
    place.label = last.substr(static_cast<std::size_t>(end - last.data()));
    place.graph =
        Find(slash == std::string_view::npos ? "" : path.substr(0, slash));
    if (place.graph == kNo<GraphId>) return place;
    const auto& nodes = nodes_[Index(place.graph)];
    const auto at = nodes.find(index);
    if (at != nodes.end()) place.node = at->second;
    return place;
  }

 private:
  std::unordered_map<std::string_view, GraphId> graphs_;
  std::vector<std::string_view> paths_;
  std::vector<std::unordered_map<std::uint32_t, NodeId>> nodes_;
};

}  // namespace

Outline::Outline(const Model& model, Texts& texts) {
  for (const GraphId id : model.Graphs()) {
    const Graph& graph = model[id];
    OutlineGraph outline;
    outline.parent = graph.parent_node;
    outline.label = texts.Intern(graph.kind == GraphKind::kFunction
                                     ? model.functions()[graph.function].name
                                     : std::string_view(graph.attribute));
    outline.nodes = graph.nodes;
    outline.inputs = graph.inputs;
    outline.outputs = graph.outputs;
    graphs_.Add(std::move(outline));
  }
  values_.reserve(model.value_count());
  for (const ValueId id : AllIds<ValueId>(model.value_count())) {
    OutlineValue value{.name = texts.Intern(model.ValueName(id)),
                       .graph = model[id].graph,
                       .is_output = model[id].is_output};
    if (const Initializer* weight = model.InitializerOf(id)) {
      value.shape = HashShape(model, *weight);
    }
    values_.Add(value);
  }
  nodes_.reserve(model.node_count());
  for (const NodeId id : model.Nodes()) {
    nodes_.Add({.op = texts.Intern(model.OpType(id)),
                .name = texts.Intern(model[id].name),
                .graph = model[id].graph,
                .first_operand = static_cast<std::uint32_t>(operands_.size()),
                .input_count = model[id].input_count,
                .output_count = model[id].output_count});
    const auto inputs = model.Inputs(id);
    const auto outputs = model.Outputs(id);
    operands_.insert(operands_.end(), inputs.begin(), inputs.end());
    operands_.insert(operands_.end(), outputs.begin(), outputs.end());
  }
  Link();
}

Outline::Outline(const NodeList& rows, std::span<const std::string> inputs,
                 std::span<const std::string> outputs, Texts& texts) {
  const SidecarGraphs graphs(rows);
  std::vector<GraphId> outer;
  for (const std::string_view path : graphs.paths()) {
    const SidecarGraphs::Place place = graphs.ParentOf(path);
    OutlineGraph graph;
    graph.parent = place.node;
    std::string_view label = place.label;
    if (label.starts_with(':')) label.remove_prefix(1);
    label = label.substr(0, label.find('['));
    if (label.starts_with("fn:")) label = label.substr(label.rfind(':') + 1);
    graph.label = texts.Intern(label);
    graphs_.Add(std::move(graph));
    outer.push_back(place.graph);
  }
  std::unordered_map<std::uint64_t, ValueId> found;
  const auto find = [&](GraphId graph, TextId name, bool define) {
    const auto key = [&](GraphId where) {
      return (static_cast<std::uint64_t>(where) << 32) | Index(name);
    };
    for (GraphId at = graph; at != kNo<GraphId> && !define;
         at = outer[Index(at)]) {
      const auto value = found.find(key(at));
      if (value != found.end()) return value->second;
    }
    const auto [at, added] = found.try_emplace(key(graph), kNo<ValueId>);
    if (added) at->second = values_.Add({.name = name, .graph = graph});
    return at->second;
  };
  for (const NodeId node : rows.All()) {
    for (const std::string_view name : rows.Outputs(node)) {
      if (!name.empty()) {
        find(graphs.Find(rows.Graph(node)), texts.Intern(name), true);
      }
    }
  }
  for (const NodeId node : rows.All()) {
    const GraphId graph = graphs.Find(rows.Graph(node));
    const std::vector<std::string_view> reads = rows.Inputs(node);
    const std::vector<std::string_view> gives = rows.Outputs(node);
    nodes_.Add({.op = texts.Intern(rows.Op(node)),
                .name = texts.Intern(rows.Name(node)),
                .graph = graph,
                .first_operand = static_cast<std::uint32_t>(operands_.size()),
                .input_count = static_cast<std::uint32_t>(reads.size()),
                .output_count = static_cast<std::uint32_t>(gives.size())});
    graphs_[graph].nodes.push_back(node);
    const auto add = [&](const std::vector<std::string_view>& names,
                         bool define) {
      for (const std::string_view name : names) {
        operands_.push_back(name.empty()
                                ? kNo<ValueId>
                                : find(graph, texts.Intern(name), define));
      }
    };
    add(reads, false);
    add(gives, true);
  }
  constexpr GraphId kMain{0};
  for (const std::string& name : inputs) {
    graphs_[kMain].inputs.push_back(find(kMain, texts.Intern(name), false));
  }
  for (const std::string& name : outputs) {
    graphs_[kMain].outputs.push_back(find(kMain, texts.Intern(name), false));
  }
  Link();
  // A value without a consumer must be an output of its graph.
  for (const ValueId id : Values()) {
    values_[id].is_output =
        Consumers(id).empty() && values_[id].producer != kNo<NodeId>;
  }
  for (const ValueId id : graphs_[kMain].outputs) values_[id].is_output = true;
}

std::vector<GraphId> Outline::Subgraphs(NodeId id) const {
  std::vector<GraphId> graphs;
  for (auto at = std::lower_bound(subgraphs_.begin(), subgraphs_.end(),
                                  std::pair(id, GraphId{0}));
       at != subgraphs_.end() && at->first == id; ++at) {
    graphs.push_back(at->second);
  }
  return graphs;
}

void Outline::Link() {
  first_consumer_.assign(values_.size() + 1, 0);
  for (const NodeId id : Nodes()) {
    std::uint32_t place = 0;
    for (const ValueId value : Outputs(id)) {
      if (value != kNo<ValueId> && values_[value].producer == kNo<NodeId>) {
        values_[value].producer = id;
        values_[value].output = place;
      }
      ++place;
    }
    for (const ValueId value : Inputs(id)) {
      if (value != kNo<ValueId>) ++first_consumer_[Index(value) + 1];
    }
  }
  for (std::size_t i = 1; i < first_consumer_.size(); ++i) {
    first_consumer_[i] += first_consumer_[i - 1];
  }
  consumers_.resize(first_consumer_.back());
  std::vector<std::uint32_t> next(first_consumer_.begin(),
                                  first_consumer_.end() - 1);
  for (const NodeId id : Nodes()) {
    for (const ValueId value : Inputs(id)) {
      if (value != kNo<ValueId>) consumers_[next[Index(value)]++] = id;
    }
  }
  for (const GraphId id : Graphs()) {
    if (graphs_[id].parent != kNo<NodeId>) {
      subgraphs_.emplace_back(graphs_[id].parent, id);
    }
  }
  std::sort(subgraphs_.begin(), subgraphs_.end());
}

}  // namespace onnx_tag::transfer
