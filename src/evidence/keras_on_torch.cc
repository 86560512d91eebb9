// Keras on torch: layers are no torch modules, so that every name and all
// metadata say the root. What torch.export noted of the variables is all that
// is left of them.
#include <algorithm>
#include <map>

#include "base/text.h"
#include "evidence/evidence.h"
#include "exporters/keras/keras_signature.h"
#include "hierarchy/name_parts.h"
#include "tagging/tag_format.h"

namespace onnx_tag {
namespace {

// A weight that has no parameter's name.
bool HasNamelessWeight(const Evidence& evidence) {
  for (const Initializer& tensor : evidence.model.initializers()) {
    if (tensor.rank >= 2 &&
        evidence.value_parameter[tensor.value] == kNo<ParameterId>) {
      return true;
    }
  }
  return false;
}

bool IsKerasMetadata(const Evidence& evidence) {
  for (const MetadataFact& fact : evidence.metadata) {
    const std::string_view classes =
        ForeignMetadata(evidence.model, fact.node, keys::kClassHierarchy);
    if (classes.starts_with("['keras.")) return true;
  }
  return false;
}

void SetScopesAside(Evidence& evidence) {
  evidence.only_root_is_named = true;
  evidence.notes.push_back(
      "every scope is the root: the layers are no torch modules");
  std::erase_if(evidence.metadata, [](const MetadataFact& fact) {
    return fact.module == ModuleId{0};
  });
  for (const NodeId node : evidence.model.Nodes()) {
    evidence.node_scope[node] = kNo<ScopeId>;
    evidence.value_scope[node] = kNo<ScopeId>;
  }
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

  // The first constant that went into the value; kNone: none.
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

// Files are in the order of execution, and a layer's constants are used while
// it runs: from the first of them to the first of the next, nodes are its.
void PlaceByConstants(Evidence& evidence, GraphId graph,
                      const KerasSignature& signature) {
  const Model& model = evidence.model;
  const LiftedTensors lifted(model, signature.constants);
  const LiftedOwners owners = MatchLifted(signature, lifted.uses());
  if (owners.layer.empty()) return;
  std::vector<ModuleId> modules;
  for (const KerasLayer& layer : signature.layers) {
    modules.push_back(evidence.modules.Add(layer.path));
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
    // Attention proper lies between its projections.
    if (next[i] != kNo<ModuleId> && next[i] != current &&
        evidence.modules.Atom(next[i]) == "attention_output" &&
        evidence.modules.Parent(next[i]) == evidence.modules.Parent(current)) {
      module = evidence.modules.Parent(current);
    }
    const bool sure = own && !owners.unsure[number];
    evidence.name_facts.push_back(
        {nodes[i], module, sure ? Confidence::kMedium : Confidence::kLow,
         own ? "it uses what is by its place the weight of this layer"
             : "between two uses of this layer's weights",
         own ? Source::kParameter : Source::kLocality});
  }
}

}  // namespace

void GatherKerasOnTorch(Evidence& evidence) {
  if (evidence.names != nullptr || evidence.scopes.size() > 1) return;
  const bool keras = IsKerasMetadata(evidence);
  if (!keras) {
    if (!evidence.metadata.empty() || !evidence.parameters.empty() ||
        !HasNamelessWeight(evidence) ||
        evidence.dialect != hierarchy::Dialect::kTorchScript) {
      return;
    }
  }
  SetScopesAside(evidence);
  for (const GraphId graph : evidence.model.Graphs()) {
    if (evidence.model[graph].kind != GraphKind::kMain) continue;
    for (const MetadataEntry& entry : evidence.model[graph].metadata) {
      if (entry.key != "pkg.torch.export.ExportedProgram.graph_signature") {
        continue;
      }
      const KerasSignature signature = ParseKerasSignature(entry.value);
      if (!signature.layers.empty()) {
        PlaceByConstants(evidence, graph, signature);
      }
      return;
    }
  }
}

}  // namespace onnx_tag
