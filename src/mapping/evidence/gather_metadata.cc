// Reads modules and classes from the metadata that exporters wrote, and from
// names that contain the whole path.
#include <algorithm>
#include <string>

#include "clues/exporters/dynamo/metadata.h"
#include "core/hierarchy/name_parts.h"
#include "core/tagging/tag_format.h"
#include "mapping/evidence/evidence.h"

namespace onnx_tag {
namespace {

hierarchy::MetadataScope ReadScopes(const Model& model, NodeId node) {
  const auto get = [&](std::string_view key) {
    return ForeignMetadata(model, node, key);
  };
  hierarchy::MetadataScope scope;
  if (const auto scopes = get("pkg.torch.onnx.name_scopes"); !scopes.empty()) {
    scope = hierarchy::ParseTorchScopes(scopes,
                                        get("pkg.torch.onnx.class_hierarchy"));
    if (scope.known) return scope;
  }
  if (const auto scopes = get("pkg.onnxscript.name_scopes"); !scopes.empty()) {
    scope = hierarchy::ParseOnnxscriptScopes(
        scopes, get("pkg.onnxscript.class_hierarchy"));
    if (scope.known) return scope;
  }
  if (const auto text = get("namespace"); !text.empty()) {
    return hierarchy::ParseTorchNamespace(text);
  }
  return scope;
}

bool IsCredible(const hierarchy::MetadataScope& scope) {
  const auto credible = [](const std::string& text) {
    return hierarchy::IsCrediblePath(text);
  };
  return credible(scope.module) &&
         std::all_of(scope.scopes.begin(), scope.scopes.end(), credible) &&
         std::all_of(scope.classes.begin(), scope.classes.end(), credible);
}

// The convolution or Linear into which a BatchNorm was folded: the exporter
// leaves the norm's metadata on the node that holds the weight.
ModuleId WeightOwner(const GraphFacts& graph, const ParameterFacts& parameters,
                     const ModuleTree& modules, NodeId node, ModuleId norm) {
  const auto inputs = graph.model.Inputs(node);
  if (inputs.size() < 2 ||
      !graph.ops.Is(node, {OpKind::kConvolution, OpKind::kProduct})) {
    return norm;
  }
  const ParameterId id = parameters.ParameterOf(inputs[1]);
  if (id == kNo<ParameterId>) return norm;
  const Parameter& weight = parameters.parameters[id];
  const bool functional = modules.IsAncestor(norm, weight.module) ||
                          modules.IsAncestor(weight.module, norm);
  return weight.trusted && weight.rank >= 2 && !functional ? weight.module
                                                           : norm;
}

}  // namespace

MetadataFacts GatherMetadata(const GraphFacts& graph,
                             const ParameterFacts& parameters,
                             ModuleTree& modules) {
  const Model& model = graph.model;
  MetadataFacts facts;
  for (const NodeId node : model.Nodes()) {
    if (model[node].metadata_count == 0) continue;
    const hierarchy::MetadataScope scope = ReadScopes(model, node);
    if (!scope.known || !IsCredible(scope)) continue;
    const ModuleId module = modules.Add(scope.module);
    for (std::size_t i = 0; i < scope.scopes.size() && i < scope.classes.size();
         ++i) {
      modules.SetClass(modules.Add(scope.scopes[i]),
                       hierarchy::ShortClass(scope.classes[i]));
    }
    const bool merged =
        !ForeignMetadata(model, node, "pkg.onnxscript.rewriter.rule_name")
             .empty();
    const bool norm =
        modules.Class(module).find("Norm") != std::string_view::npos;
    const ModuleId owner =
        merged || norm ? WeightOwner(graph, parameters, modules, node, module)
                       : module;
    if (owner != module) facts.folded.push_back({node, module});
    const bool sure = !merged && owner == module;
    facts.metadata.push_back(
        {node, owner, sure ? Confidence::kCertain : Confidence::kHigh,
         Source::kMetadata,
         sure ? "the exporter recorded it in the node's metadata"
              : "the exporter recorded it; a rewriter merged several nodes "
                "into this one"});
  }
  return facts;
}

void DistrustShared(const Model& model, const MetadataFacts& metadata,
                    ParameterFacts& parameters) {
  IdVector<ParameterId, ModuleId> readers(parameters.parameters.size(),
                                          kNo<ModuleId>);
  for (const Claim& fact : metadata.metadata) {
    // A merged node has the metadata of one of its parts.
    if (fact.confidence < Confidence::kCertain ||
        parameters.is_carrier[fact.node]) {
      continue;
    }
    for (const ValueId input : model.Inputs(fact.node)) {
      const ParameterId id = parameters.ParameterOf(input);
      if (id == kNo<ParameterId>) continue;
      ModuleId& reader = readers[id];
      if (reader == kNo<ModuleId>) reader = fact.module;
      if (reader != fact.module) parameters.parameters[id].trusted = false;
    }
  }
}

// The modules in names of dialects with their own rules.
DialectFacts GatherDialectNames(const Model& model,
                                const ExporterFacts& exporter,
                                const ParameterFacts& parameters,
                                ModuleTree& modules) {
  DialectFacts facts;
  if (exporter.names == nullptr) return facts;
  for (const NodeId node : model.Nodes()) {
    const std::optional<NamedModule> named = exporter.names->OfNode(node);
    if (!named || !hierarchy::IsCrediblePath(named->module)) continue;
    const ModuleId module = modules.Add(named->module);
    facts.named.push_back({node, module, named->confidence,
                           parameters.Proves(model, node, module)
                               ? Source::kScopeAndParameter
                               : Source::kScope,
                           named->because});
    for (const std::string& origin : named->origins) {
      if (!hierarchy::IsCrediblePath(origin)) continue;
      facts.origins.push_back({node, modules.Add(origin)});
    }
  }
  return facts;
}

}  // namespace onnx_tag
