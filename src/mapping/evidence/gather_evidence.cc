// Gathers all facts of a file, step by step. The arguments of a step are the
// facts that it needs.
#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/lists.h"
#include "base/text.h"
#include "clues/projection/torch_ops.h"
#include "core/hierarchy/name_parts.h"
#include "generated/attention_names.h"
#include "mapping/evidence/class_scopes.h"
#include "mapping/evidence/evidence.h"
#include "onnx_tag/error.h"
#include "onnx_tag/recording.h"

namespace onnx_tag {
namespace {

// Whether scopes and metadata contain only the root, and no weight has the name
// of a parameter. The layers of Keras, for example, are not modules of torch.
bool IsOnlyRootNamed(const Evidence& evidence) {
  if (evidence.names != nullptr || evidence.scopes.size() > 1 ||
      !evidence.parameters.empty() ||
      (evidence.said.From(WriterId::kMetadata).empty() &&
       evidence.dialect != hierarchy::Dialect::kTorchScript)) {
    return false;
  }
  for (const Clue& fact : evidence.said.From(WriterId::kMetadata)) {
    if (fact.module != ModuleTree::kRoot) return false;
  }
  const std::vector<Initializer>& tensors = evidence.model.initializers();
  return AnyIn(tensors,
               [](const Initializer& tensor) { return tensor.rank >= 2; });
}

bool ReadsMatrix(const Model& model, NodeId node) {
  return AnyIn(model.Inputs(node), [&](ValueId input) {
    const Initializer* const tensor =
        input == kNo<ValueId> ? nullptr : model.InitializerOf(input);
    return tensor != nullptr && tensor->rank >= 2;
  });
}

// The modules of a recording that was given for its operations are left out
// where the file has others: it may have been recorded from a part of the
// model.
KnownModules FitOrLeave(const HierarchyInputs& file, const WantedFacts& wanted,
                        ModuleTree& modules) {
  const auto has_map = [&](const Recording* recording) {
    return recording != nullptr && wanted.hierarchy != nullptr &&
           recording->file == wanted.hierarchy->name;
  };
  if (!has_map(wanted.trace) && !has_map(wanted.fx)) {
    return FitHierarchy(file, wanted.hierarchy, modules);
  }
  ModuleTree fitted = modules;
  try {
    KnownModules known = FitHierarchy(file, wanted.hierarchy, fitted);
    modules = std::move(fitted);
    return known;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUsage) throw;
    return {};
  }
}

constexpr auto kAll = [](const Clue&) { return true; };

void Forget(ScopeFacts& scopes) {
  for (auto* const found : {&scopes.node_scope, &scopes.value_scope}) {
    for (ScopeId& scope : *found) scope = kNo<ScopeId>;
  }
  for (auto&& named : scopes.named_by_constant) named = false;
}

// The recipe book knows attributes that a class alone does not say.
void AddClassClaims(ClassClaims classes, Evidence& evidence) {
  if (classes.named.empty() && classes.unnamed.empty()) return;
  Clues& said = evidence.said;
  IdVector<NodeId, bool> known(evidence.model.node_count(), false);
  for (const Clue& clue : said.From(WriterId::kRecipe)) known[clue.node] = true;
  for (const Claim& claim : classes.unnamed) {
    if (!known[claim.node]) classes.named.push_back(claim);
  }
  said.TakeBack(WriterId::kDialect, kAll);
  for (const Claim& claim : classes.named) said.Add(WriterId::kDialect, claim);
}

// Recorded operations say more than the order of the calls, but for the layers
// that tools have moved.
void KeepCallsOfMovedLayers(const Model& model, Clues& said) {
  if (said.From(WriterId::kRecorded).empty()) return;
  IdVector<NodeId, bool> is_recorded(model.node_count(), false);
  for (const WriterId from : {WriterId::kRecorded, WriterId::kRecordedPart}) {
    for (const Clue& clue : said.From(from)) is_recorded[clue.node] = true;
  }
  said.TakeBack(WriterId::kCalled, [&](const Clue& clue) {
    return is_recorded[clue.node] && !ReadsMatrix(model, clue.node);
  });
}

}  // namespace

Evidence GatherEvidence(const GraphFacts& graph, const WantedFacts& wanted) {
  const Model& model = graph.model;
  Evidence evidence(graph);
  ModuleTree& modules = evidence.modules;
  ExporterFacts& exporter = evidence;
  ScopeFacts& scopes = evidence;
  ParameterFacts& parameters = evidence;
  Clues& said = evidence.said;
  exporter = RecognizeExporter(model);
  scopes = GatherScopes(graph, exporter);
  parameters =
      GatherParameters(graph, exporter, scopes, evidence.functions, modules);
  PlaceFunctions(model, scopes, parameters, modules, evidence.functions);
  GatherReturned(model, modules, said);
  const std::vector<Origin> folded =
      GatherMetadata(graph, parameters, modules, said);
  DistrustShared(model, said, parameters);
  evidence.origins =
      GatherDialectNames(model, exporter, parameters, modules, said);
  evidence.origins.insert(evidence.origins.end(), folded.begin(), folded.end());
  const IdVector<NodeId, ScopeId> class_scopes =
      TakeClassScopes(parameters, wanted.hierarchy != nullptr, modules, scopes);
  evidence.only_root_is_named = IsOnlyRootNamed(evidence);
  if (evidence.only_root_is_named) {
    Forget(scopes);
    said.TakeBack(WriterId::kMetadata, kAll);
  }
  if (!wanted.anchored) {
    evidence.tracebacks =
        GatherRecordings(graph, wanted.trace, wanted.fx, {}, modules, said);
  }
  // The recorded modules must be in the hierarchy, too.
  evidence.known =
      FitOrLeave({graph, scopes, parameters, said}, wanted, modules);
  scopes = AlignScopes(graph, parameters, std::move(scopes), evidence.known,
                       modules);
  FileModules anchors;
  const bool has_calls =
      evidence.known.map != nullptr && !evidence.known.map->calls.empty();
  if (wanted.anchored || has_calls) {
    anchors = FileModules(graph, scopes, parameters, said, modules);
  }
  if (wanted.anchored) {
    evidence.tracebacks = GatherRecordings(graph, wanted.trace, wanted.fx,
                                           anchors, modules, said);
  }
  GatherCalls(graph, exporter.dialect, anchors, evidence.known, modules, said);
  KeepCallsOfMovedLayers(model, said);
  if (WeightNames names = NameWeights(graph, parameters, evidence.known, said,
                                      anchors, modules);
      !names.empty()) {
    parameters = GatherParameters(graph, exporter, scopes, evidence.functions,
                                  modules, std::move(names));
    DistrustShared(model, said, parameters);
  }
  AddUsualAttention(parameters, modules);
  AddMissingNumbers(modules);
  static_cast<RecipeFacts&>(evidence) =
      GatherRecipes(graph, exporter, scopes, wanted.book, modules, said);
  AddClassClaims(
      PlaceClassScopes(graph, parameters, scopes, class_scopes, evidence.known,
                       wanted.paths_to_part, said, modules),
      evidence);
  // Metadata says more than such names.
  if (!class_scopes.empty() && !hierarchy::IsDynamo(exporter.dialect)) {
    exporter.dialect = hierarchy::Dialect::kClassPath;
  }
  evidence.rule_matches =
      GatherRules(model, parameters, wanted.rules, modules, said);
  static_cast<ModuleUses&>(evidence) =
      DescribeModules(modules, scopes.scopes, parameters, evidence.known);
  return evidence;
}

Evidence GatherUnnamed(const GraphFacts& graph, ModuleTree modules) {
  Evidence evidence(graph);
  ScopeFacts& scopes = evidence;
  ParameterFacts& parameters = evidence;
  static_cast<ExporterFacts&>(evidence) = RecognizeExporter(graph.model);
  scopes = GatherScopes(graph, evidence);
  ModuleTree own;
  parameters =
      GatherParameters(graph, evidence, scopes, evidence.functions, own);
  parameters.parameters = {};
  for (ParameterId& id : parameters.value_parameter) id = kNo<ParameterId>;
  parameters.module_has_parameter.assign(modules.size(), false);
  Forget(scopes);
  static_cast<ModuleUses&>(evidence) =
      DescribeModules(modules, {}, parameters, {});
  evidence.modules = std::move(modules);
  return evidence;
}

bool Evidence::IsContradicted(NodeId node, ModuleId id) const {
  const ModuleId in_map = known.InMap(id);
  if (in_map == kNo<ModuleId> || !graph.data.IsMadeBy(node)) return false;
  if (!known.map->tree.Children(in_map).empty()) {
    return known.map->complete && Callable(id) != id;
  }
  if (known.map->modules[in_map].foreign) return false;
  const TorchOps& torch = BuiltInTorchOps();
  const TorchPattern* const pattern = torch.Find(known.map->tree.Class(in_map));
  const Op op = PlainOperator(graph.ops[node]);
  // Lighter operators are also what tools put around others.
  return pattern != nullptr && torch.WeightOf(op) >= kTelling &&
         !torch.Accepts(*pattern, op);
}

ModuleEvidence::ModuleEvidence(Evidence&& evidence)
    : model(evidence.model),
      parameters(std::move(static_cast<ParameterFacts&>(evidence))),
      called_modules(std::move(evidence.called_modules)),
      recipe_classes(std::move(evidence.recipe_classes)),
      warnings(std::move(evidence.known.warnings)),
      other_framework(evidence.other_framework) {}

// Modules that no name has, but that the names beside them imply: the items
// without parameters of a torch.nn.Sequential, and the attention after a norm.

std::optional<std::uint32_t> ItemNumber(std::string_view atom) {
  const int number = hierarchy::SmallNumber(atom, -1);
  if (number < 0) return std::nullopt;
  return static_cast<std::uint32_t>(number);
}

void AddMissingNumbers(ModuleTree& tree) {
  std::vector<std::pair<ModuleId, std::uint32_t>> missing;
  for (const ModuleId list : AllIds<ModuleId>(tree.size())) {
    std::vector<std::uint32_t> numbers;
    for (const ModuleId item : tree.Children(list)) {
      const auto number = ItemNumber(tree.Atom(item));
      if (number && tree.Children(item).empty()) numbers.push_back(*number);
    }
    if (numbers.empty()) continue;
    std::sort(numbers.begin(), numbers.end());
    for (std::uint32_t n = 1; n <= kMostMissing; ++n) {
      missing.emplace_back(list, numbers.back() + n);
    }
    if (numbers.front() == 1) missing.emplace_back(list, 0);
    for (std::size_t i = 1; i < numbers.size(); ++i) {
      if (numbers[i] - numbers[i - 1] - 1 > kMostMissing) continue;
      for (std::uint32_t n = numbers[i - 1] + 1; n < numbers[i]; ++n) {
        missing.emplace_back(list, n);
      }
    }
  }
  for (const auto& [list, number] : missing) {
    tree.Child(list, std::to_string(number));
  }
}

// In models without biases and scopes, the attention has no name. The name of
// the preceding norm gives the usual name of the attention.
namespace {

std::string_view UsualName(std::string_view norm) {
  for (const std::string_view line : Split(kAttentionNames, '\n')) {
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos || line.substr(0, space) != norm) {
      continue;
    }
    const std::string_view name = line.substr(space + 1);
    return name.substr(0, name.find(' '));
  }
  return {};
}

}  // namespace

void AddUsualAttention(const ParameterFacts& parameters, ModuleTree& modules) {
  for (const Parameter& parameter : parameters.parameters) {
    const ModuleId norm = parameter.module;
    if (norm == ModuleTree::kRoot) continue;
    const std::string_view name = UsualName(modules.Atom(norm));
    if (!name.empty()) modules.Child(modules.Parent(norm), name);
  }
}

ModuleId UsualAttention(const ParameterFacts& parameters,
                        const ModuleTree& modules, ModuleId norm) {
  if (norm == ModuleTree::kRoot || !parameters.HasParameterAt(norm)) {
    return kNo<ModuleId>;
  }
  const std::string_view name = UsualName(modules.Atom(norm));
  return name.empty() ? kNo<ModuleId>
                      : modules.FindChild(modules.Parent(norm), name);
}

namespace {

// A ModuleDict: three modules or more that have the same parts under names,
// and nothing else.
bool IsDictionary(const ModuleTree& tree, ModuleId id) {
  const auto parts = [&](ModuleId module) {
    std::vector<std::string_view> atoms;
    for (const ModuleId child : tree.Children(module)) {
      atoms.push_back(tree.Atom(child));
    }
    std::sort(atoms.begin(), atoms.end());
    return atoms;
  };
  std::vector<std::string_view> first;
  std::size_t count = 0;
  for (const ModuleId child : tree.Children(id)) {
    if (hierarchy::IsNumeric(tree.Atom(child))) return false;
    std::vector<std::string_view> atoms = parts(child);
    if (atoms.empty() || hierarchy::IsNumeric(atoms.front())) return false;
    if (count++ == 0) {
      first = std::move(atoms);
    } else if (atoms != first) {
      return false;
    }
  }
  return count >= 3;
}

}  // namespace

ModuleUses DescribeModules(const ModuleTree& tree, const ScopeTable& scopes,
                           const ParameterFacts& parameters,
                           const KnownModules& known) {
  ModuleUses uses;
  uses.called_modules.assign(tree.size(), false);
  for (const ScopeId id : AllIds<ScopeId>(scopes.size())) {
    uses.called_modules[Index(scopes[id].module)] = true;
  }
  uses.callable.resize(tree.size(), ModuleTree::kRoot);
  for (const ModuleId id : AllIds<ModuleId>(tree.size())) {
    if (id == ModuleTree::kRoot) continue;
    const ModuleId recorded = known.InMap(id);
    if (recorded != kNo<ModuleId> && known.map->complete) {
      uses.callable[id] =
          known.map->OnlyHolds(recorded) ? uses.callable[tree.Parent(id)] : id;
      continue;
    }
    const bool only_holds = !parameters.HasParameterAt(id) &&
                            (tree.IsList(id) || IsDictionary(tree, id));
    // Parents come before their children.
    uses.callable[id] = only_holds ? uses.callable[tree.Parent(id)] : id;
  }
  return uses;
}

}  // namespace onnx_tag
