#include "mapping/evidence/twin_scopes.h"

#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "base/lists.h"
#include "clues/exporters/dialect_names.h"

namespace onnx_tag {
namespace {

// The scopes that print the same but for the number of the call.
struct Member {
  int call = 0;
  ScopeId scope = kNo<ScopeId>;
};
using Family = std::vector<Member>;

class TwinCalls {
 public:
  TwinCalls(const GraphFacts& graph, const ParameterFacts& parameters,
            const ScopeFacts& facts, ModuleTree& modules)
      : graph_(graph),
        parameters_(parameters),
        facts_(facts),
        scopes_(facts.scopes),
        tree_(modules),
        twins_(facts.scopes.size()) {}

  IdVector<ScopeId, TwinScope> Run() {
    FindFamilies();
    if (families_.empty()) return std::move(twins_);
    FindOwn();
    for (const auto& [first, family] : families_) PlaceByParameters(family);
    for (const auto& [scope, modules] : instances_) {
      // One module around all of them: what was called again are its parts.
      if (!IsAllDistinct(modules) || modules.size() < 2) continue;
      const auto own = families_.find(scope);
      if (own != families_.end()) PlaceByOrder(own->second, modules, {});
      if (twins_[scope].module == kNo<ModuleId>) {
        twins_[scope] = {modules.front(), true};
      }
      for (const ScopeId child : children_[scope]) {
        const auto family = families_.find(child);
        if (family == families_.end()) continue;
        PlaceByOrder(family->second, modules, AtomsOf(child));
      }
    }
    PlaceBesideTwins();
    return std::move(twins_);
  }

 private:
  void FindFamilies() {
    for (const ScopeId id : AllIds<ScopeId>(scopes_.size())) {
      const ScopeId first = scopes_[id].first_call;
      if (first == kNo<ScopeId>) continue;
      Family& family = families_[first];
      if (family.empty()) {
        family.push_back({0, first});
        children_[scopes_[first].parent].push_back(first);
      }
      family.push_back(
          {hierarchy::SplitReuseSuffix(scopes_[id].text).call, id});
    }
    for (auto& [first, family] : families_) {
      SortBy(family, &Member::call);
    }
  }

  struct Own {
    ModuleId module = kNo<ModuleId>;
    std::uint32_t strength = 0;
    bool contradicted = false;
  };

  // The module whose parameters the nodes of a scope read.
  void FindOwn() {
    own_.resize(scopes_.size());
    for (const NodeId node : graph_.model.Nodes()) {
      const ScopeId scope = facts_.ScopeOf(node);
      if (scope == kNo<ScopeId> || parameters_.is_carrier[node]) continue;
      const Owner owner = parameters_.OwnerOf(graph_, tree_, node);
      Own& own = own_[scope];
      if (owner.strength > own.strength) {
        own = {owner.module, owner.strength, false};
      } else if (own.module != owner.module && owner.strength > 0 &&
                 owner.strength == own.strength) {
        own.contradicted = true;
      }
    }
  }

  // What the scope's last segment adds to the path around it.
  std::vector<std::string_view> AtomsOf(ScopeId scope) const {
    std::vector<std::string_view> atoms;
    scopes_.ReadAtoms(scope, atoms);
    return atoms;
  }

  static bool IsAllDistinct(const std::vector<ModuleId>& modules) {
    return std::set<ModuleId>(modules.begin(), modules.end()).size() ==
           modules.size();
  }

  void PlaceByParameters(const Family& family) {
    const std::vector<std::string_view> atoms = AtomsOf(family.front().scope);
    std::vector<ModuleId> modules;
    for (const Member& member : family) {
      const Own& own = own_[member.scope];
      if (own.module == kNo<ModuleId> || own.contradicted ||
          tree_.Without(own.module, atoms) == kNo<ModuleId>) {
        return;
      }
      modules.push_back(own.module);
    }
    if (!IsAllDistinct(modules)) return;
    for (std::size_t i = 0; i < family.size(); ++i) {
      twins_[family[i].scope] = {modules[i], true};
    }
    Climb(family.front().scope, atoms, modules);
    FindHolders(family.front().scope, atoms, modules);
  }

  // `down` and `down_1` are `stages.0.down` and `stages.1.down`: something that
  // is never called holds each of them, as a ModuleDict in a list does.
  void FindHolders(ScopeId scope, const std::vector<std::string_view>& atoms,
                   std::vector<ModuleId> modules) {
    for (ModuleId& module : modules) module = tree_.Without(module, atoms);
    if (!IsAllDistinct(modules)) return;
    std::vector<ModuleId>& holders = holders_[scopes_[scope].parent];
    if (modules.size() > holders.size()) holders = std::move(modules);
  }

  // What is called as often as twins beside it, in the same scope, is held by
  // the same holders.
  void PlaceBesideTwins() {
    for (const auto& [first, family] : families_) {
      if (twins_[first].module != kNo<ModuleId>) continue;
      std::vector<std::string_view> atoms = AtomsOf(first);
      for (ScopeId at = scopes_[first].parent; at != kNo<ScopeId>;
           at = scopes_[at].parent) {
        const auto holders = holders_.find(at);
        if (holders != holders_.end()) {
          if (family.size() == holders->second.size()) {
            PlaceByOrder(family, holders->second, atoms, /*by_order=*/true);
          }
          break;
        }
        if (instances_.contains(at)) break;
        const std::vector<std::string_view> outer = AtomsOf(at);
        atoms.insert(atoms.begin(), outer.begin(), outer.end());
      }
    }
  }

  // The scopes around a family of twins have an instance for each twin.
  void Climb(ScopeId scope, std::vector<std::string_view> atoms,
             std::vector<ModuleId> modules) {
    for (scope = scopes_[scope].parent; scope != ScopeId{0};
         scope = scopes_[scope].parent) {
      const std::vector<std::string_view> outer = AtomsOf(scope);
      for (ModuleId& module : modules) {
        module = tree_.Without(module, atoms);
        while (module != kNo<ModuleId> && module != ModuleTree::kRoot &&
               tree_.Without(module, outer) == kNo<ModuleId>) {
          module = tree_.Parent(module);
        }
        if (module == kNo<ModuleId> || module == ModuleTree::kRoot) return;
      }
      const auto [at, is_new] = instances_.try_emplace(scope, modules);
      // Where two families disagree the larger knows all instances.
      if (!is_new && IsAllDistinct(modules) &&
          modules.size() > at->second.size()) {
        at->second = modules;
      }
      if (!IsAllDistinct(modules)) return;
      atoms = outer;
    }
  }

  // Calls in their order, as many for each instance.
  void PlaceByOrder(const Family& family, const std::vector<ModuleId>& modules,
                    const std::vector<std::string_view>& atoms,
                    bool by_order = false) {
    if (family.size() % modules.size() != 0) return;
    const std::size_t calls = family.size() / modules.size();
    for (std::size_t i = 0; i < family.size(); ++i) {
      TwinScope& twin = twins_[family[i].scope];
      if (twin.module != kNo<ModuleId>) continue;
      twin.module = tree_.AddDown(modules[i / calls], atoms);
      twin.by_order = by_order;
    }
  }

  const GraphFacts& graph_;
  const ParameterFacts& parameters_;
  const ScopeFacts& facts_;
  const ScopeTable& scopes_;
  ModuleTree& tree_;
  IdVector<ScopeId, Own> own_;
  IdVector<ScopeId, TwinScope> twins_;
  std::map<ScopeId, Family> families_;  // by the scope without a number
  std::map<ScopeId, std::vector<ScopeId>> children_;  // with a family
  std::map<ScopeId, std::vector<ModuleId>> instances_;
  std::map<ScopeId, std::vector<ModuleId>> holders_;  // by the scope around
};

}  // namespace

IdVector<ScopeId, TwinScope> FindTwinScopes(const GraphFacts& graph,
                                            const ParameterFacts& parameters,
                                            const ScopeFacts& scopes,
                                            ModuleTree& modules) {
  return TwinCalls(graph, parameters, scopes, modules).Run();
}

}  // namespace onnx_tag
