// Gathers all facts of a file, step by step. The arguments of a step are the
// facts that it needs.
#include "mapping/evidence/evidence.h"

namespace onnx_tag {
namespace {

void SetAside(ScopeFacts& scopes) {
  for (auto* const found : {&scopes.node_scope, &scopes.value_scope}) {
    for (ScopeId& scope : *found) scope = kNo<ScopeId>;
  }
  for (auto&& named : scopes.named_by_constant) named = false;
}

// If scopes and metadata of a file contain only the root, they are ignored.
void SetAside(MetadataFacts& metadata) {
  std::erase_if(metadata.metadata, [](const Claim& fact) {
    return fact.module == ModuleTree::kRoot;
  });
}

}  // namespace

Evidence GatherEvidence(const GraphFacts& graph, const WantedFacts& wanted) {
  const Model& model = graph.model;
  ModuleTree modules;
  ExporterFacts exporter = RecognizeExporter(model);
  ScopeFacts scopes = GatherScopes(graph, exporter);
  FunctionTable functions(model, graph.calls);
  ParameterFacts parameters =
      GatherParameters(graph, exporter, scopes, functions, modules);
  PlaceFunctions(model, scopes, parameters, modules, functions);
  InlinedFacts inlined = GatherInlined(model, parameters, modules);
  MetadataFacts metadata = GatherMetadata(model, parameters, modules);
  parameters = DistrustShared(model, metadata, std::move(parameters));
  DialectFacts names = GatherDialectNames(model, exporter, parameters, modules);
  if (std::optional<DialectFacts> keras = GatherKerasOnTorch(
          model, exporter, scopes, parameters, metadata, modules)) {
    names = std::move(*keras);
    SetAside(scopes);
    SetAside(metadata);
  }
  RecordedFacts recorded;
  if (!wanted.anchored) {
    recorded = GatherRecordings(graph, wanted.trace, wanted.fx, modules);
  }
  // The recorded modules must be in the hierarchy, too.
  KnownModules known =
      FitHierarchy({model, scopes, parameters, metadata, recorded},
                   wanted.hierarchy, modules);
  scopes = AlignScopes(model, parameters, std::move(scopes), known, modules);
  if (wanted.anchored) {
    recorded = GatherAnchored(graph, scopes, parameters, metadata, wanted.trace,
                              wanted.fx, modules);
  }
  Claims called = GatherCalls(graph, exporter, scopes, parameters, metadata,
                              known, modules);
  if (GivenNames given = NameWeights(model, parameters, known, called, modules);
      !given.empty()) {
    parameters =
        DistrustShared(model, metadata,
                       GatherParameters(graph, exporter, scopes, functions,
                                        modules, std::move(given)));
  }
  AttentionGuesses attention = GuessAttentionNames(parameters, modules);
  AddMissingNumbers(modules);
  RecipeFacts recipes = GatherRecipes(
      graph, exporter, scopes,
      metadata.metadata.size() + inlined.inlined.size(), wanted.book, modules);
  RuleFacts rules = GatherRules(model, parameters, wanted.rules, modules);
  ModuleUses uses = DescribeModules(modules, scopes.scopes, parameters, known);
  return {{std::move(exporter)},
          {std::move(scopes)},
          {std::move(parameters)},
          {std::move(functions)},
          {std::move(inlined)},
          {std::move(metadata)},
          {std::move(names)},
          {std::move(recorded)},
          {std::move(known), std::move(called)},
          {std::move(attention)},
          {std::move(recipes)},
          {std::move(rules)},
          {std::move(uses)},
          model,
          graph,
          std::move(modules)};
}

Evidence GatherUnnamed(const GraphFacts& graph, ModuleTree modules) {
  const Model& model = graph.model;
  ExporterFacts exporter = RecognizeExporter(model);
  ScopeFacts scopes = GatherScopes(graph, exporter);
  const FunctionTable functions(model, graph.calls);
  ModuleTree own;
  ParameterFacts parameters =
      GatherParameters(graph, exporter, scopes, functions, own);
  parameters.parameters = {};
  for (ParameterId& id : parameters.value_parameter) id = kNo<ParameterId>;
  parameters.module_has_parameter.assign(modules.size(), false);
  SetAside(scopes);
  ModuleUses uses = DescribeModules(modules, {}, parameters, {});
  return {{std::move(exporter)},
          {std::move(scopes)},
          {std::move(parameters)},
          {FunctionTable(model, graph.calls)},
          {},
          {},
          {},
          {},
          {},
          {},
          {},
          {},
          {std::move(uses)},
          model,
          graph,
          std::move(modules)};
}

ModuleEvidence::ModuleEvidence(Evidence&& evidence)
    : model(evidence.model),
      parameters(std::move(static_cast<ParameterFacts&>(evidence))),
      called_modules(std::move(evidence.called_modules)),
      recipe_classes(std::move(evidence.recipe_classes)),
      warnings(std::move(evidence.known.warnings)),
      other_framework(evidence.other_framework) {}

}  // namespace onnx_tag
