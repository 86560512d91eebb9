#include "app/commands/read/closed_cut.h"

#include <fmt/core.h>

#include <algorithm>
#include <compare>
#include <unordered_map>
#include <unordered_set>

#include "core/graph/operators.h"

namespace onnx_tag {
namespace {

using NameSet = std::unordered_set<std::string_view>;
constexpr std::uint32_t kNobody = 0xffffffff;

// The main graph as places 0 to n - 1. A node reads what its subgraphs capture,
// too.
class MainGraph {
 public:
  explicit MainGraph(const TaggedModel& model) : model_(model) {
    const Model& nodes = model.model();
    for (const NodeId node : nodes.Nodes()) {
      if (nodes[node].graph != GraphId{0}) continue;
      const auto place = static_cast<std::uint32_t>(nodes_.size());
      nodes_.push_back(node);
      places_.emplace(nodes[node].index, place);
      for (const std::string_view output : nodes.OutputNames(node)) {
        if (!output.empty()) producers_.emplace(output, place);
      }
    }
    for (const std::string& input : model.about().inputs) inputs_.insert(input);
    reads_.resize(nodes_.size());
    captures_.resize(nodes_.size());
    ReadValues();
    readers_.resize(nodes_.size());
    for (std::uint32_t place = 0; place < size(); ++place) {
      for (std::uint32_t i = 0; i < reads_[place].size(); ++i) {
        const std::uint32_t producer = Producer(reads_[place][i]);
        if (producer != kNobody) readers_[producer].push_back({place, i});
      }
    }
  }

  std::uint32_t size() const {
    return static_cast<std::uint32_t>(nodes_.size());
  }
  NodeId Node(std::uint32_t place) const { return nodes_[place]; }
  // kNobody: fed from outside, or a weight.
  std::uint32_t Producer(std::string_view value) const {
    const auto at = producers_.find(value);
    return at == producers_.end() ? kNobody : at->second;
  }
  bool IsInput(std::string_view value) const {
    return inputs_.contains(value) && Producer(value) == kNobody;
  }
  bool IsWeight(std::string_view value) const {
    return Producer(value) == kNobody && !inputs_.contains(value);
  }
  const std::vector<std::string_view>& Reads(std::uint32_t place) const {
    return reads_[place];
  }
  // Those of its reads that only a subgraph of it mentions.
  const std::vector<std::string_view>& Captures(std::uint32_t place) const {
    return captures_[place];
  }
  // Who reads what a node makes, and which of the reader's reads that is.
  struct Reader {
    std::uint32_t place;
    std::uint32_t read;
    auto operator<=>(const Reader&) const = default;
  };
  const std::vector<Reader>& Readers(std::uint32_t place) const {
    return readers_[place];
  }

  // The place of the node that a node of a subgraph is inside of; kNobody for
  // nodes of functions.
  std::uint32_t Around(NodeId node) const {
    const Model& model = model_.model();
    while (model[model[node].graph].kind == GraphKind::kSubgraph) {
      node = model[model[node].graph].parent_node;
    }
    return model[node].graph == GraphId{0} ? PlaceOf(model[node].index)
                                           : kNobody;
  }

  // By the node's index in the graph; kNobody where there is none.
  std::uint32_t PlaceOf(std::uint32_t index) const {
    const auto at = places_.find(index);
    return at == places_.end() ? kNobody : at->second;
  }

 private:
  void ReadValues() {
    const Model& nodes = model_.model();
    for (std::uint32_t place = 0; place < size(); ++place) {
      for (const std::string_view input : nodes.InputNames(nodes_[place])) {
        if (!input.empty()) reads_[place].push_back(input);
      }
    }
    // A node stands before those of its subgraphs, and these before the next
    // node of the main graph.
    std::vector<NodeId> inner;
    std::uint32_t around = kNobody;
    const auto finish = [&] {
      if (around != kNobody) ReadCaptures(around, inner);
      inner.clear();
    };
    for (const NodeId node : nodes.Nodes()) {
      if (nodes[node].graph == GraphId{0}) continue;
      const std::uint32_t now = Around(node);
      if (now != around) finish();
      around = now;
      if (now != kNobody) inner.push_back(node);
    }
    finish();
    ReadReturnedCaptures();
  }

  void ReadCaptures(std::uint32_t place, const std::vector<NodeId>& inner) {
    const Model& nodes = model_.model();
    NameSet made;
    for (const NodeId node : inner) {
      for (const std::string_view output : nodes.OutputNames(node)) {
        made.insert(output);
      }
    }
    for (const NodeId node : inner) {
      for (const std::string_view input : nodes.InputNames(node)) {
        if (!input.empty() && !made.contains(input)) AddCapture(place, input);
      }
    }
  }

  // A branch may return a value of the main graph without a node in between.
  void ReadReturnedCaptures() {
    const Model& model = model_.model();
    for (const GraphId id : model.Graphs()) {
      const Graph& graph = model[id];
      if (graph.kind != GraphKind::kSubgraph) continue;
      const std::uint32_t place = Around(graph.parent_node);
      if (place == kNobody) continue;
      for (const ValueId output : graph.outputs) {
        if (output != kNo<ValueId> && model[output].graph == GraphId{0}) {
          AddCapture(place, model.ValueName(output));
        }
      }
    }
  }

  // Names that the main graph does not know are the subgraph's own inputs.
  void AddCapture(std::uint32_t place, std::string_view value) {
    if (Producer(value) == kNobody && !inputs_.contains(value) &&
        !IsMainWeight(value)) {
      return;
    }
    std::vector<std::string_view>& reads = reads_[place];
    const auto [known, is_new] = known_reads_.try_emplace(place);
    if (is_new) known->second.insert(reads.begin(), reads.end());
    if (!known->second.insert(value).second) return;
    reads.push_back(value);
    captures_[place].push_back(value);
  }

  // A sidecar does not say which weights there are.
  bool IsMainWeight(std::string_view value) const {
    const Model& model = model_.model();
    if (main_weights_.empty()) {
      for (const Initializer& weight : model.initializers()) {
        if (model[weight.value].graph == GraphId{0}) {
          main_weights_.insert(model.ValueName(weight.value));
        }
      }
    }
    return main_weights_.contains(value);
  }

  const TaggedModel& model_;
  std::vector<NodeId> nodes_;
  std::unordered_map<std::uint32_t, std::uint32_t> places_;
  std::unordered_map<std::string_view, std::uint32_t> producers_;
  NameSet inputs_;
  mutable NameSet main_weights_;  // looked up where there are captures
  std::vector<std::vector<std::string_view>> reads_;
  std::vector<std::vector<std::string_view>> captures_;
  // By place, of nodes with captures: all of reads_.
  std::unordered_map<std::uint32_t, NameSet> known_reads_;
  std::vector<std::vector<Reader>> readers_;
};

using Flags = std::vector<char>;

// Everything that can be reached from `start`, itself included; where `among`
// is given, over such nodes only.
Flags Reached(const MainGraph& graph, const Flags& start, bool forward,
              const Flags* among = nullptr) {
  Flags reached = start;
  std::vector<std::uint32_t> open;
  for (std::uint32_t place = 0; place < graph.size(); ++place) {
    if (start[place]) open.push_back(place);
  }
  const auto visit = [&](std::uint32_t place) {
    if (reached[place] || (among != nullptr && !(*among)[place])) return;
    reached[place] = 1;
    open.push_back(place);
  };
  while (!open.empty()) {
    const std::uint32_t place = open.back();
    open.pop_back();
    if (forward) {
      for (const MainGraph::Reader& reader : graph.Readers(place)) {
        visit(reader.place);
      }
      continue;
    }
    for (const std::string_view value : graph.Reads(place)) {
      const std::uint32_t producer = graph.Producer(value);
      if (producer != kNobody) visit(producer);
    }
  }
  return reached;
}

// Nodes that depend on no input: everything an input does not reach.
Flags Constants(const MainGraph& graph, const Model& nodes) {
  Flags fed(graph.size());
  const Operators ops(nodes);
  for (std::uint32_t place = 0; place < graph.size(); ++place) {
    // Made again, a random number would be another value.
    if (ops.Is(graph.Node(place), OpKind::kRandom)) fed[place] = 1;
    for (const std::string_view value : graph.Reads(place)) {
      if (graph.IsInput(value)) fed[place] = 1;
    }
  }
  Flags constant = Reached(graph, fed, true);
  for (char& flag : constant) flag = !flag;
  return constant;
}

// The selected nodes of the main graph; those of subgraphs go with the node
// around them, or not at all.
Flags SelectedPlaces(const MainGraph& graph, const Model& nodes,
                     const std::vector<NodeId>& selected, Cut& cut) {
  Flags flags(graph.size());
  for (const NodeId node : selected) {
    if (nodes[node].graph != GraphId{0}) continue;
    flags[graph.PlaceOf(nodes[node].index)] = 1;
  }
  for (const NodeId node : selected) {
    if (nodes[node].graph == GraphId{0}) continue;
    const std::uint32_t around = graph.Around(node);
    if (around == kNobody) {
      cut.obstacles.push_back({node, "it is in a function, not in the graph"});
    } else if (!flags[around]) {
      cut.obstacles.push_back(
          {node, fmt::format("it is inside node #{}, which is not selected",
                             nodes[graph.Node(around)].index)});
    }
  }
  return flags;
}

// What `inside` reads from outside, and what others read of `own`.
void FindBoundary(const MainGraph& graph, const Flags& inside, const Flags& own,
                  const std::vector<std::string>& returned, CutBy by,
                  Cut& cut) {
  NameSet ins;
  NameSet outs;
  const auto add = [](NameSet& seen, std::vector<std::string>& list,
                      std::string_view value) {
    if (seen.insert(value).second) list.emplace_back(value);
  };
  for (std::uint32_t place = 0; place < graph.size(); ++place) {
    for (const std::string_view value : graph.Reads(place)) {
      const std::uint32_t producer = graph.Producer(value);
      const bool from_inside = producer != kNobody && inside[producer];
      if (inside[place] && !from_inside && !graph.IsWeight(value)) {
        add(ins, cut.inputs, value);
      }
      if (!inside[place] && producer != kNobody && own[producer]) {
        add(outs, cut.outputs, value);
      }
    }
    if (!inside[place] || by == CutBy::kOurselves) continue;
    for (const std::string_view value : graph.Captures(place)) {
      if (graph.IsWeight(value)) {
        cut.obstacles.push_back(
            {graph.Node(place),
             fmt::format("its subgraph reads the weight {}, but "
                         "extract_model does not copy it",
                         value)});
      } else if (graph.Producer(value) != kNobody &&
                 inside[graph.Producer(value)]) {
        add(outs, cut.outputs, value);
      }
    }
  }
  for (const std::string& value : returned) {
    const std::uint32_t producer = graph.Producer(value);
    if (producer != kNobody && own[producer]) add(outs, cut.outputs, value);
  }
}

}  // namespace

struct PartCutter::State {
  explicit State(const TaggedModel& model)
      : graph(model),
        constant(Constants(graph, model.model())),
        own(graph.size()),
        inside(graph.size()),
        returned(graph.size()) {
    for (std::uint32_t i = 0; i < model.about().outputs.size(); ++i) {
      const std::uint32_t producer = graph.Producer(model.about().outputs[i]);
      if (producer != kNobody) returned[producer].push_back(i);
    }
  }

  MainGraph graph;
  Flags constant;
  std::vector<std::uint32_t> own, inside;  // by place: the last part it was in
  std::uint32_t part = 0;
  std::vector<std::vector<std::uint32_t>> returned;  // by place: outputs
};

PartCutter::PartCutter(const TaggedModel& model)
    : model_(model), state_(std::make_unique<State>(model)) {}

PartCutter::~PartCutter() = default;

Cut PartCutter::CutOut(const std::vector<NodeId>& nodes) {
  State& state = *state_;
  const MainGraph& graph = state.graph;
  const std::uint32_t part = ++state.part;
  const auto is_inside = [&](std::uint32_t place) {
    return place != kNobody && state.inside[place] == part;
  };
  std::vector<std::uint32_t> places;
  for (const NodeId node : nodes) {
    const std::uint32_t place = graph.PlaceOf(model_.model()[node].index);
    if (is_inside(place)) continue;
    state.own[place] = state.inside[place] = part;
    places.push_back(place);
  }
  for (std::size_t i = 0; i < places.size(); ++i) {  // which grow
    for (const std::string_view value : graph.Reads(places[i])) {
      const std::uint32_t producer = graph.Producer(value);
      if (producer == kNobody || !state.constant[producer] ||
          is_inside(producer)) {
        continue;
      }
      state.inside[producer] = part;
      places.push_back(producer);
    }
  }
  std::sort(places.begin(), places.end());
  Cut cut;
  NameSet ins;
  std::vector<MainGraph::Reader> readers;
  std::vector<std::uint32_t> returned;
  for (const std::uint32_t place : places) {
    cut.nodes.push_back(graph.Node(place));
    for (const std::string_view value : graph.Reads(place)) {
      if (is_inside(graph.Producer(value)) || graph.IsWeight(value)) continue;
      if (ins.insert(value).second) cut.inputs.emplace_back(value);
    }
    if (state.own[place] != part) {
      cut.constants.push_back(graph.Node(place));
      continue;
    }
    for (const MainGraph::Reader& reader : graph.Readers(place)) {
      if (!is_inside(reader.place)) readers.push_back(reader);
    }
    returned.insert(returned.end(), state.returned[place].begin(),
                    state.returned[place].end());
  }
  std::sort(readers.begin(), readers.end());
  std::sort(returned.begin(), returned.end());
  NameSet outs;
  const auto add = [&](std::string_view value) {
    if (outs.insert(value).second) cut.outputs.emplace_back(value);
  };
  for (const MainGraph::Reader& reader : readers) {
    add(graph.Reads(reader.place)[reader.read]);
  }
  for (const std::uint32_t i : returned) add(model_.about().outputs[i]);
  return cut;
}

std::vector<bool> ConstantNodes(const TaggedModel& model) {
  const Flags flags = Constants(MainGraph(model), model.model());
  return {flags.begin(), flags.end()};
}

Cut CutOut(const TaggedModel& model, const std::vector<NodeId>& selected,
           CutBy by) {
  Cut cut;
  const MainGraph graph(model);
  const Flags chosen = SelectedPlaces(graph, model.model(), selected, cut);
  const Flags after = Reached(graph, chosen, true);
  const Flags before = Reached(graph, chosen, false);
  Flags own = chosen;  // and what is between: on a way out and back in
  for (std::uint32_t place = 0; place < graph.size(); ++place) {
    if (after[place] && before[place]) own[place] = 1;
  }
  const Flags constant = Constants(graph, model.model());
  const Flags inside = Reached(graph, own, false, &constant);
  for (std::uint32_t place = 0; place < graph.size(); ++place) {
    if (!inside[place]) continue;
    cut.nodes.push_back(graph.Node(place));
    if (!own[place]) {
      cut.constants.push_back(graph.Node(place));
    } else if (!chosen[place]) {
      cut.between.push_back(graph.Node(place));
    }
  }
  FindBoundary(graph, inside, own, model.about().outputs, by, cut);
  return cut;
}

}  // namespace onnx_tag
