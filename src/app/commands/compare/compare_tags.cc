#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "app/commands/compare/compare.h"
#include "app/commands/compare/compare_weights.h"
#include "app/commands/read/modules.h"
#include "base/text.h"
#include "onnx_tag/transfer.h"

namespace onnx_tag {
namespace {

// The modules of both versions, by path; the first stands for untagged nodes.
class Comparison {
 public:
  Comparison(const TaggedModel& a, const TaggedModel& b, bool weights)
      : a_(a), b_(b) {
    if (weights) weights_.emplace(*a.file(), *b.file());
    rows_.emplace_back().untagged = true;
    AddModules(a.tagging(), rows_a_, true);
    AddModules(b.tagging(), rows_b_, false);
  }

  TagDifference Compare() {
    IdVector<NodeId, NodeId> counterparts = Counterparts();
    PairFound(counterparts);
    IdVector<NodeId, bool> paired(a_.model().node_count(), false);
    for (const NodeId node : b_.model().Nodes()) {
      const NodeId counterpart = counterparts[node];
      ++RowB(node).nodes_b;
      if (counterpart == kNo<NodeId>) {
        ++RowB(node).added[std::string(b_.model().OpType(node))];
      } else {
        paired[counterpart] = true;
        ComparePair(counterpart, node);
      }
    }
    for (const NodeId node : a_.model().Nodes()) {
      ++RowA(node).nodes_a;
      if (!paired[node])
        ++RowA(node).removed[std::string(a_.model().OpType(node))];
    }
    for (ModuleDifference& row : rows_) Finish(row);
    // Sidecars have no opsets, attributes and types.
    if (a_.file() != nullptr && b_.file() != nullptr) {
      result_.opsets = CompareOpsets(a_.model(), b_.model());
      result_.interface = CompareInterfaces(a_.model(), b_.model());
    }
    if (weights_) {
      result_.equal_weights = weights_->equal();
      result_.changed_weights = weights_->changed();
      result_.unread_weights = weights_->unread();
    }
    return std::move(result_);
  }

 private:
  void AddModules(const Tagging& tagging, std::vector<std::size_t>& index,
                  bool is_a) {
    const ModuleTree& tree = tagging.modules;
    const ModuleCounts counts(tagging);
    index.assign(tree.size(), 0);
    for (const ModuleId id : tree.All()) {
      if (counts.Total(id) == 0) continue;
      const auto [at, added] =
          by_path_.try_emplace(tree.Path(id), rows_.size());
      if (added) rows_.emplace_back().path = at->first;
      index[Index(id)] = at->second;
      ModuleDifference& row = rows_[at->second];
      (is_a ? row.in_a : row.in_b) = true;
      (is_a ? row.class_a : row.class_b) = ClassOf(tagging, id);
      ++(is_a ? result_.modules_a : result_.modules_b);
    }
  }

  IdVector<NodeId, NodeId> Counterparts() const {
    // The same graph has the same nodes, whatever they are called.
    if (a_.about().fingerprint == b_.about().fingerprint &&
        a_.model().node_count() == b_.model().node_count()) {
      IdVector<NodeId, NodeId> same;
      for (const NodeId node : b_.model().Nodes()) same.Add(node);
      return same;
    }
    return FindCounterparts(a_.model(), b_.model());
  }

  // Equal blocks without names may be paired with any of their kind. A block
  // that was found in both is paired by its position, so with the module of the
  // same path; the operators in it are paired in their order.
  void PairFound(IdVector<NodeId, NodeId>& counterparts) {
    IdVector<NodeId, bool> paired(a_.model().node_count(), false);
    for (const NodeId node : b_.model().Nodes()) {
      NodeId& counterpart = counterparts[node];
      if (counterpart == kNo<NodeId>) continue;
      if (IsFound(a_, counterpart) && IsFound(b_, node) &&
          &RowA(counterpart) != &RowB(node) &&
          (RowA(counterpart).in_b || RowB(node).in_a)) {
        counterpart = kNo<NodeId>;
      } else {
        paired[counterpart] = true;
      }
    }
    // By module and operator: the nodes of A without a counterpart, last first.
    std::map<std::pair<const ModuleDifference*, std::string_view>,
             std::vector<NodeId>>
        open;
    for (std::size_t i = a_.model().node_count(); i-- > 0;) {
      const auto node = MakeId<NodeId>(i);
      if (paired[node] || !IsFound(a_, node) || !RowA(node).in_b) continue;
      open[{&RowA(node), a_.model().OpType(node)}].push_back(node);
    }
    for (const NodeId node : b_.model().Nodes()) {
      if (counterparts[node] != kNo<NodeId> || !IsFound(b_, node)) continue;
      const auto at = open.find({&RowB(node), b_.model().OpType(node)});
      if (at == open.end() || at->second.empty()) continue;
      counterparts[node] = at->second.back();
      at->second.pop_back();
    }
  }

  static bool IsFound(const TaggedModel& model, NodeId node) {
    return model.tagging().tags[node].source == Source::kStructure;
  }

  void ComparePair(NodeId a, NodeId b) {
    ModuleDifference& from = RowA(a);
    ModuleDifference& to = RowB(b);
    if (&from != &to) {
      ++from.moved_out;
      ++to.moved_in;
      result_.moved.push_back({a, b});
      return;
    }
    const std::string_view op_a = a_.model().OpType(a);
    const std::string_view op_b = b_.model().OpType(b);
    if (op_a != op_b) {
      ++to.changed[{std::string(op_a), std::string(op_b)}];
      return;
    }
    if (a_.file() != nullptr && b_.file() != nullptr) {
      for (const std::string& difference :
           CompareNodes(a_.model(), a, b_.model(), b)) {
        ++to.altered[Message("{} {}", op_b, difference)];
      }
      if (weights_ && weights_->Differ(a, b)) {
        ++to.altered[Message("{} weight values", op_b)];
      }
    }
    if (!to.untagged && RoleA(a) != RoleB(b)) {
      ++to.roles;
    }
  }

  // Attention kinds are in sidecars and not in tagged models.
  static Role Comparable(Role role) {
    role.attention_kind = AttentionKind::kNone;
    role.confidence = Confidence::kLow;
    return role;
  }
  Role RoleA(NodeId node) const {
    return Comparable(a_.tagging().roles[a_.tagging().tags[node].role]);
  }
  Role RoleB(NodeId node) const {
    return Comparable(b_.tagging().roles[b_.tagging().tags[node].role]);
  }
  ModuleDifference& RowA(NodeId node) {
    const Tag& tag = a_.tagging().tags[node];
    return rows_[tag.tagged() ? rows_a_[Index(tag.module)] : 0];
  }
  ModuleDifference& RowB(NodeId node) {
    const Tag& tag = b_.tagging().tags[node];
    return rows_[tag.tagged() ? rows_b_[Index(tag.module)] : 0];
  }

  // An operator that left a module and one of its kind that came are the same
  // one, whose counterpart could not be told; across exporters most are such.
  void Finish(ModuleDifference& row) {
    for (auto& [op, count] : row.added) {
      const auto at = row.removed.find(op);
      if (at == row.removed.end()) continue;
      const std::uint64_t same = std::min(count, at->second);
      count -= same;
      at->second -= same;
    }
    const auto is_none = [](const auto& entry) { return entry.second == 0; };
    std::erase_if(row.added, is_none);
    std::erase_if(row.removed, is_none);
    for (const auto& [op, count] : row.added) result_.added += count;
    for (const auto& [op, count] : row.removed) result_.removed += count;
    for (const auto& [ops, count] : row.changed) result_.changed += count;
    for (const auto& [what, count] : row.altered) result_.altered += count;
    result_.roles += row.roles;
    if (row.differs()) result_.modules.push_back(std::move(row));
  }

  const TaggedModel& a_;
  const TaggedModel& b_;
  std::optional<WeightComparison> weights_;
  std::vector<ModuleDifference> rows_;
  std::unordered_map<std::string, std::size_t> by_path_;
  std::vector<std::size_t> rows_a_;  // by module
  std::vector<std::size_t> rows_b_;
  TagDifference result_;
};

}  // namespace

bool ModuleDifference::differs() const {
  return !added.empty() || !removed.empty() || !changed.empty() ||
         !altered.empty() || moved_in > 0 || moved_out > 0 || roles > 0 ||
         other_class() || (!untagged && in_a != in_b);
}

TagDifference CompareTags(const TaggedModel& a, const TaggedModel& b,
                          bool weights) {
  return Comparison(a, b, weights).Compare();
}

}  // namespace onnx_tag
