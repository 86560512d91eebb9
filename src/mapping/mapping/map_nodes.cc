// Runs evidence, ladder, classes and roles, in this order.
#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "base/lists.h"
#include "base/text.h"
#include "clues/exporters/traceback.h"
#include "mapping/classes/assign_classes.h"
#include "mapping/classes/catalogue/attributes.h"
#include "mapping/ladder/ladder.h"
#include "mapping/mapping/observed_mapping.h"
#include "mapping/mapping/order_modules.h"
#include "mapping/mapping/place_found.h"
#include "mapping/roles/role_vocabulary.h"
#include "mapping/roles/roles.h"
#include "mapping/rules/rules.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

// The modules with nodes or with a named parameter, and those around them. The
// others were only candidates.
IdVector<ModuleId, bool> FindUsed(const Tagging& tagging,
                                  const ParameterFacts& parameters) {
  IdVector<ModuleId, bool> used(tagging.modules.size(), false);
  used[ModuleTree::kRoot] = true;
  for (const Tag& tag : tagging.tags) {
    if (tag.tagged()) used[tag.module] = true;
  }
  for (const Origin& origin : tagging.origins) used[origin.module] = true;
  for (const CallSite& call : tagging.call_sites) {
    if (call.module != kNo<ModuleId>) used[call.module] = true;
  }
  for (const Parameter& parameter : parameters.parameters) {
    if (parameter.uses > 0) used[parameter.module] = true;
  }
  // Children have larger ids than their parents.
  for (std::size_t i = used.size(); --i > 0;) {
    const auto id = MakeId<ModuleId>(i);
    if (used[id]) used[tagging.modules.Parent(id)] = true;
  }
  return used;
}

// The modules of all calls, because a body is tagged only for its first call.
void ListCallSites(const FunctionTable& functions, Tagging& tagging) {
  for (const FunctionCall& call : functions.calls()) {
    tagging.call_sites.push_back(
        {static_cast<std::uint32_t>(call.function), call.node,
         call.module == kNo<ModuleId> ? tagging.tags[call.node].module
                                      : call.module});
  }
}

// The file's own tracebacks precede: they are of this very export.
void AddRecordedLines(Tracebacks& recorded, bool all_frames,
                      SourceLines& lines) {
  if (recorded.empty()) return;
  // Of a trace and an FX graph, the trace comes first.
  SortBy(recorded, [](const auto& one) { return one.first; });
  const auto frames_of = [&](NodeId node, std::vector<SourceLine>& frames) {
    const auto at = std::lower_bound(
        recorded.begin(), recorded.end(), node,
        [](const auto& entry, NodeId id) { return entry.first < id; });
    if (at == recorded.end() || at->first != node) return;
    ParseTraceback(at->second, frames);
  };
  AddSourceLines(Index(recorded.back().first) + 1, frames_of, all_frames,
                 lines);
}

// Tags the nodes, and gives the tagging the modules of the evidence. Returns
// what the following steps need of the evidence; the rest ends here. `open`
// gets the nodes for which blocks may be found (null: none are wanted),
// `recorded` where the recorded operations ran, `calls` the recorded calls.
ModuleEvidence PlaceNodes(Evidence evidence, const Strategy& strategy,
                          const MappingOptions& options, RuleApplication& rules,
                          MappingObserver* observer, Tagging& tagging,
                          OpenNodes* open, Tracebacks& recorded,
                          CallPlaces& calls) {
  recorded = std::move(evidence.tracebacks);
  calls = PlacesOfCalls(evidence.known, evidence.modules);
  const Model& model = evidence.model;
  tagging.tags.resize(model.node_count());
  tagging.dialect = hierarchy::DialectName(evidence.dialect);
  if (observer != nullptr) observer->Begin(evidence, rules);
  BeforeRung before;
  if (observer != nullptr) {
    before = [&](const Rung& rung, const Placed& placed) {
      observer->BeforeRung(rung, placed);
    };
  }
  Clues clues =
      PlaceAll(evidence, strategy, tagging.tags, before, options.placement);
  if (observer == nullptr) clues = Clues();  // nobody asks why
  const std::vector<LawFinding> findings =
      CheckLaws(evidence.graph, evidence.modules, evidence, evidence,
                tagging.tags, FindOrigins(evidence, tagging.tags));
  if (observer != nullptr) observer->BeforeLaws(clues, findings, tagging.tags);
  ObeyLaws(findings, tagging.tags);
  const std::vector<RuleMove> moves = rules.FindMoves(evidence, tagging.tags);
  for (const RuleMove& move : moves) {
    tagging.tags[move.node].confidence = Confidence::kCertain;
    tagging.tags[move.node].source = Source::kRule;
    tagging.tags[move.node].evidence = EvidenceKind::kRule;
  }
  if (open != nullptr) {
    *open = FindOpen(evidence.graph, evidence.modules, tagging.tags,
                     evidence.is_recorded);
  }
  for (Tag& tag : tagging.tags) {
    if (tag.tagged() && tag.confidence < options.min_confidence) tag = Tag();
  }
  tagging.origins = FindOrigins(evidence, tagging.tags);
  tagging.modules = std::move(evidence.modules);
  for (const RuleMove& move : moves) {
    Tag& tag = tagging.tags[move.node];
    tag.module = tagging.modules.Add(move.module);
    if (observer != nullptr) observer->AfterMove(move, tag.module);
  }
  ListCallSites(evidence.functions, tagging);
  tagging.modules.KeepOnly(FindUsed(tagging, evidence));
  return ModuleEvidence(std::move(evidence));
}

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
  RuleApplication rules(facts.rules);
  const GraphFacts graph = GatherGraph(model);
  Tagging tagging;
  tagging.roles.Add(Role());
  tagging.strategy = options.strategy;
  tagging.format = options.format;
  tagging.format.torch_nn |= strategy.torch_nn;
  if (facts.rules != nullptr) {
    tagging.format.exceptions.insert(tagging.format.exceptions.end(),
                                     facts.rules->exceptions.begin(),
                                     facts.rules->exceptions.end());
  }
  // A complete hierarchy of the user has no place for invented modules.
  const bool all_known =
      facts.hierarchy != nullptr && facts.hierarchy->complete;
  const bool wants_blocks =
      options.structure && strategy.structure && !all_known;
  OpenNodes open;
  Tracebacks recorded;
  CallPlaces calls;
  ParameterFacts parameters;  // only rules ask for them after the classes
  WantedFacts wanted = WantedBy(strategy, model, options.recipes, facts);
  if (options.catalogue) {
    wanted.paths_to_part = [](std::string_view parent, std::string_view part) {
      return catalogue::AttributesOf(catalogue::BuiltIn(), parent, part);
    };
  }
  {
    ModuleEvidence evidence = PlaceNodes(
        GatherEvidence(graph, wanted), strategy, options, rules, observer,
        tagging, wants_blocks ? &open : nullptr, recorded, calls);
    AssignClasses(graph, evidence, tagging,
                  {.catalogue = options.catalogue, .hidden = {}});
    rules.Classify(model, evidence.parameters, tagging);
    const std::vector<LawFinding> findings = CheckClasses(graph, tagging);
    if (observer != nullptr) observer->AfterClasses(findings, tagging);
    ObeyLaws(findings, tagging.tags);
    for (const LawFinding& finding : findings) {
      Tag& tag = tagging.tags[finding.node];
      if (tag.confidence < options.min_confidence) tag = Tag();
    }
    if (strategy.prune != nullptr) strategy.prune(tagging);
    tagging.notes.insert(tagging.notes.begin(), evidence.warnings.begin(),
                         evidence.warnings.end());
    if (facts.rules != nullptr) parameters = std::move(evidence.parameters);
  }
  if (wants_blocks) {
    const FoundClaims found =
        PlaceFound(graph, std::move(open), options.min_confidence, tagging);
    if (observer != nullptr && !found.claims.empty()) {
      observer->AfterFound(found.claims, tagging.modules);
    }
  }
  if (facts.rules == nullptr || facts.rules->vocabulary.empty()) {
    AssignRoles(graph, tagging);
  } else {
    AssignRoles(graph, tagging,
                RoleVocabulary::WithBuiltIn(facts.rules->vocabulary));
  }
  rules.Finish(model, parameters, tagging);
  AddSourceLines(model, options.frames, tagging.lines);
  AddRecordedLines(recorded, options.frames, tagging.lines);
  const ModuleIds new_ids = OrderModules(graph, calls, tagging);
  if (observer != nullptr) observer->AfterOrder(new_ids);
  return tagging;
}

}  // namespace onnx_tag
