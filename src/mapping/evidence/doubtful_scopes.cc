#include "mapping/evidence/doubtful_scopes.h"

#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/graph/neighbours.h"

namespace onnx_tag {
namespace {

// What moves data or converts it; the numbers stay.
constexpr OpKinds kMoves = {
    OpKind::kReshape, OpKind::kTranspose, OpKind::kIdentity,   OpKind::kDropout,
    OpKind::kCast,    OpKind::kQuantizer, OpKind::kDequantizer};

// What computes with a weight, or makes one of its integers.
constexpr OpKinds kWeighs = {OpKind::kProduct,   OpKind::kConvolution,
                             OpKind::kInteger,   OpKind::kRecurrent,
                             OpKind::kAttention, OpKind::kNorm,
                             OpKind::kLookup,    OpKind::kDequantizer};

// A name without its numbers: `conv` of `conv0_1`.
std::string_view Stem(std::string_view segment) {
  return segment.substr(0, segment.find_first_of("0123456789"));
}

class DoubtFinder {
 public:
  DoubtFinder(const GraphFacts& graph, ScopeFacts& facts, ModuleTree& modules)
      : graph_(graph),
        facts_(facts),
        scopes_(facts.scopes),
        tree_(modules),
        lacks_holder_(scopes_.size(), false),
        has_namesake_(scopes_.size(), false) {}

  void Run() {
    LookAround();
    const IdVector<ScopeId, bool> serves_all = FindServants();
    IdVector<ScopeId, bool> moved(scopes_.size(), false);
    for (const ScopeId id : AllIds<ScopeId>(scopes_.size())) {
      Scope& scope = scopes_[id];
      if (id == ScopeId{0} || scope.proven || scope.settled || scope.by_order ||
          scopes_.IsFolded(id)) {
        continue;
      }
      const Scope& outer = scopes_[scope.parent];
      const bool none_confirmed = scope.parent == ScopeId{0} && !some_proven_ &&
                                  !graph_.model.initializers().empty();
      scope.doubtful =
          outer.doubtful || none_confirmed || lacks_holder_[scope.parent];
      scope.shareable =
          outer.shareable || (has_namesake_[id] && serves_all[id]);
      ModuleId holder = HolderOf(id);
      if (holder == kNo<ModuleId> && moved[scope.parent]) {
        holder = outer.module;
      }
      if (holder == kNo<ModuleId>) continue;
      scopes_.ReadAtoms(id, atoms_);
      scope.module = tree_.AddDown(holder, atoms_);
      moved[id] = true;
    }
  }

 private:
  // Confirmed modules of one stem that one scope calls.
  struct Beside {
    bool direct = false;              // some stand right below the caller
    ModuleId holder = kNo<ModuleId>;  // of the others
    bool in_several = false;          // holders
  };

  // Finds which names occur twice, and where confirmed modules stand.
  void LookAround() {
    std::vector<ScopeId> direct;
    std::unordered_map<std::string_view, ScopeId> by_segment;  // the first
    for (const ScopeId id : AllIds<ScopeId>(scopes_.size())) {
      if (id == ScopeId{0}) continue;
      const Scope& scope = scopes_[id];
      // What is called again may be called from anywhere.
      if (scope.first_call != kNo<ScopeId>) {
        has_namesake_[id] = has_namesake_[scope.first_call] = true;
        continue;
      }
      const ScopeId first =
          by_segment.try_emplace(scopes_.Segment(id), id).first->second;
      if (scopes_[first].parent != scope.parent) {
        has_namesake_[first] = has_namesake_[id] = true;
      }
      if (!scope.proven) continue;
      some_proven_ = true;
      scopes_.ReadAtoms(id, atoms_);
      const ModuleId holder = tree_.Without(scope.module, atoms_);
      if (holder == kNo<ModuleId> || holder == scopes_[scope.parent].module) {
        direct.push_back(id);
        continue;
      }
      lacks_holder_[scope.parent] = true;
      Beside& found = beside_[{scope.parent, Stem(scopes_.Segment(id))}];
      found.in_several = found.in_several || (found.holder != kNo<ModuleId> &&
                                              found.holder != holder);
      found.holder = holder;
    }
    // In most files no container stands between.
    if (beside_.empty()) return;
    for (const ScopeId id : direct) {
      const auto at =
          beside_.find({scopes_[id].parent, Stem(scopes_.Segment(id))});
      if (at != beside_.end()) at->second.direct = true;
    }
  }

  // The container that all modules of its stem stand in, or kNo.
  ModuleId HolderOf(ScopeId id) const {
    if (beside_.empty() || scopes_[id].first_call != kNo<ScopeId>) {
      return kNo<ModuleId>;
    }
    const auto at =
        beside_.find({scopes_[id].parent, Stem(scopes_.Segment(id))});
    return at == beside_.end() || at->second.direct || at->second.in_several
               ? kNo<ModuleId>
               : at->second.holder;
  }

  // By scope: whether one module may serve all that call one of its name. Not
  // if it holds a weight that nobody else reads, and not if it is a single
  // operation, such as an activation or a pool: each parent mostly has its own.
  IdVector<ScopeId, bool> FindServants() const {
    // Only of scopes that somebody will ask about, and of those inside them.
    IdVector<ScopeId, bool> asked(scopes_.size(), false);
    // The id of a parent is smaller than the ids of its children.
    for (const ScopeId id : AllIds<ScopeId>(scopes_.size())) {
      asked[id] =
          id != ScopeId{0} && (asked[scopes_[id].parent] ||
                               (has_namesake_[id] && !scopes_[id].proven));
    }
    IdVector<ScopeId, std::uint32_t> operations(scopes_.size(), 0);
    IdVector<ScopeId, bool> holds_weight(scopes_.size(), false);
    for (const NodeId node : graph_.model.Nodes()) {
      const ScopeId scope = facts_.ScopeOf(node);
      if (scope == kNo<ScopeId> || !asked[scope]) continue;
      if (IsOperation(node)) ++operations[scope];
      holds_weight[scope] = holds_weight[scope] || HoldsWeight(node);
    }
    IdVector<ScopeId, bool> servants(scopes_.size(), false);
    for (std::size_t i = scopes_.size(); i-- > 1;) {
      const ScopeId id = MakeId<ScopeId>(i);
      servants[id] = operations[id] > 1 && !holds_weight[id];
      if (holds_weight[id]) holds_weight[scopes_[id].parent] = true;
    }
    return servants;
  }

  bool IsOperation(NodeId node) const {
    const Composites::Composite* const composite = graph_.composites().Of(node);
    if (composite != nullptr) return composite->main == node;
    return !graph_.ops.Is(node, kMoves) &&
           graph_.data.Contains(FirstOutput(graph_.model, node));
  }

  // A constant that is only added or multiplied may be folded from anything.
  bool HoldsWeight(NodeId node) const {
    if (!graph_.ops.Is(node, kWeighs)) return false;
    for (const ValueId input : graph_.model.Inputs(node)) {
      if (input == kNo<ValueId>) continue;
      const Initializer* const tensor = graph_.model.InitializerOf(input);
      if (tensor != nullptr && tensor->rank > 0 &&
          graph_.model.Consumers(input).size() == 1) {
        return true;
      }
    }
    return false;
  }

  const GraphFacts& graph_;
  const ScopeFacts& facts_;
  ScopeTable& scopes_;
  ModuleTree& tree_;
  IdVector<ScopeId, bool> lacks_holder_;  // calls into containers
  IdVector<ScopeId, bool> has_namesake_;
  bool some_proven_ = false;
  // By caller and stem, where some stand in a container.
  std::map<std::pair<ScopeId, std::string_view>, Beside> beside_;
  ModuleTree::Atoms atoms_;
};

}  // namespace

void FindDoubtful(const GraphFacts& graph, ScopeFacts& facts,
                  ModuleTree& modules) {
  DoubtFinder(graph, facts, modules).Run();
}

}  // namespace onnx_tag
