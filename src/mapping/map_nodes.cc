// Evidence, ladder, classes, roles: in this order.
#include <algorithm>
#include <stdexcept>

#include "base/text.h"
#include "classes/assign_classes.h"
#include "ladder/ladder.h"
#include "ladder/origins.h"
#include "mapping/apply_rules.h"
#include "onnx_tag/error.h"
#include "onnx_tag/mapping.h"
#include "roles/role_vocabulary.h"
#include "roles/roles.h"
#include "rules/rules.h"

namespace onnx_tag {
namespace {

// The modules of all calls, for a body is tagged for its first call only.
void AddCallSites(const Evidence& evidence, Tagging& tagging) {
  for (const FunctionCall& call : evidence.functions.calls()) {
    const ModuleId module = call.module == kNo<ModuleId>
                                ? tagging.tags[call.node].module
                                : call.module;
    tagging.call_sites.push_back(
        {static_cast<std::uint32_t>(call.function), call.node, module});
  }
}

// The evidence's modules that matter: those of nodes, and those that own a
// named parameter. Others were only considered.
void KeepUsedModules(const Evidence& evidence, Tagging& tagging) {
  const ModuleTree& all = evidence.modules;
  std::vector<bool> used(all.size(), false);
  used[0] = true;
  for (const Tag& tag : tagging.tags) {
    if (tag.tagged()) used[Index(tag.module)] = true;
  }
  for (const Origin& origin : tagging.origins) {
    used[Index(origin.module)] = true;
  }
  for (const CallSite& site : tagging.call_sites) {
    if (site.module != kNo<ModuleId>) used[Index(site.module)] = true;
  }
  for (const Parameter& parameter : evidence.parameters) {
    if (parameter.uses > 0) used[Index(parameter.module)] = true;
  }
  // Children have larger ids than their parents.
  for (std::size_t i = all.size(); --i > 0;) {
    if (used[i]) used[Index(all.Parent(MakeId<ModuleId>(i)))] = true;
  }
  std::vector<ModuleId> kept(all.size(), kNo<ModuleId>);
  kept[0] = ModuleId{0};
  ModuleTree tree;
  for (const ModuleId id : AllIds<ModuleId>(all.size())) {
    if (!used[Index(id)]) continue;
    if (id != ModuleId{0}) {
      kept[Index(id)] = tree.Child(kept[Index(all.Parent(id))], all.Atom(id));
    }
    tree.SetClass(kept[Index(id)], all.Class(id));
  }
  for (Tag& tag : tagging.tags) {
    if (tag.tagged()) tag.module = kept[Index(tag.module)];
  }
  for (Origin& origin : tagging.origins) {
    origin.module = kept[Index(origin.module)];
  }
  for (CallSite& site : tagging.call_sites) {
    if (site.module != kNo<ModuleId>) site.module = kept[Index(site.module)];
  }
  tagging.modules = std::move(tree);
}

}  // namespace

Tagging MapNodes(const Model& model, const MappingOptions& options) {
  if ((!options.hierarchy_file.empty() && options.hierarchy == nullptr) ||
      (!options.rules_file.empty() && options.rules == nullptr)) {
    throw std::logic_error("a file with facts was named and not read");
  }
  const Strategy& strategy = FindStrategy(options.strategy);
  Evidence evidence = GatherEvidence(model, WantedBy(strategy, model, options));
  Tagging tagging;
  tagging.roles.Add(Role());
  tagging.tags.resize(model.node_count());
  tagging.strategy = options.strategy;
  tagging.format = options.format;
  tagging.format.torch_nn |= strategy.torch_nn;
  if (options.rules != nullptr) {
    tagging.format.exceptions.insert(tagging.format.exceptions.end(),
                                     options.rules->exceptions.begin(),
                                     options.rules->exceptions.end());
    Climb(evidence, kRuleRung, tagging.tags);
  }
  auto open = tagging.tags.begin();  // all before it are tagged
  for (const Rung& rung : strategy.rungs) {
    open = std::find_if(open, tagging.tags.end(),
                        [](const Tag& tag) { return !tag.tagged(); });
    if (open == tagging.tags.end()) break;
    Climb(evidence, rung, tagging.tags);
  }
  MoveByRules(evidence, tagging.tags);
  AddCallSites(evidence, tagging);
  for (Tag& tag : tagging.tags) {
    if (tag.tagged() && tag.confidence < options.min_confidence) tag = Tag();
  }
  tagging.origins = FindOrigins(evidence, tagging.tags);
  KeepUsedModules(evidence, tagging);
  tagging.dialect = FileDialect(evidence);
  AssignClasses(evidence, tagging);
  ClassifyByRules(evidence, tagging);
  if (strategy.prune != nullptr) strategy.prune(tagging);
  if (options.rules == nullptr || options.rules->vocabulary.empty()) {
    AssignRoles(model, tagging);
  } else {
    AssignRoles(model, tagging,
                RoleVocabulary::WithBuiltIn(options.rules->vocabulary));
  }
  FinishRules(evidence, tagging);
  tagging.notes.insert(tagging.notes.begin(), evidence.warnings.begin(),
                       evidence.warnings.end());
  return tagging;
}

}  // namespace onnx_tag
