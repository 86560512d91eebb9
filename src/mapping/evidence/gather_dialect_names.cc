// Reads the modules in names of dialects with their own rules.
#include <algorithm>
#include <map>

#include "base/text.h"
#include "clues/exporters/keras/keras_signature.h"
#include "core/hierarchy/name_parts.h"
#include "core/tagging/tag_format.h"
#include "mapping/evidence/evidence.h"

namespace onnx_tag {

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

// Keras on torch: layers are not torch modules, so all names and metadata
// contain only the root. The variables that torch.export recorded are the only
// trace of the layers.

namespace {

// Whether there is a weight without the name of a parameter.
bool HasNamelessWeight(const Model& model, const ParameterFacts& parameters) {
  for (const Initializer& tensor : model.initializers()) {
    if (tensor.rank >= 2 &&
        parameters.value_parameter[tensor.value] == kNo<ParameterId>) {
      return true;
    }
  }
  return false;
}

bool IsKerasMetadata(const Model& model, const MetadataFacts& metadata) {
  for (const Claim& fact : metadata.metadata) {
    const std::string_view classes =
        ForeignMetadata(model, fact.node, keys::kClassHierarchy);
    if (classes.starts_with("['keras.")) return true;
  }
  return false;
}

class LiftedTensors {
 public:
  LiftedTensors(const Model& model, std::size_t count)
      : model_(model), uses_(count) {
    for (const Initializer& tensor : model.initializers()) {
      const std::string_view name = model.ValueName(tensor.value);
      if (Note(name, tensor.value)) {
        LiftedUse& use = uses_[Number(name)];
        use.rank = static_cast<int>(tensor.rank);
        const auto dims = model.Dims(tensor);
        if (dims.size() == 2 && dims[0] > 0 && dims[1] % dims[0] == 0) {
          use.widths = dims[1] / dims[0];
        }
      }
      const ValueInfo* info = model.InfoOf(tensor.value);
      if (info == nullptr) continue;
      for (const MetadataEntry& entry : model.Metadata(*info)) {
        if (entry.key != "pkg.onnxscript.optimizer.folded_from") continue;
        for (const std::string_view part : Split(entry.value, '\'')) {
          Note(part, tensor.value);
        }
      }
    }
  }

  const std::vector<LiftedUse>& uses() const { return uses_; }

  // The first constant that the value depends on; kNone: none.
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::size_t In(ValueId value) const {
    const auto at = first_.find(value);
    return at == first_.end() ? kNone : at->second;
  }

 private:
  static std::size_t Number(std::string_view name) {
    if (!hierarchy::ConsumePrefix(name, "lifted_tensor_")) return kNone;
    const int number = hierarchy::SmallNumber(name, -1);
    return number < 0 ? kNone : static_cast<std::size_t>(number);
  }

  bool Note(std::string_view name, ValueId value) {
    const std::size_t number = Number(name);
    if (number == kNone || number >= uses_.size()) return false;
    const auto [at, is_new] = first_.try_emplace(value, number);
    if (!is_new) at->second = std::min(at->second, number);
    for (const NodeId node : model_.Consumers(value)) {
      uses_[number].in_conv |= model_.OpType(node) == "Conv" &&
                               model_.Inputs(node).size() > 1 &&
                               model_.Inputs(node)[1] == value;
    }
    return true;
  }

  const Model& model_;
  std::vector<LiftedUse> uses_;
  std::map<ValueId, std::size_t> first_;
};

// Files are in execution order, and a layer uses its constants while it runs.
// So the nodes from its first constant to the first constant of the next layer
// belong to it.
void PlaceByConstants(const Model& model, GraphId graph,
                      const KerasSignature& signature, ModuleTree& tree,
                      Claims& facts) {
  const LiftedTensors lifted(model, signature.constants);
  const LiftedOwners owners = MatchLifted(signature, lifted.uses());
  if (owners.layer.empty()) return;
  std::vector<ModuleId> modules;
  for (const KerasLayer& layer : signature.layers) {
    modules.push_back(tree.Add(layer.path));
  }
  const std::vector<NodeId>& nodes = model[graph].nodes;
  const auto constant_of = [&](NodeId node) {
    for (const ValueId input : model.Inputs(node)) {
      if (input == kNo<ValueId>) continue;
      const std::size_t number = lifted.In(input);
      if (number != LiftedTensors::kNone) return number;
    }
    return LiftedTensors::kNone;
  };
  std::vector<ModuleId> next(nodes.size(), kNo<ModuleId>);
  for (std::size_t i = nodes.size(); i-- > 0;) {
    const std::size_t number = constant_of(nodes[i]);
    if (number != LiftedTensors::kNone) {
      next[i] = modules[owners.layer[number]];
    } else if (i + 1 < nodes.size()) {
      next[i] = next[i + 1];
    }
  }
  ModuleId current = modules[owners.layer[0]];
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::size_t number = constant_of(nodes[i]);
    const bool own = number != LiftedTensors::kNone;
    if (own) current = next[i];
    ModuleId module = current;
    // The attention itself is between its projections.
    if (next[i] != kNo<ModuleId> && next[i] != current &&
        tree.Atom(next[i]) == "attention_output" &&
        tree.Parent(next[i]) == tree.Parent(current)) {
      module = tree.Parent(current);
    }
    const bool sure = own && !owners.unsure[number];
    facts.push_back(
        {nodes[i], module, sure ? Confidence::kMedium : Confidence::kLow,
         own ? Source::kParameter : Source::kLocality,
         own ? "it uses a weight that belongs to this layer by its position"
             : "it is between two uses of this layer's weights"});
  }
}

}  // namespace

std::optional<DialectFacts> GatherKerasOnTorch(const Model& model,
                                               const ExporterFacts& exporter,
                                               const ScopeFacts& scopes,
                                               const ParameterFacts& parameters,
                                               const MetadataFacts& metadata,
                                               ModuleTree& modules) {
  if (exporter.names != nullptr || scopes.scopes.size() > 1) {
    return std::nullopt;
  }
  if (!IsKerasMetadata(model, metadata) &&
      (!metadata.metadata.empty() || !parameters.parameters.empty() ||
       !HasNamelessWeight(model, parameters) ||
       exporter.dialect != hierarchy::Dialect::kTorchScript)) {
    return std::nullopt;
  }
  DialectFacts facts;
  facts.only_root_is_named = true;
  for (const GraphId graph : model.Graphs()) {
    if (model[graph].kind != GraphKind::kMain) continue;
    for (const MetadataEntry& entry : model[graph].metadata) {
      if (entry.key != "pkg.torch.export.ExportedProgram.graph_signature") {
        continue;
      }
      const KerasSignature signature = ParseKerasSignature(entry.value);
      if (!signature.layers.empty()) {
        PlaceByConstants(model, graph, signature, modules, facts.named);
      }
      return facts;
    }
  }
  return facts;
}

}  // namespace onnx_tag
