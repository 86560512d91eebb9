// The ladder: rungs in order, the first claim on a node wins.
#include <algorithm>
#include <array>
#include <stdexcept>

#include "base/text.h"
#include "hierarchy/cut.h"
#include "mapping/apply_rules.h"
#include "mapping/assign_classes.h"
#include "mapping/ladder.h"
#include "mapping/origins.h"
#include "mapping/role_vocabulary.h"
#include "mapping/roles.h"
#include "mapping/rules.h"
#include "onnx_tag/error.h"
#include "onnx_tag/mapping.h"

namespace onnx_tag {
namespace {

constexpr Rung kEnhancedSemanticRungs[] = {
    {"metadata", "the exporter's metadata", &ProposeFromMetadata},
    {"function", "the local function it calls or stands in",
     &ProposeFromFunctions},
    {"dialect", "names of producers other than PyTorch", &ProposeFromDialect},
    {"scope", "the scope in the node's name", &ProposeFromScope},
    {"value_name", "the scope in an output's name", &ProposeFromValueName},
    {"inlined", "the call of an inlined function", &ProposeFromInlined},
    {"helper_body", "the call of the function it stands in",
     &ProposeForHelperBodies},
    {"parameter", "the parameters it uses", &ProposeFromParameters},
    {"recipe", "the recipe book's recording of the architecture",
     &ProposeFromRecipes},
    {"region", "between named nodes of a converter", &ProposeForUnnamedRegions},
    {"recurrent", "recurrent layers written out step by step",
     &ProposeForRecurrentSteps},
    {"norm", "norms written out as arithmetic", &ProposeFromNormPatterns},
    {"carrier", "nodes that hand a parameter on", &ProposeForCarriers},
    {"gemm_reshape", "Reshapes around a Gemm", &ProposeForGemmReshapes},
    {"conversion", "casts and quantizers of a tensor", &ProposeForConversions},
    {"consumers", "scopeless nodes among scoped ones", &ProposeFromConsumers},
    {"attention", "attention written out", &ProposeFromAttention},
    {"constant", "constants of placed nodes", &ProposeForConstants},
    {"loose_recipe", "what a recording has around it",
     &ProposeFromLooseRecipes},
    {"control_flow", "what the branches of an If or Loop use",
     &ProposeForControlFlow},
    {"sanitized", "names with underscores for dots and slashes",
     &ProposeFromSanitizedNames},
    {"mute_root", "names that know nothing but the root", &ProposeMuteRoot},
    {"sequential", "the missing numbers of a Sequential",
     &ProposeForSequentialParts},
    {"execution_order", "between placed nodes in the order of execution",
     &ProposeFromExecutionOrder},
    {"neighbours", "the modules around it", &ProposeFromNeighbours},
    {"late_helper_body", "the call of the function it stands in",
     &ProposeForHelperBodies},
    {"function_body", "the function it stands in", &ProposeForFunctionBodies},
};

// The body of a module's function is the module's, and what it calls.
bool LeavesFunction(const Evidence& evidence, const Claim& claim) {
  if (claim.source != Source::kLocality) return false;
  const FunctionId owner =
      evidence.functions.OwnerOf(evidence.model[claim.node].graph);
  if (owner == kNo<FunctionId>) return false;
  const ModuleId module = evidence.functions[owner].module;
  return module != kNo<ModuleId> &&
         !evidence.modules.IsAncestor(module, claim.module);
}

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

std::span<const Rung> EnhancedSemanticRungs() { return kEnhancedSemanticRungs; }

std::optional<Claim> Admit(const Evidence& evidence, Claim claim) {
  if (LeavesFunction(evidence, claim)) return std::nullopt;
  if (claim.source == Source::kRule || !evidence.IsImpossible(claim.module)) {
    return claim;
  }
  if (claim.source == Source::kOperation || claim.source == Source::kLocality) {
    return std::nullopt;
  }
  while (evidence.IsImpossible(claim.module)) {
    claim.module = evidence.modules.Parent(claim.module);
  }
  claim.confidence = std::min(claim.confidence, Confidence::kMedium);
  claim.source = Source::kHierarchy;
  claim.because =
      "the hierarchy has no such module as its name says, but this one around "
      "it";
  return claim;
}

void Climb(const Evidence& evidence, const Rung& rung, Placed& placed) {
  for (const Claim& proposed : rung.propose(evidence, placed)) {
    Tag& tag = placed[proposed.node];
    if (tag.tagged()) continue;
    const std::optional<Claim> claim = Admit(evidence, proposed);
    if (!claim) continue;
    tag.module = claim->module;
    tag.confidence = claim->confidence;
    tag.source = claim->source;
  }
}

Evidence GatherEvidence(const Model& model, const WantedFacts& wanted) {
  Evidence evidence(model);
  evidence.dialect = DetectDialect(model);
  evidence.names = ReadDialect(model, evidence.dialect);
  GatherScopes(evidence);
  evidence.functions = FunctionTable(model);
  GatherParameters(evidence);
  GatherFunctions(evidence);
  GatherInlined(evidence);
  if (evidence.inlined.empty()) GatherInlinedOrder(evidence);
  GatherMetadata(evidence);
  GatherDialectNames(evidence);
  GatherKerasOnTorch(evidence);
  // What was recorded is known to the hierarchy, too.
  if (wanted.trace != nullptr) GatherTrace(evidence, *wanted.trace);
  if (wanted.fx != nullptr) GatherFx(evidence, *wanted.fx);
  FitHierarchy(evidence, wanted.hierarchy);
  AlignScopes(evidence);
  GatherRules(evidence, wanted.rules);
  GuessAttentionNames(evidence);
  AddMissingParts(evidence);
  if (wanted.book != nullptr) GatherRecipes(evidence, *wanted.book);
  DescribeModules(evidence);
  return evidence;
}

void DescribeModules(Evidence& evidence) {
  const ModuleTree& tree = evidence.modules;
  evidence.called_modules.assign(tree.size(), false);
  for (const ScopeId id : AllIds<ScopeId>(evidence.scopes.size())) {
    evidence.called_modules[Index(evidence.scopes[id].module)] = true;
  }
  evidence.callable.resize(tree.size(), ModuleId{0});
  for (const ModuleId id : AllIds<ModuleId>(tree.size())) {
    if (id == ModuleId{0}) continue;
    const ModuleId recorded = evidence.known.InMap(id);
    if (recorded != kNo<ModuleId> && evidence.known.map->complete) {
      evidence.callable[id] = evidence.known.map->OnlyHolds(recorded)
                                  ? evidence.callable[tree.Parent(id)]
                                  : id;
      continue;
    }
    bool list = !tree.Children(id).empty() && !evidence.HasParameterAt(id);
    for (const ModuleId child : tree.Children(id)) {
      list = list && hierarchy::IsNumeric(tree.Atom(child));
    }
    // Parents come before their children.
    evidence.callable[id] = list ? evidence.callable[tree.Parent(id)] : id;
  }
}

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
