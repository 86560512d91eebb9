// Finds the module of each scope.
//
// A TorchScript scope is the stack of calls, with the last attribute name of
// each module. So containers that are never called are missing. The parameters
// that nodes of the scope use have full paths. They vote for the module of the
// scope and of every enclosing scope. A scope without votes is placed below the
// module of its parent.
#include "mapping/evidence/align_scopes.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "clues/exporters/torchscript/torchscript.h"
#include "core/hierarchy/name_parts.h"
#include "mapping/evidence/evidence.h"

namespace onnx_tag {
namespace {

using Atoms = std::vector<std::string_view>;

class ScopeAligner {
 public:
  ScopeAligner(const Model& model, const ParameterFacts& parameters,
               KnownModules& known, ModuleTree& modules, ScopeFacts& facts)
      : model_(model),
        parameters_(parameters),
        facts_(facts),
        scopes_(facts.scopes),
        tree_(modules),
        settler_(known, modules),
        holds_shared_(facts.scopes.size(), false),
        holds_own_(facts.scopes.size(), false),
        votes_(facts.scopes.size()),
        ballots_(kBallots) {}

  void Run() {
    calls_indices_.resize(scopes_.size(), false);
    for (const ScopeId id : AllIds<ScopeId>(scopes_.size())) {
      if (scopes_.IsFolded(id)) {
        calls_indices_[scopes_[id].parent] = true;
      }
    }
    FindRepeatedCalls();
    twins_ = FindTwinScopes(model_, parameters_, facts_, tree_);
    CollectVotes();
    for (const ScopeId id : AllIds<ScopeId>(scopes_.size())) Place(id);
  }

 private:
  // The atoms that the last segment of a scope adds to the parent's module
  // path.
  struct Group {
    Atoms atoms;
    bool folded = false;  // `layer/layer.0`: the list itself was called
  };

  // Into `group`, whose memory is used again: there is one for each scope, and
  // for each scope around it.
  void ReadGroup(ScopeId id, Group& group) const {
    group.folded = scopes_.IsFolded(id);
    scopes_.ReadAtoms(id, group.atoms);
  }

  Group GroupOf(ScopeId id) const {
    Group group;
    ReadGroup(id, group);
    return group;
  }

  bool HasBaseLayer(ScopeId id) const {
    return scopes_.Find(std::string(scopes_[id].text) + "/base_layer") !=
           kNo<ScopeId>;
  }

  // The layer that an adapter of PEFT changes, if the scope is in it. The
  // magnitude vector of DoRA calls the matrices itself: `q/default/default_1`
  // is a part of `q`. kNo if it is no adapter.
  ScopeId AdaptedLayer(ScopeId id) const {
    const ScopeId parent = scopes_[id].parent;
    if (parent == kNo<ScopeId> || HasBaseLayer(parent)) return parent;
    const ScopeId layer = scopes_[parent].parent;
    const bool same_name =
        hierarchy::SplitReuseSuffix(scopes_.Segment(id)).base ==
        scopes_.Segment(parent);
    return same_name && layer != kNo<ScopeId> && HasBaseLayer(layer)
               ? layer
               : kNo<ScopeId>;
  }

  bool IsAdapter(ScopeId id) const { return AdaptedLayer(id) != kNo<ScopeId>; }

  // If `act` is also a scope and no module is called through `act_1`, then
  // `act_1` is the second call of `act`, unless a parameter shows that `act_1`
  // exists.
  void FindRepeatedCalls() {
    for (const ScopeId id : AllIds<ScopeId>(scopes_.size())) {
      Scope& scope = scopes_[id];
      const hierarchy::Reuse reuse = hierarchy::SplitReuseSuffix(scope.text);
      if (reuse.call == 0 || scope.has_children) continue;
      if (IsAdapter(id)) continue;
      const ScopeId first = scopes_.Find(reuse.base);
      if (first != kNo<ScopeId>) scope.first_call = first;
    }
  }

  struct Vote {
    ModuleId module = kNo<ModuleId>;
    std::uint32_t weight = 0;
  };
  // Most scopes have votes for one module: with 10^6 scopes a vector for each
  // would be most of the time here.
  struct Votes {
    Vote first;
    std::vector<Vote> others;
  };

  void CollectVotes() {
    for (const NodeId node : model_.Nodes()) {
      ScopeId scope = facts_.node_scope[node];
      if (scope == kNo<ScopeId>) scope = facts_.value_scope[node];
      if (scope == kNo<ScopeId> || parameters_.is_carrier[node]) continue;
      for (const ValueId input : model_.Inputs(node)) {
        const ParameterId id = parameters_.ParameterOf(input);
        if (id == kNo<ParameterId>) continue;
        const Parameter& parameter = parameters_.parameters[id];
        if (parameter.trusted) {
          Count(scope, parameter.module, parameter.rank >= 2 ? 4 : 1);
        }
      }
    }
    for (const Ballot& ballot : ballots_) Hand(ballot);
  }

  // The result of Cast() for a scope and a module, and its weight.
  struct Ballot {
    ScopeId scope = kNo<ScopeId>;
    ModuleId module = kNo<ModuleId>;
    ScopeId first_call = kNo<ScopeId>;  // of the scope, when it was filled in
    std::vector<std::pair<ScopeId, ModuleId>> found;
    std::uint32_t weight = 0;  // not yet added
  };

  // Most scopes use the parameters of one module, many times, by nodes that
  // stand together: the last ballots are kept. At 10^6 nodes filling them in
  // took a quarter of the time; keeping one for each of 10^6 scopes took 100
  // bytes each.
  static constexpr std::size_t kBallots = 1024;

  void Count(ScopeId scope, ModuleId module, std::uint32_t weight) {
    if (scope == ScopeId{0}) return;
    Ballot& ballot = ballots_[Index(scope) % kBallots];
    if (ballot.scope != scope || ballot.module != module ||
        ballot.first_call != scopes_[scope].first_call) {
      Hand(ballot);
      Cast(scope, module, ballot.found);
      // Added at once, because the first of equal votes wins.
      for (const auto& [id, target] : ballot.found) Add(id, target, 0);
      ballot.scope = scope;
      ballot.module = module;
      ballot.first_call = scopes_[scope].first_call;
      ballot.weight = 0;
    }
    ballot.weight += weight;
  }

  void Hand(const Ballot& ballot) {
    for (const auto& [id, target] : ballot.found) {
      Add(id, target, ballot.weight);
    }
  }

  void Add(ScopeId scope, ModuleId module, std::uint32_t weight) {
    constexpr std::size_t kMostOthers = 15;
    Votes& votes = votes_[scope];
    if (votes.first.module == kNo<ModuleId>) votes.first.module = module;
    if (votes.first.module == module) {
      votes.first.weight += weight;
      return;
    }
    for (Vote& vote : votes.others) {
      if (vote.module == module) {
        vote.weight += weight;
        return;
      }
    }
    if (votes.others.size() < kMostOthers) {
      votes.others.push_back({module, weight});
    }
  }

  // Compares the scope, segment by segment from its end, with the path of the
  // parameter's module. Returns a vote for each scope on the way.
  void Cast(ScopeId scope, ModuleId module,
            std::vector<std::pair<ScopeId, ModuleId>>& found) {
    found.clear();
    std::vector<ModuleId>& ids = ids_;
    Atoms& path = path_;
    Group& group = group_;
    ids.clear();
    path.clear();
    for (ModuleId at = module; at != ModuleId{0}; at = tree_.Parent(at)) {
      ids.push_back(at);
    }
    std::reverse(ids.begin(), ids.end());
    for (const ModuleId at : ids) path.push_back(tree_.Atom(at));
    const auto matches = [&](const Atoms& atoms, std::size_t end) {
      return atoms.size() <= end &&
             std::equal(atoms.begin(), atoms.end(),
                        path.begin() +
                            static_cast<std::ptrdiff_t>(end - atoms.size()));
    };
    ScopeId at = scope;
    ReadGroup(at, group);
    if (!matches(group.atoms, path.size())) {
      // Perhaps a second call.
      if (scopes_[scope].first_call == kNo<ScopeId>) return;
      at = scopes_[scope].first_call;
      ReadGroup(at, group);
      if (!matches(group.atoms, path.size())) return;
    } else if (scopes_[scope].first_call != kNo<ScopeId>) {
      // It is a real attribute, but it may also contain a second call of the
      // other module.
      scopes_[scope].perhaps_call_of = scopes_[scope].first_call;
      scopes_[scope].first_call = kNo<ScopeId>;
    }
    std::size_t end = path.size();
    bool adjacent = false;
    ScopeId elsewhere = kNo<ScopeId>;
    while (true) {
      found.emplace_back(at, ids[end - 1]);
      const std::size_t start = end - group.atoms.size();
      adjacent = group.folded || elsewhere != kNo<ScopeId>;
      at = scopes_[at].parent;
      if (at == ScopeId{0} || start == 0) break;
      ReadGroup(at, group);
      end = start;
      while (end > 0 && !matches(group.atoms, end)) {
        if (adjacent) break;
        --end;
      }
      if (end > 0 && matches(group.atoms, end)) continue;
      // Called through a Sequential that got a module which has a name of its
      // own beside it: `net/conv1` is `conv1`, and all else must fit.
      if (elsewhere != kNo<ScopeId> || found.size() > 1 || adjacent) break;
      elsewhere = at;
      at = scopes_[at].parent;
      end = start;
      if (at == ScopeId{0}) break;
      ReadGroup(at, group);
      if (!matches(group.atoms, end)) break;
    }
    if (elsewhere != kNo<ScopeId>) {
      if (at != ScopeId{0} || !PathUsedUp(found, ids)) {
        found.clear();
        return;
      }
      holds_shared_[elsewhere] = true;
      found.resize(1);
      return;
    }
    if (found.size() > 1) holds_own_[found[1].first] = true;
    // The path must contain the whole scope, or the scope the whole path. A
    // module that was registered elsewhere has its first name in the scope.
    if (at != ScopeId{0} && !PathUsedUp(found, ids)) found.clear();
  }

  static bool PathUsedUp(const std::vector<std::pair<ScopeId, ModuleId>>& found,
                         const std::vector<ModuleId>& ids) {
    // The outermost match reaches the first atom.
    return found.back().second == ids.front();
  }

  void Place(ScopeId id) {
    Scope& scope = scopes_[id];
    if (id == ScopeId{0}) {
      scope.module = ModuleId{0};
      scope.proven = true;
      return;
    }
    if (twins_[id].module != kNo<ModuleId>) {
      scope.module = twins_[id].module;
      scope.proven = twins_[id].proven;
      scope.by_order = twins_[id].by_order;
      scope.first_call = kNo<ScopeId>;
      return;
    }
    if (scope.first_call != kNo<ScopeId> &&
        settler_.Exists(scopes_[scope.parent].module, GroupOf(id).atoms)) {
      // The hierarchy has an `act_1`, but it may also contain a second call of
      // `act`.
      scope.perhaps_call_of = scope.first_call;
      scope.first_call = kNo<ScopeId>;
    }
    if (scope.first_call != kNo<ScopeId>) {
      const Scope& first = scopes_[scope.first_call];
      // The first call may be later in the table; it has the same parent.
      scope.module = first.module;
      scope.proven = first.proven;
      if (scope.first_call > id) PlaceByName(scope.first_call);
      scope.module = scopes_[scope.first_call].module;
      return;
    }
    PlaceByName(id);
  }

  void PlaceByName(ScopeId id) {
    Scope& scope = scopes_[id];
    const ModuleId outer = scopes_[scope.parent].module;
    const Vote* best = &votes_[id].first;
    for (const Vote& vote : votes_[id].others) {
      if (vote.weight > best->weight ||
          (vote.weight == best->weight &&
           tree_.IsAncestor(outer, vote.module) &&
           !tree_.IsAncestor(outer, best->module))) {
        best = &vote;
      }
    }
    if (best->module != kNo<ModuleId>) {
      scope.module = best->module;
      scope.proven = true;
      return;
    }
    const Group group = GroupOf(id);
    if (const Settled found = settler_.Settle(outer, group.atoms);
        found.module != kNo<ModuleId>) {
      scope.module = found.module;
      scope.proven = found.named && scope.perhaps_call_of == kNo<ScopeId>;
      scope.settled = !found.named;
      return;
    }
    if (PlaceAdapter(id) || PlaceShared(id)) return;
    // What is called through a Sequential of modules with names beside it.
    scope.module = holds_shared_[scope.parent] && !holds_own_[scope.parent] &&
                           !group.folded
                       ? scopes_[scopes_[scope.parent].parent].module
                       : outer;
    if (group.folded) {
      // Decides between a list with the same name inside `a` and a call of `a`.
      const std::string_view segment = scopes_.Segment(id);
      const std::size_t dot = segment.rfind('.');
      const ModuleId same = tree_.FindChild(outer, segment.substr(0, dot));
      if (same != kNo<ModuleId> &&
          tree_.FindChild(same, group.atoms[0]) != kNo<ModuleId> &&
          tree_.FindChild(outer, group.atoms[0]) == kNo<ModuleId>) {
        scope.module = same;
      }
    }
    // An index that repeats the name of its list stands right below it.
    const ModuleId held =
        group.folded ? kNo<ModuleId> : FindHeld(id, scope.module, group.atoms);
    if (held != kNo<ModuleId>) {
      scope.module = held;
      return;
    }
    for (const std::string_view atom : group.atoms) {
      scope.module = tree_.Child(scope.module, atom);
    }
  }

  // The one module of that name that something which is never called holds:
  // `code` of `moe` is `moe.experts.code`, where the parameters know no other.
  ModuleId FindHeld(ScopeId scope, ModuleId outer, const Atoms& atoms) const {
    constexpr int kMostHolders = 64;
    const auto find = [&](ModuleId at) {
      for (const std::string_view atom : atoms) {
        if (at != kNo<ModuleId>) at = tree_.FindChild(at, atom);
      }
      return at;
    };
    if (find(outer) != kNo<ModuleId>) return kNo<ModuleId>;
    ModuleId found = kNo<ModuleId>;
    int looked_at = 0;
    for (const ModuleId holder : tree_.Children(outer)) {
      if (++looked_at > kMostHolders) return kNo<ModuleId>;
      const ModuleId held = find(holder);
      if (held == kNo<ModuleId> || !HasParameterBelow(held)) continue;
      if (found != kNo<ModuleId> || IsScope(scopes_[scope].parent, holder)) {
        return kNo<ModuleId>;
      }
      found = held;
    }
    return found;
  }

  bool HasParameterBelow(ModuleId module) const {
    if (parameters_.HasParameterAt(module)) return true;
    for (const ModuleId child : tree_.Children(module)) {
      if (HasParameterBelow(child)) return true;
    }
    return false;
  }

  // Whether the exporter printed a call of `holder`.
  bool IsScope(ScopeId around, ModuleId holder) const {
    std::string text(scopes_[around].text);
    if (around != ScopeId{0}) text.push_back('/');
    return scopes_.Find(text.append(tree_.Atom(holder))) != kNo<ScopeId>;
  }

  // PEFT stores the matrices of an adapter in ModuleDicts. The scope of
  // lora_A.default is `default`; the scope of lora_B.default is `default_1`.
  bool PlaceAdapter(ScopeId id) {
    Scope& scope = scopes_[id];
    const ScopeId layer = AdaptedLayer(id);
    if (layer == kNo<ScopeId> || scopes_.Segment(id) == "base_layer") {
      return false;
    }
    const hierarchy::Reuse reuse = hierarchy::SplitReuseSuffix(scope.text);
    const bool again =
        reuse.call != 0 && scopes_.Find(reuse.base) != kNo<ScopeId>;
    const bool first =
        scopes_.Find(std::string(scope.text) + "_1") != kNo<ScopeId>;
    if (!first && !again) return false;
    // A and B are called in turn.
    const bool is_b = again && reuse.call % 2 == 1;
    const std::string_view text = again ? reuse.base : scope.text;
    scope.module =
        tree_.Child(scopes_[layer].module, is_b ? "lora_B" : "lora_A");
    scope.module = tree_.Child(scope.module, text.substr(text.rfind('/') + 1));
    return true;
  }

  // The children of a called Sequential are indices. If one has a name, it was
  // registered elsewhere first, and the scope has that name.
  bool PlaceShared(ScopeId id) {
    Scope& scope = scopes_[id];
    if (!calls_indices_[scope.parent] || scopes_.IsFolded(id)) return false;
    const hierarchy::Reuse reuse =
        hierarchy::SplitReuseSuffix(scopes_.Segment(id));
    for (ScopeId at = scope.parent; at != ScopeId{0};) {
      at = scopes_[at].parent;
      for (const std::string_view segment : {scopes_.Segment(id), reuse.base}) {
        const std::string text =
            at == ScopeId{0}
                ? std::string(segment)
                : std::string(scopes_[at].text) + "/" + std::string(segment);
        const ScopeId first = scopes_.Find(text);
        if (first == kNo<ScopeId> || first == id) continue;
        scope.module = scopes_[first].module;
        if (first > id) {
          scope.module = tree_.Child(scopes_[at].module, segment);
        }
        return true;
      }
    }
    return false;
  }

  const Model& model_;
  const ParameterFacts& parameters_;
  const ScopeFacts& facts_;
  ScopeTable& scopes_;
  ModuleTree& tree_;
  ScopeSettler settler_;
  // Of Cast(), used again.
  std::vector<ModuleId> ids_;
  Atoms path_;
  Group group_;
  IdVector<ScopeId, bool> calls_indices_;  // `head` of `head/head.0`
  IdVector<ScopeId, bool> holds_shared_;   // `net` of `net/conv1`
  IdVector<ScopeId, bool> holds_own_;      // or of `net/net.0`
  IdVector<ScopeId, TwinScope> twins_;
  IdVector<ScopeId, Votes> votes_;
  std::vector<Ballot>
      ballots_;  // by scope, of those that share a place the last
};

// The module `block_1` and the second call of `block` have the same scope.
// Nodes that are connected with a parameter of block_1 belong to block_1; the
// other nodes belong to the call.
void SplitMergedScopes(const Model& model, const ParameterFacts& parameters,
                       ScopeFacts& facts) {
  std::vector<NodeId> members;
  for (const NodeId node : model.Nodes()) {
    const ScopeId scope = facts.node_scope[node];
    if (scope != kNo<ScopeId> &&
        facts.scopes[scope].perhaps_call_of != kNo<ScopeId>) {
      members.push_back(node);
    }
  }
  // Labels spread along edges inside a scope. Such scopes are small and rare.
  IdVector<NodeId, bool> own(members.empty() ? 0 : model.node_count(), false);
  for (bool changed = true; changed;) {
    changed = false;
    for (const NodeId node : members) {
      if (own[node]) continue;
      const ScopeId scope = facts.node_scope[node];
      bool mine = false;
      for (const ValueId input : model.Inputs(node)) {
        if (input == kNo<ValueId>) continue;
        const NodeId producer = model.Producer(input);
        mine |= parameters.ParameterOf(input) != kNo<ParameterId> ||
                model.InitializerOf(input) != nullptr ||
                (producer != kNo<NodeId> && own[producer] &&
                 facts.node_scope[producer] == scope);
      }
      for (const ValueId output : model.Outputs(node)) {
        if (output == kNo<ValueId>) continue;
        for (const NodeId consumer : model.Consumers(output)) {
          mine |= own[consumer] && facts.node_scope[consumer] == scope;
        }
      }
      own[node] = mine;
      changed |= mine;
    }
  }
  for (const NodeId node : members) {
    if (!own[node]) {
      facts.node_scope[node] =
          facts.scopes[facts.node_scope[node]].perhaps_call_of;
    }
  }
}

}  // namespace

ScopeFacts AlignScopes(const Model& model, const ParameterFacts& parameters,
                       ScopeFacts facts, KnownModules& known,
                       ModuleTree& modules) {
  ScopeAligner(model, parameters, known, modules, facts).Run();
  SplitMergedScopes(model, parameters, facts);
  return facts;
}

}  // namespace onnx_tag
