// Finds the module of each scope.
//
// A TorchScript scope is the stack of calls, with the last attribute name of
// each module. So containers that are never called are missing. The parameters
// that nodes of the scope use have full paths. They vote for the module of the
// scope and of every enclosing scope. A scope without votes is placed below the
// module of its parent.
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "clues/exporters/dialect_names.h"
#include "core/graph/walk.h"
#include "core/hierarchy/name_parts.h"
#include "mapping/evidence/doubtful_scopes.h"
#include "mapping/evidence/twin_scopes.h"

namespace onnx_tag {
namespace {

using Atoms = ModuleTree::Atoms;

// Finds the module of a scope without votes in the user's hierarchy.
class HierarchyLookup {
 public:
  // Finds nothing if there is no complete hierarchy.
  HierarchyLookup(KnownModules& known, ModuleTree& modules)
      : known_(known), modules_(modules) {
    if (known.map == nullptr || !known.map->complete) return;
    map_ = &known.map->tree;
    for (const ModuleId id : AllIds<ModuleId>(map_->size())) {
      if (id == ModuleTree::kRoot) continue;
      Namesakes& namesakes = by_atom_[map_->Atom(id)];
      if (namesakes.count++ == 0) namesakes.first = id;
    }
  }

  // Whether the hierarchy has `atoms` right below `outer`.
  bool Has(ModuleId outer, const Atoms& atoms) const {
    return map_ != nullptr &&
           map_->Down(known_.InMap(outer), atoms) != kNo<ModuleId>;
  }

  struct Found {
    ModuleId module = kNo<ModuleId>;  // kNo: not found
    bool named = false;               // its path is the scope itself
  };
  // The module of a call of `atoms` inside `outer`. It is the child of that
  // name. Else it is the only module of that name nearest below, because
  // containers that are not called leave no trace in a scope. Else it is the
  // only module of that name in the model, because a module may be called from
  // another place than where it was registered.
  Found Find(ModuleId outer, const Atoms& atoms) {
    if (map_ == nullptr) return {};
    const ModuleId in_map = known_.InMap(outer);
    if (in_map == kNo<ModuleId>) return {};
    ModuleId found = map_->Down(in_map, atoms);
    const bool named = found != kNo<ModuleId>;
    if (found == kNo<ModuleId>) found = OnlyBelow(in_map, atoms);
    if (found == kNo<ModuleId>) found = OnlyAnywhere(atoms);
    if (found == kNo<ModuleId>) return {};
    return {known_.Add(found, modules_), named};
  }

 private:
  ModuleId OnlyBelow(ModuleId in_map, const Atoms& atoms) const {
    // The search is limited to the modules around the scope.
    constexpr std::size_t kMaxVisits = 1024;
    std::vector<ModuleId> level = {in_map};
    std::size_t visits = 0;
    while (!level.empty()) {
      std::vector<ModuleId> below;
      ModuleId found = kNo<ModuleId>;
      for (const ModuleId at : level) {
        for (const ModuleId child : map_->Children(at)) {
          if (++visits > kMaxVisits) return kNo<ModuleId>;
          below.push_back(child);
          const ModuleId target = map_->Down(child, atoms);
          if (target == kNo<ModuleId>) continue;
          if (found != kNo<ModuleId>) return kNo<ModuleId>;
          found = target;
        }
      }
      if (found != kNo<ModuleId>) return found;
      level = std::move(below);
    }
    return kNo<ModuleId>;
  }

  ModuleId OnlyAnywhere(const Atoms& atoms) const {
    // An index alone does not identify a module.
    if (atoms.empty() || hierarchy::IsNumeric(atoms.back())) {
      return kNo<ModuleId>;
    }
    const auto at = by_atom_.find(atoms.back());
    if (at == by_atom_.end() || at->second.count != 1 ||
        map_->Without(at->second.first, atoms) == kNo<ModuleId>) {
      return kNo<ModuleId>;
    }
    return at->second.first;
  }

  KnownModules& known_;
  ModuleTree& modules_;
  const ModuleTree* map_ = nullptr;
  // By last atom: the number of modules of the map, and the first one.
  struct Namesakes {
    std::size_t count = 0;
    ModuleId first = kNo<ModuleId>;
  };
  std::unordered_map<std::string_view, Namesakes> by_atom_;
};

class ScopeAligner {
 public:
  ScopeAligner(const GraphFacts& graph, const ParameterFacts& parameters,
               KnownModules& known, ModuleTree& modules, ScopeFacts& facts)
      : graph_(graph),
        parameters_(parameters),
        facts_(facts),
        scopes_(facts.scopes),
        tree_(modules),
        lookup_(known, modules),
        holds_shared_(facts.scopes.size(), false),
        holds_own_(facts.scopes.size(), false),
        votes_(facts.scopes.size()),
        holds_parameter_(modules.size(), false) {}

  void Run() {
    calls_indices_.resize(scopes_.size(), false);
    for (const ScopeId id : AllIds<ScopeId>(scopes_.size())) {
      if (scopes_.IsFolded(id)) {
        calls_indices_[scopes_[id].parent] = true;
      }
    }
    FindRepeatedCalls();
    twins_ = FindTwinScopes(graph_, parameters_, facts_, tree_);
    // Children have larger ids than their parents.
    for (std::size_t i = holds_parameter_.size(); i-- > 0;) {
      const ModuleId id = MakeId<ModuleId>(i);
      if (parameters_.HasParameterAt(id)) holds_parameter_[id] = true;
      if (holds_parameter_[id] && id != ModuleTree::kRoot) {
        holds_parameter_[tree_.Parent(id)] = true;
      }
    }
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
    // Scopes of PEFT have the names of adapters, not of their attributes.
    for (const std::string_view attribute :
         {"base_layer", "lora_A", "lora_B"}) {
      if (hierarchy::SplitReuseSuffix(scopes_.Segment(id)).base == attribute) {
        return kNo<ScopeId>;
      }
    }
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
    // Nodes that stand together mostly use parameters of one module: one Cast()
    // for all of them.
    ScopeId last_scope = kNo<ScopeId>;
    ModuleId last_module = kNo<ModuleId>;
    std::uint32_t weight = 0;
    std::vector<std::pair<ScopeId, ModuleId>> found;
    const auto count = [&] {
      if (weight == 0) return;
      Cast(last_scope, last_module, found);
      for (const auto& [id, target] : found) Add(id, target, weight);
      weight = 0;
    };
    for (const NodeId node : graph_.model.Nodes()) {
      const ScopeId scope = facts_.ScopeOf(node);
      if (scope == kNo<ScopeId> || scope == ScopeId{0} ||
          parameters_.is_carrier[node]) {
        continue;
      }
      for (const Parameter& parameter :
           parameters_.Among(graph_.model.Inputs(node))) {
        if (!parameter.trusted) continue;
        if (scope != last_scope || parameter.module != last_module) {
          count();
          last_scope = scope;
          last_module = parameter.module;
        }
        weight += parameter.rank >= 2 ? 4 : 1;
      }
    }
    count();
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
    if (module == ModuleTree::kRoot) return;
    Group& group = group_;
    // The part of the path that the segment of `at` explains: from `start`,
    // which is around it, to `end`.
    ScopeId at = scope;
    ModuleId end = module;
    ReadGroup(at, group);
    ModuleId start = tree_.Without(end, group.atoms);
    if (start == kNo<ModuleId>) {
      // Perhaps a second call.
      at = scopes_[scope].first_call;
      if (at == kNo<ScopeId>) return;
      ReadGroup(at, group);
      start = tree_.Without(end, group.atoms);
      if (start == kNo<ModuleId>) return;
    } else if (scopes_[scope].first_call != kNo<ScopeId>) {
      // It is a real attribute, but it may also contain a second call of the
      // other module.
      scopes_[scope].perhaps_call_of = scopes_[scope].first_call;
      scopes_[scope].first_call = kNo<ScopeId>;
    }
    ScopeId elsewhere = kNo<ScopeId>;
    while (true) {
      found.emplace_back(at, end);
      const bool adjacent = group.folded || elsewhere != kNo<ScopeId>;
      const ModuleId around = start;
      at = scopes_[at].parent;
      if (at == ScopeId{0} || around == ModuleTree::kRoot) break;
      ReadGroup(at, group);
      end = around;
      start = tree_.Without(end, group.atoms);
      while (!adjacent && start == kNo<ModuleId> && end != ModuleTree::kRoot) {
        end = tree_.Parent(end);
        start = tree_.Without(end, group.atoms);
      }
      if (start != kNo<ModuleId> && end != ModuleTree::kRoot) continue;
      // Called through a Sequential that got a module which has a name of its
      // own beside it: `net/conv1` is `conv1`, and all else must fit.
      if (found.size() > 1 || adjacent) break;
      elsewhere = at;
      at = scopes_[at].parent;
      end = around;
      if (at == ScopeId{0}) break;
      ReadGroup(at, group);
      start = tree_.Without(end, group.atoms);
      if (start == kNo<ModuleId>) break;
    }
    // The outermost match reaches the first atom.
    const bool whole_path = tree_.Depth(found.back().second) == 1;
    if (elsewhere != kNo<ScopeId>) {
      if (at != ScopeId{0} || !whole_path) {
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
    if (at != ScopeId{0} && !whole_path) found.clear();
  }

  void Place(ScopeId id) {
    Scope& scope = scopes_[id];
    if (id == ScopeId{0}) {
      scope.module = ModuleTree::kRoot;
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
        lookup_.Has(scopes_[scope.parent].module, GroupOf(id).atoms)) {
      // The hierarchy has an `act_1`, but it may also contain a second call of
      // `act`.
      scope.perhaps_call_of = scope.first_call;
      scope.first_call = kNo<ScopeId>;
    }
    if (scope.first_call != kNo<ScopeId>) {
      const Scope& first = scopes_[scope.first_call];
      scope.proven = first.proven;
      // The first call may be later in the table; it has the same parent.
      if (scope.first_call > id) PlaceByName(scope.first_call);
      scope.module = first.module;
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
    if (const auto found = lookup_.Find(outer, group.atoms);
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
    // An index that repeats the name of its list stands right below it.
    const ModuleId held =
        group.folded ? kNo<ModuleId> : FindHeld(id, scope.module, group.atoms);
    if (held != kNo<ModuleId>) {
      scope.module = held;
      return;
    }
    scope.module = tree_.AddDown(scope.module, group.atoms);
  }

  // The one module of that name that something which is never called holds:
  // `code` of `moe` is `moe.experts.code`, where the parameters know no other.
  ModuleId FindHeld(ScopeId scope, ModuleId outer, const Atoms& atoms) const {
    constexpr int kMostHolders = 64;
    if (tree_.Down(outer, atoms) != kNo<ModuleId>) return kNo<ModuleId>;
    ModuleId found = kNo<ModuleId>;
    int looked_at = 0;
    for (const ModuleId holder : tree_.Children(outer)) {
      if (++looked_at > kMostHolders) return kNo<ModuleId>;
      const ModuleId held = tree_.Down(holder, atoms);
      if (held == kNo<ModuleId> || !HoldsParameter(held)) continue;
      if (found != kNo<ModuleId> || IsScope(scopes_[scope].parent, holder)) {
        return kNo<ModuleId>;
      }
      found = held;
    }
    return found;
  }

  // Whether it or a module below it has one.
  bool HoldsParameter(ModuleId module) const {
    return Index(module) < holds_parameter_.size() && holds_parameter_[module];
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
    if (layer == kNo<ScopeId>) return false;
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

  const GraphFacts& graph_;
  const ParameterFacts& parameters_;
  const ScopeFacts& facts_;
  ScopeTable& scopes_;
  ModuleTree& tree_;
  HierarchyLookup lookup_;
  Group group_;                            // of Cast(), used again
  IdVector<ScopeId, bool> calls_indices_;  // `head` of `head/head.0`
  IdVector<ScopeId, bool> holds_shared_;   // `net` of `net/conv1`
  IdVector<ScopeId, bool> holds_own_;      // or of `net/net.0`
  IdVector<ScopeId, TwinScope> twins_;
  IdVector<ScopeId, Votes> votes_;
  IdVector<ModuleId, bool> holds_parameter_;  // of those before the first scope
};

// The module `block_1` and the second call of `block` have the same scope.
// Nodes that are connected with a parameter of block_1 belong to block_1; the
// other nodes belong to the call.
void SplitMergedScopes(const Model& model, const ParameterFacts& parameters,
                       ScopeFacts& facts) {
  const auto may_be_call = [&](NodeId node) {
    const ScopeId scope = facts.node_scope[node];
    return scope != kNo<ScopeId> &&
           facts.scopes[scope].perhaps_call_of != kNo<ScopeId>;
  };
  std::vector<NodeId> members;
  for (const NodeId node : model.Nodes()) {
    if (may_be_call(node)) members.push_back(node);
  }
  if (members.empty()) return;
  // Labels spread along edges inside a scope, in both directions.
  IdVector<NodeId, bool> own(model.node_count(), false);
  std::vector<NodeId> open;
  const auto label = [&](NodeId node) {
    if (!own[node]) open.push_back(node);
    own[node] = true;
  };
  for (const NodeId node : members) {
    for (const ValueId input : model.Inputs(node)) {
      if (input != kNo<ValueId> &&
          (parameters.ParameterOf(input) != kNo<ParameterId> ||
           model.InitializerOf(input) != nullptr)) {
        label(node);
      }
    }
  }
  while (!open.empty()) {
    const NodeId node = open.back();
    open.pop_back();
    const auto spread = [&](NodeId to) {
      if (facts.node_scope[to] == facts.node_scope[node]) label(to);
    };
    for (const NodeId maker : Makers(model, node)) spread(maker);
    for (const NodeId reader : Readers(model, node)) spread(reader);
  }
  for (const NodeId node : members) {
    if (!own[node]) {
      facts.node_scope[node] =
          facts.scopes[facts.node_scope[node]].perhaps_call_of;
    }
  }
}

}  // namespace

ScopeFacts AlignScopes(const GraphFacts& graph,
                       const ParameterFacts& parameters, ScopeFacts facts,
                       KnownModules& known, ModuleTree& modules) {
  ScopeAligner(graph, parameters, known, modules, facts).Run();
  FindDoubtful(graph, facts, modules);
  SplitMergedScopes(graph.model, parameters, facts);
  return facts;
}

}  // namespace onnx_tag
