// What exporters wrote down: modules and classes in metadata, names that
// contain the whole path, and local functions.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/lists.h"
#include "base/text.h"
#include "clues/exporters/dynamo/mangled_names.h"
#include "clues/exporters/dynamo/metadata.h"
#include "clues/exporters/functions/local_functions.h"
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
  return credible(scope.module) && AllIn(scope.scopes, credible) &&
         AllIn(scope.classes, credible);
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

std::vector<Origin> GatherMetadata(const GraphFacts& graph,
                                   const ParameterFacts& parameters,
                                   ModuleTree& modules, Clues& said) {
  const Model& model = graph.model;
  std::vector<Origin> folded;
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
    if (owner != module) folded.push_back({node, module});
    const bool sure = !merged && owner == module;
    said.Add(
        WriterId::kMetadata,
        {node, owner, sure ? Confidence::kCertain : Confidence::kHigh,
         Source::kMetadata,
         sure ? "the exporter recorded it in the node's metadata"
              : "the exporter recorded it; a rewriter merged several nodes "
                "into this one"});
  }
  return folded;
}

void DistrustShared(const Model& model, const Clues& said,
                    ParameterFacts& parameters) {
  IdVector<ParameterId, ModuleId> readers(parameters.parameters.size(),
                                          kNo<ModuleId>);
  for (const Clue& fact : said.From(WriterId::kMetadata)) {
    // A merged node has the metadata of one of its parts.
    if (fact.level < Confidence::kCertain || parameters.is_carrier[fact.node]) {
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
std::vector<Origin> GatherDialectNames(const Model& model,
                                       const ExporterFacts& exporter,
                                       const ParameterFacts& parameters,
                                       ModuleTree& modules, Clues& said) {
  std::vector<Origin> origins;
  if (exporter.names == nullptr) return origins;
  for (const NodeId node : model.Nodes()) {
    const std::optional<NamedModule> named = exporter.names->OfNode(node);
    if (!named || !hierarchy::IsCrediblePath(named->module)) continue;
    const ModuleId module = modules.Add(named->module);
    said.Add(WriterId::kDialect, {node, module, named->confidence,
                                  parameters.Proves(model, node, module)
                                      ? Source::kScopeAndParameter
                                      : Source::kScope,
                                  named->because});
    for (const std::string& origin : named->origins) {
      if (!hierarchy::IsCrediblePath(origin)) continue;
      origins.push_back({node, modules.Add(origin)});
    }
  }
  return origins;
}

namespace {

// dynamo_export of torch 2.1 to 2.4 names the result of a module's function
// after the module, `encoder_layer_0_query_1`; inlining may add the number of
// the call, `__7`. The module's words; empty if the name has not this form.
std::string_view ModuleInResult(std::string_view value) {
  constexpr std::size_t kLongestName = 600;
  value = hierarchy::WithoutNumbered(value, "__").value_or(value);
  const auto name = hierarchy::WithoutNumbered(value, "_");
  if (!name || name->size() > kLongestName ||
      name->find('_') == std::string_view::npos ||
      !AllIn(*name, hierarchy::IsWordChar)) {
    return {};
  }
  return *name;
}

}  // namespace

void GatherReturned(const Model& model, ModuleTree& modules, Clues& said) {
  // Fewer than this may be names of operations that look like modules.
  constexpr std::size_t kFewest = 3;
  if (modules.size() == 1) return;
  std::optional<MangledNames> names;
  std::size_t deep = 0;
  for (const NodeId node : model.Nodes()) {
    if (model[node].metadata_count > 0) continue;
    for (const ValueId value : model.Outputs(node)) {
      if (value == kNo<ValueId>) continue;
      const std::string_view name = ModuleInResult(model.ValueName(value));
      if (name.empty()) continue;
      if (!names) names.emplace(modules);
      const ModuleId module = names->Find(name);
      // The last call inside a module returns the module's result.
      if (module == kNo<ModuleId> || !modules.Children(module).empty()) {
        continue;
      }
      if (modules.Depth(module) >= 2) ++deep;
      said.Add(WriterId::kReturned,
               {node, module, Confidence::kMedium, Source::kValueName,
                "its result has the name of this module"});
      break;
    }
  }
  if (deep < kFewest) {
    said.TakeBack(WriterId::kReturned, [](const Clue&) { return true; });
  }
}

namespace {

// Finds the modules of local functions.
//
// dynamo_export makes a function for each call of a module and gives it the
// name of the module. export_modules_as_functions makes one function for each
// class: the parameters that a call passes show the module.
class FunctionPlacer {
 public:
  FunctionPlacer(const Model& model, const ScopeFacts& scopes,
                 const ParameterFacts& parameters, ModuleTree& modules,
                 FunctionTable& table)
      : model_(model),
        scopes_(scopes),
        parameters_(parameters),
        table_(table),
        tree_(modules),
        names_(modules) {}

  void Run() {
    calls_of_.resize(table_.size());
    for (std::size_t i = 0; i < table_.calls().size(); ++i) {
      calls_of_[table_.calls()[i].function].push_back(i);
    }
    FindCalled();
    for (const FunctionId id : table_.CallersFirst()) {
      switch (table_[id].kind) {
        case FunctionKind::kHelper:
          break;
        case FunctionKind::kPackage:
          PlacePackage(id);
          break;
        case FunctionKind::kClass:
          PlaceClass(id);
          break;
      }
    }
  }

 private:
  // Finds the modules in names of functions.
  void FindCalled() {
    called_.assign(tree_.size(), false);
    for (const FunctionId id : AllIds<FunctionId>(table_.size())) {
      if (table_[id].kind != FunctionKind::kPackage) continue;
      const ModuleId module = ReadName(id).module;
      if (module != kNo<ModuleId>) called_[Index(module)] = true;
    }
  }

  struct Reading {
    std::string_view class_name;
    std::string_view path;
    ModuleId module = kNo<ModuleId>;  // if the path is known
  };

  // A class may have an underscore. The split that ends in a known module is
  // used, else the one with the shortest class.
  Reading ReadName(FunctionId id) const {
    const std::vector<hierarchy::PackageFunction> readings =
        hierarchy::SplitPackageFunction(model_.functions()[Index(id)].name);
    const auto reading = [&](std::size_t i, ModuleId module) {
      const char* const begin = readings[0].class_name.data();
      const std::string_view last = readings[i].class_name;
      const auto size =
          static_cast<std::size_t>(last.data() + last.size() - begin);
      return Reading{{begin, size}, readings[i].module, module};
    };
    for (std::size_t i = 0; i < readings.size(); ++i) {
      const ModuleId module = names_.Find(readings[i].module);
      if (module != kNo<ModuleId>) return reading(i, module);
    }
    return readings.empty() ? Reading() : reading(0, kNo<ModuleId>);
  }

  // The module whose function contains the node; the root if unknown.
  ModuleId Around(NodeId node) const {
    FunctionId at = table_.OwnerOf(model_[node].graph);
    while (at != kNo<FunctionId> && table_[at].module == kNo<ModuleId>) {
      if (table_[at].first_call == kNo<NodeId>) break;
      at = table_.OwnerOf(model_[table_[at].first_call].graph);
    }
    return at == kNo<FunctionId> || table_[at].module == kNo<ModuleId>
               ? ModuleTree::kRoot
               : table_[at].module;
  }

  // The common ancestor of all parameters that the call passes.
  ModuleId OwnerOfParameters(NodeId call) const {
    ModuleId owner = kNo<ModuleId>;
    for (const Parameter& parameter : parameters_.Among(model_.Inputs(call))) {
      owner = tree_.Join(owner, parameter.module);
    }
    return owner;
  }

  void PlacePackage(FunctionId id) {
    LocalFunction& function = table_[id];
    const Reading reading = ReadName(id);
    if (reading.path.empty()) return;
    function.module = reading.module;
    function.sure = reading.module != kNo<ModuleId>;
    if (!function.sure) {
      function.module =
          names_.Resolve(reading.path, Around(function.first_call), called_)
              .module;
    }
    tree_.SetClass(function.module, reading.class_name);
    for (const std::size_t i : calls_of_[id]) {
      table_.calls()[i].module = function.module;
      table_.calls()[i].sure = function.sure;
    }
  }

  // The call has the name of the last operation inside. So its scope is the
  // module or below it. The module is the innermost enclosing scope that
  // contains the owner of the parameters.
  ModuleId Climb(NodeId call, ModuleId owner) const {
    for (ScopeId scope = scopes_.node_scope[call];
         scope != kNo<ScopeId> && scope != ScopeId{0};
         scope = scopes_.scopes[scope].parent) {
      const std::vector<std::string_view> atoms =
          Split(scopes_.scopes.Segment(scope), '.');
      for (ModuleId at = owner; at != ModuleTree::kRoot;
           at = tree_.Parent(at)) {
        if (tree_.Without(at, atoms) != kNo<ModuleId>) return at;
      }
    }
    return owner;
  }

  void PlaceClass(FunctionId id) {
    LocalFunction& function = table_[id];
    // `Linear.1` is the second of the bodies of one class that differ.
    const std::string_view name =
        hierarchy::WithoutCounter(model_.functions()[Index(id)].name, ".");
    for (const std::size_t i : calls_of_[id]) {
      FunctionCall& call = table_.calls()[i];
      const ModuleId owner = OwnerOfParameters(call.node);
      if (owner == kNo<ModuleId> || owner == ModuleTree::kRoot) continue;
      call.module = Climb(call.node, owner);
      call.sure = true;
      tree_.SetClass(call.module, name);
      if (call.node == function.first_call) {
        function.module = call.module;
        function.sure = true;
      }
    }
  }

  const Model& model_;
  const ScopeFacts& scopes_;
  const ParameterFacts& parameters_;
  FunctionTable& table_;
  ModuleTree& tree_;
  MangledNames names_;
  IdVector<FunctionId, std::vector<std::size_t>> calls_of_;
  std::vector<bool> called_;  // by module
};

}  // namespace

void PlaceFunctions(const Model& model, const ScopeFacts& scopes,
                    const ParameterFacts& parameters, ModuleTree& modules,
                    FunctionTable& functions) {
  if (functions.empty()) return;
  FunctionPlacer(model, scopes, parameters, modules, functions).Run();
}

}  // namespace onnx_tag
