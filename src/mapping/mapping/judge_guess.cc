#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "core/graph/walk.h"
#include "core/hierarchy/name_parts.h"
#include "mapping/mapping/place_found.h"

namespace onnx_tag {
namespace {

// Compares a guess of the recipe book with the blocks of the graph.
class Referee {
 public:
  Referee(const GraphFacts& graph, const Structure& blocks,
          const ModuleTree& modules, const IdVector<NodeId, Tag>& tags)
      : model_(graph.model), modules_(modules), tags_(tags), found_(blocks) {
    for (const NodeId node : model_.Nodes()) {
      if (!tags[node].tagged() || !graph.data.IsMadeBy(node) ||
          graph.ops.Is(node, {OpKind::kConstant, OpKind::kShapeOf}) ||
          IsActivation(node)) {
        continue;
      }
      ++own_[tags[node].module];
      bool in_copy = false;
      ForEachCopy(node, [&](FoundId) { in_copy = true; });
      ForEachAround(tags[node].module, [&](ModuleId at) {
        ++total_[at];
        has_copies_[at] = has_copies_[at] || in_copy;
      });
      ForEachCopy(node, [&](FoundId copy) {
        ++sizes_[copy];
        ForEachAround(tags[node].module,
                      [&](ModuleId at) { ++shares_[copy][at]; });
      });
    }
    for (const FoundId id : found_.Modules()) Compare(id);
    for (const FoundId id : found_.Modules()) CompareWithSiblings(id);
    FindExcess();
    for (std::size_t i = model_.node_count(); i-- > 0;) {
      const auto node = MakeId<NodeId>(i);
      if (tags[node].tagged()) is_stray_[node] = IsAstray(node);
    }
  }

  bool Refuses() const { return 4 * against_ > compared_; }

  IdVector<NodeId, bool> TakeStrays() { return std::move(is_stray_); }

 private:
  static constexpr std::uint32_t kSmallest = 3;

  struct List {
    std::uint32_t copies = 0;
    // Of the modules that copies are like.
    std::map<ModuleId, std::uint32_t> parents;
  };

  template <typename Action>
  void ForEachAround(ModuleId module, Action action) const {
    for (; module != ModuleTree::kRoot; module = modules_.Parent(module)) {
      action(module);
    }
  }
  template <typename Action>
  void ForEachCopy(NodeId node, Action action) const {
    FoundId id = found_.ModuleOf(node);
    for (; id != kNo<FoundId>; id = found_[id].parent) {
      if (found_[id].kind == FoundKind::kCopy) action(id);
    }
  }
  // One activation is called by many blocks.
  bool IsActivation(NodeId node) const {
    const FoundId id = found_.ModuleOf(node);
    return id != kNo<FoundId> && found_[id].kind == FoundKind::kActivation;
  }
  bool IsOutermost(FoundId copy) const {
    FoundId id = found_[copy].parent;
    while (id != kNo<FoundId> && found_[id].kind != FoundKind::kCopy) {
      id = found_[id].parent;
    }
    return id == kNo<FoundId>;
  }
  bool IsIn(NodeId node, FoundId copy) const {
    bool is_in = false;
    ForEachCopy(node, [&](FoundId id) { is_in |= id == copy; });
    return is_in;
  }

  // A block and a module fit if they have nine of ten nodes in common. They
  // cross if each has nodes that the other has not, and both have some.
  void Compare(FoundId id) {
    const std::uint32_t size = sizes_[id];
    if (found_[id].kind != FoundKind::kCopy || size == 0) return;
    bool crosses = false;
    const auto take = [&](ModuleId module, ModuleId& outermost) {
      if (outermost == kNo<ModuleId> ||
          modules_.IsAncestor(module, outermost)) {
        outermost = module;
      }
    };
    for (const auto& [module, share] : shares_[id]) {
      const std::uint32_t larger = std::max(size, total_[module]);
      if (share + std::max(1u, larger / 10) >= larger) take(module, like_[id]);
      if (10 * share >= 9 * larger) {
        take(module, fitting_[id]);
        continue;
      }
      const std::uint32_t few = std::min(size, total_[module]) / 10 + 1;
      crosses |= hierarchy::IsNumeric(modules_.Atom(module)) && share > few &&
                 size - share > few && total_[module] - share > few;
      // One module, without parts, for this block and others.
      crosses |= share == size && own_[module] == total_[module];
    }
    if (fitting_[id] != kNo<ModuleId>) copies_.emplace(fitting_[id], id);
    if (size < kSmallest || !IsOutermost(id)) return;
    compared_ += size;
    if (crosses) {
      against_ += size;
      return;
    }
    List& list = lists_[found_[id].parent];
    ++list.copies;
    if (like_[id] != kNo<ModuleId>) ++list.parents[modules_.Parent(like_[id])];
  }

  // Copies of one list are items of one list: none of another list, and none
  // is several items, if most are one.
  void CompareWithSiblings(FoundId id) {
    const auto at = lists_.find(found_[id].parent);
    if (at == lists_.end() || sizes_[id] < kSmallest || !IsOutermost(id)) {
      return;
    }
    const List& list = at->second;
    const ModuleId usual = UsualParent(list);
    std::uint32_t fitting = 0;
    for (const auto& [parent, count] : list.parents) fitting += count;
    bool differs = false;
    if (like_[id] != kNo<ModuleId>) {
      differs = fitting == list.copies && modules_.Parent(like_[id]) != usual;
    } else if (usual != kNo<ModuleId>) {
      std::uint32_t items = 0;
      for (const auto& [module, share] : shares_[id]) {
        items += modules_.Parent(module) == usual ? 1u : 0u;
      }
      differs = items > 1;
    }
    if (differs) against_ += sizes_[id];
  }

  // The list that more than half of the copies are in, or kNo.
  static ModuleId UsualParent(const List& list) {
    for (const auto& [parent, count] : list.parents) {
      if (2 * count > list.copies) return parent;
    }
    return kNo<ModuleId>;
  }

  // The model may have fewer layers than the guess: an item that no block is
  // like, with few of the parts of the others.
  void FindExcess() {
    using Parts = std::set<std::string>;
    std::map<ModuleId, std::map<ModuleId, Parts>> items;  // by list and item
    for (const auto& [id, list] : lists_) {
      const ModuleId parent = UsualParent(list);
      if (parent != kNo<ModuleId> && list.copies > 1) items[parent];
    }
    for (const ModuleId module : AllIds<ModuleId>(own_.size())) {
      if (own_[module] == 0) continue;
      std::string path;
      ForEachAround(module, [&](ModuleId at) {
        const auto list = items.find(modules_.Parent(at));
        if (list != items.end()) list->second[at].insert(path);
        path += '.';
        path += modules_.Atom(at);
      });
    }
    for (const auto& [parent, parts] : items) {
      // One is enough to compare with: the one with the most parts.
      Parts most;
      for (const auto& [item, its] : parts) {
        if (copies_.contains(item) && its.size() > most.size()) most = its;
      }
      for (const auto& [item, few] : parts) {
        is_excess_[item] =
            !has_copies_[item] && 2 * few.size() < most.size() &&
            std::includes(most.begin(), most.end(), few.begin(), few.end());
      }
    }
  }

  // In a block, but not in its module; or in its module, but neither in the
  // block nor for it.
  bool IsAstray(NodeId node) const {
    bool astray = false;
    const ModuleId module = tags_[node].module;
    ForEachCopy(node, [&](FoundId copy) {
      astray |= fitting_[copy] != kNo<ModuleId> &&
                !modules_.IsAncestor(fitting_[copy], module);
    });
    ForEachAround(module, [&](ModuleId at) {
      astray |= is_excess_[at];
      const auto copy = copies_.find(at);
      astray |= copy != copies_.end() && !IsIn(node, copy->second) &&
                !IsFor(node, copy->second, at);
    });
    return astray;
  }
  bool IsFor(NodeId node, FoundId copy, ModuleId module) const {
    return !ForEachReader(model_, node, [&](NodeId reader) {
      return !IsIn(reader, copy) &&
             (!tags_[reader].tagged() || is_stray_[reader] ||
              !modules_.IsAncestor(module, tags_[reader].module));
    });
  }

  const Model& model_;
  const ModuleTree& modules_;
  const IdVector<NodeId, Tag>& tags_;
  const Structure& found_;
  // Nodes in a module, and those that are not in its parts.
  IdVector<ModuleId, std::uint32_t> total_{modules_.size()};
  IdVector<ModuleId, std::uint32_t> own_{modules_.size()};
  IdVector<ModuleId, bool> has_copies_{modules_.size()};  // a node is in a copy
  IdVector<ModuleId, bool> is_excess_{modules_.size()};
  IdVector<FoundId, std::uint32_t> sizes_{found_.size()};  // of copies
  // Of each copy: how many of its nodes are in a module.
  IdVector<FoundId, std::map<ModuleId, std::uint32_t>> shares_{found_.size()};
  IdVector<FoundId, ModuleId> fitting_{found_.size(), kNo<ModuleId>};
  IdVector<FoundId, ModuleId> like_ = fitting_;  // the same, but for one node
  std::map<ModuleId, FoundId> copies_;
  std::map<FoundId, List> lists_;  // of copies
  IdVector<NodeId, bool> is_stray_{model_.node_count()};
  std::uint32_t compared_ = 0;  // nodes of copies
  std::uint32_t against_ = 0;
};

}  // namespace

IdVector<NodeId, bool> FindContradicted(const GraphFacts& graph,
                                        const Structure& blocks,
                                        const ModuleTree& modules,
                                        const IdVector<NodeId, Tag>& tags) {
  Referee referee(graph, blocks, modules, tags);
  if (referee.Refuses()) {
    return IdVector<NodeId, bool>(graph.model.node_count(), true);
  }
  return referee.TakeStrays();
}

}  // namespace onnx_tag
