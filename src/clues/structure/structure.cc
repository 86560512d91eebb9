#include "clues/structure/structure.h"

#include <array>
#include <set>
#include <utility>

#include "clues/structure/arrange.h"
#include "core/graph/walk.h"

namespace onnx_tag {

std::string_view WordOf(FoundKind kind) {
  static constexpr std::array<std::string_view, kFoundKinds> kWords = {
      "layers", "blocks",    "block",        "stem",   "body",
      "head",   "attention", "feed_forward", "branch", "unit",
      "conv",   "linear",    "recurrent",    "norm",   "activation",
      "pool",   "embedding", "call",         ""};
  return kWords[static_cast<std::size_t>(kind)];
}

std::string Structure::Name(FoundId id) const {
  const FoundModule& module = modules_[id];
  std::string name(WordOf(module.kind));
  if (module.kind == FoundKind::kCopy || module.number > 0) {
    name += std::to_string(module.number);
  }
  return name;
}

std::string Structure::Path(FoundId id) const {
  if (id == kNo<FoundId>) return {};
  const FoundId parent = modules_[id].parent;
  return parent == kNo<FoundId> ? Name(id) : Path(parent) + "." + Name(id);
}

class StructureFinder {
 public:
  explicit StructureFinder(const GraphFacts& graph)
      : model_(graph.model), graph_(graph), parts_(graph), tree_(structure_) {
    structure_.module_of_.resize(model_.node_count(), kNo<FoundId>);
  }

  Structure Find() {
    // A subgraph follows the node that holds it, so its parent is known.
    for (const GraphId graph : model_.Graphs()) {
      if (model_[graph].kind == GraphKind::kMain) FindIn(graph, kNo<FoundId>);
      if (model_[graph].kind == GraphKind::kSubgraph &&
          structure_.module_of_[model_[graph].parent_node] != kNo<FoundId>) {
        FindInSubgraph(graph);
      }
    }
    FindInFunctions();
    CountNodes();
    return std::move(structure_);
  }

 private:
  // The module of what `holder` runs. From now on, `holder` is in it.
  FoundId Below(NodeId holder) {
    FoundId& module = structure_.module_of_[holder];
    if (held_.insert(holder).second) {
      module = tree_.New(module, FoundKind::kCall);
    }
    return module;
  }

  // A name has all names above it, so a chain of a thousand functions that
  // call each other would have a million names.
  bool IsTooDeep(FoundId module) const {
    constexpr int kDeepest = 64;
    int depth = 0;
    while (module != kNo<FoundId> && depth < kDeepest) {
      module = structure_[module].parent;
      ++depth;
    }
    return module != kNo<FoundId>;
  }

  void PutAll(GraphId graph, FoundId module) {
    for (const NodeId node : model_[graph].nodes) {
      structure_.module_of_[node] = module;
    }
  }

  void FindInSubgraph(GraphId graph) {
    const NodeId holder = model_[graph].parent_node;
    FoundId parent = structure_.module_of_[holder];
    // Too little for a module of its own.
    if (!parts_.IsHeavy(holder) || parent == kNo<FoundId> ||
        IsTooDeep(parent)) {
      PutAll(graph, parent);
      return;
    }
    parent = Below(holder);
    const bool choice = model_.Subgraphs(holder).size() > 1;
    FindIn(graph, choice ? tree_.New(parent, FoundKind::kBranch) : parent);
  }

  // A function is a module of its first call, whose module is known here.
  void FindInFunctions() {
    for (const FunctionId function : graph_.calls.CallersFirst()) {
      const GraphId body = model_.functions()[Index(function)].body;
      const NodeId call = graph_.calls.FirstCall(function);
      const FoundId caller = structure_.module_of_[call];
      if (caller == kNo<FoundId>) continue;
      if (IsTooDeep(caller)) {
        PutAll(body, caller);
      } else {
        FindIn(body, Below(call));
      }
      for (const NodeId node : graph_.calls.Body(function)) {
        for (const GraphId inner : model_.Subgraphs(node)) {
          FindInSubgraph(inner);
        }
      }
    }
  }

  void FindIn(GraphId graph, FoundId parent) {
    const structure::Atoms atoms(parts_, graph);
    const structure::Regions regions(atoms);
    const structure::Units units(atoms, regions);
    const std::vector<FoundId> module_of =
        structure::Arrange(units, tree_, parent);
    for (std::uint32_t i = 0; i < atoms.size(); ++i) {
      const FoundId id = module_of[i];
      if (id == kNo<FoundId>) continue;
      FoundModule& module = structure_.modules_[id];
      if (module.core != kNo<NodeId> || !atoms.IsHeavyAt(i)) continue;
      module.core = atoms.Core(i);
      module.kernel_rank = static_cast<std::uint8_t>(atoms.KernelRank(i));
    }
    for (const NodeId node : model_[graph].nodes) {
      const std::uint32_t atom = atoms.Of(node);
      if (atom != structure::kNone) {
        structure_.module_of_[node] = module_of[atom];
      }
    }
    PlaceSide(graph, atoms.IsSide());
    PlaceRest(graph, parent);
  }

  // Between two nodes of a module, in the order of the file: in that module.
  // Else with what comes first.
  void PlaceSide(GraphId graph, const std::vector<bool>& is_side) {
    FoundId before = kNo<FoundId>;
    std::vector<NodeId> waiting;
    const auto place = [&](FoundId after) {
      FoundId module = Common(before, after);
      if (module == kNo<FoundId> && !waiting.empty()) {
        module = tree_.Child(kNo<FoundId>, FoundKind::kStem, 0);
      }
      for (const NodeId node : waiting) structure_.module_of_[node] = module;
      waiting.clear();
      before = after;
    };
    const std::vector<NodeId>& nodes = model_[graph].nodes;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const FoundId own = structure_.module_of_[nodes[i]];
      if (is_side[i]) {
        waiting.push_back(nodes[i]);
      } else if (own != kNo<FoundId>) {
        place(own);
      }
    }
    place(kNo<FoundId>);
  }

  FoundId Common(FoundId a, FoundId b) const {
    // A parent is found before its parts.
    while (a != b && a != kNo<FoundId> && b != kNo<FoundId>) {
      FoundId& later = a < b ? b : a;
      later = structure_[later].parent;
    }
    return a == b ? a : kNo<FoundId>;
  }

  // Constants and what computes shapes belong to their first reader; what
  // nobody reads belongs to the subgraph's holder.
  void PlaceRest(GraphId graph, FoundId parent) {
    const std::vector<NodeId>& nodes = model_[graph].nodes;
    for (std::size_t i = nodes.size(); i-- > 0;) {
      FoundId& module = structure_.module_of_[nodes[i]];
      if (module != kNo<FoundId>) continue;
      module = parent;
      ForEachReader(model_, nodes[i], [&](NodeId reader) {
        const FoundId at = structure_.module_of_[reader];
        if (at != kNo<FoundId>) module = at;
        return at == kNo<FoundId>;
      });
    }
  }

  void CountNodes() {
    for (const NodeId node : model_.Nodes()) {
      FoundId id = structure_.module_of_[node];
      for (; id != kNo<FoundId>; id = structure_.modules_[id].parent) {
        ++structure_.modules_[id].nodes;
      }
    }
  }

  const Model& model_;
  const GraphFacts& graph_;
  const structure::ModelParts parts_;
  Structure structure_;
  FoundTree tree_;
  std::set<NodeId> held_;
};

Structure FindStructure(const GraphFacts& graph) {
  return StructureFinder(graph).Find();
}

}  // namespace onnx_tag
