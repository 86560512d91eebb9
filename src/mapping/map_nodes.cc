// Runs evidence, ladder, classes and roles, in this order.
#include <algorithm>
#include <stdexcept>

#include "base/text.h"
#include "classes/assign_classes.h"
#include "ladder/ladder.h"
#include "mapping/observed_mapping.h"
#include "onnx_tag/error.h"
#include "roles/role_vocabulary.h"
#include "roles/roles.h"
#include "rules/rules.h"

namespace onnx_tag {
namespace {

// The used modules of the evidence: modules with nodes or with a named
// parameter. The others were only candidates. From here on the tagging has its
// own modules.
class UsedModules {
 public:
  UsedModules(const Evidence& evidence, const std::vector<RuleMove>& moves,
              Tagging& tagging)
      : evidence_(evidence), moves_(moves), tagging_(tagging) {}

  void Take() {
    // A node that a rule moves leaves its module.
    for (const RuleMove& move : moves_) {
      tagging_.tags[move.node].module = kNo<ModuleId>;
    }
    Keep(FindUsed());
    for (Tag& tag : tagging_.tags) {
      if (tag.tagged()) tag.module = kept_[tag.module];
    }
    for (const RuleMove& move : moves_) {
      tagging_.tags[move.node].module = tagging_.modules.Add(move.module);
    }
    for (Origin& origin : tagging_.origins) {
      origin.module = kept_[origin.module];
    }
    // The modules of all calls, because a body is tagged only for its first
    // call.
    for (const FunctionCall& call : evidence_.functions.calls()) {
      tagging_.call_sites.push_back(
          {static_cast<std::uint32_t>(call.function), call.node,
           call.module == kNo<ModuleId> ? tagging_.tags[call.node].module
                                        : kept_[call.module]});
    }
  }

 private:
  IdVector<ModuleId, bool> FindUsed() const {
    IdVector<ModuleId, bool> used(evidence_.modules.size(), false);
    used[ModuleTree::kRoot] = true;
    for (const Tag& tag : tagging_.tags) {
      if (tag.tagged()) used[tag.module] = true;
    }
    for (const Origin& origin : tagging_.origins) used[origin.module] = true;
    for (const FunctionCall& call : evidence_.functions.calls()) {
      if (call.module != kNo<ModuleId>) used[call.module] = true;
    }
    for (const Parameter& parameter : evidence_.parameters) {
      if (parameter.uses > 0) used[parameter.module] = true;
    }
    // Children have larger ids than their parents.
    for (std::size_t i = used.size(); --i > 0;) {
      const auto id = MakeId<ModuleId>(i);
      if (used[id]) used[evidence_.modules.Parent(id)] = true;
    }
    return used;
  }

  void Keep(const IdVector<ModuleId, bool>& used) {
    const ModuleTree& all = evidence_.modules;
    ModuleTree& tree = tagging_.modules;
    kept_.resize(all.size(), kNo<ModuleId>);
    if (std::all_of(used.begin(), used.end(), [](bool is) { return is; })) {
      tree = all;
      for (const ModuleId id : AllIds<ModuleId>(all.size())) kept_[id] = id;
      return;
    }
    kept_[ModuleTree::kRoot] = ModuleTree::kRoot;
    for (const ModuleId id : AllIds<ModuleId>(all.size())) {
      if (!used[id]) continue;
      if (id != ModuleTree::kRoot) {
        kept_[id] = tree.Child(kept_[all.Parent(id)], all.Atom(id));
      }
      tree.SetClass(kept_[id], all.Class(id));
    }
  }

  const Evidence& evidence_;
  const std::vector<RuleMove>& moves_;
  Tagging& tagging_;
  IdVector<ModuleId, ModuleId> kept_;  // by module of the evidence
};

}  // namespace

Tagging MapNodes(const Model& model, const MappingOptions& options,
                 const MappingFacts& facts) {
  return MapNodes(model, options, facts, nullptr);
}

Tagging MapNodes(const Model& model, const MappingOptions& options,
                 const MappingFacts& facts, MappingObserver* observer) {
  if ((!options.hierarchy_file.empty() && facts.hierarchy == nullptr) ||
      (!options.rules_file.empty() && facts.rules == nullptr)) {
    throw std::logic_error("a file with facts was named and not read");
  }
  const Strategy& strategy = FindStrategy(options.strategy);
  Evidence gathered =
      GatherEvidence(model, WantedBy(strategy, model, options.recipes, facts));
  RuleApplication rules(facts.rules, gathered);
  const Evidence& evidence = gathered;  // const from here on
  Tagging tagging;
  tagging.roles.Add(Role());
  tagging.tags.resize(model.node_count());
  tagging.strategy = options.strategy;
  tagging.format = options.format;
  tagging.format.torch_nn |= strategy.torch_nn;
  if (facts.rules != nullptr) {
    tagging.format.exceptions.insert(tagging.format.exceptions.end(),
                                     facts.rules->exceptions.begin(),
                                     facts.rules->exceptions.end());
  }
  if (observer != nullptr) observer->Begin(evidence, rules);
  rules.Place(tagging.tags);
  auto open = tagging.tags.begin();  // all before it are tagged
  for (const Rung& rung : strategy.rungs) {
    open = std::find_if(open, tagging.tags.end(),
                        [](const Tag& tag) { return !tag.tagged(); });
    if (observer != nullptr) {
      observer->BeforeRung(rung, tagging.tags);
    } else if (open == tagging.tags.end()) {
      break;
    }
    const std::vector<Claim> accepted = Climb(evidence, rung, tagging.tags);
    if (observer != nullptr) observer->AfterRung(accepted);
  }
  const std::vector<LawFinding> findings =
      CheckLaws(model, evidence.modules, evidence, tagging.tags,
                FindOrigins(evidence, tagging.tags));
  if (observer != nullptr) observer->BeforeLaws(findings, tagging.tags);
  ObeyLaws(findings, tagging.tags);
  const std::vector<RuleMove>& moves = rules.FindMoves(evidence, tagging.tags);
  for (Tag& tag : tagging.tags) {
    if (tag.tagged() && tag.confidence < options.min_confidence) tag = Tag();
  }
  tagging.origins = FindOrigins(evidence, tagging.tags);
  UsedModules(evidence, moves, tagging).Take();
  // No later step asks for scopes. With a module for each node they are 120
  // bytes a node, and classes need as much.
  static_cast<ScopeFacts&>(gathered) = ScopeFacts();
  gathered.callable = {};
  tagging.dialect = hierarchy::DialectName(evidence.dialect);
  AssignClasses(evidence, tagging);
  rules.Classify(evidence, tagging);
  if (strategy.prune != nullptr) strategy.prune(tagging);
  // From here on, only rules ask for parameters. With one for each node they
  // are 40 bytes a node.
  if (facts.rules == nullptr) {
    static_cast<ParameterFacts&>(gathered) = ParameterFacts();
  }
  if (facts.rules == nullptr || facts.rules->vocabulary.empty()) {
    AssignRoles(model, tagging);
  } else {
    AssignRoles(model, tagging,
                RoleVocabulary::WithBuiltIn(facts.rules->vocabulary));
  }
  rules.Finish(evidence, tagging);
  tagging.notes.insert(tagging.notes.begin(), evidence.known.warnings.begin(),
                       evidence.known.warnings.end());
  return tagging;
}

}  // namespace onnx_tag
