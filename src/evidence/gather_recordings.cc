// What a recorded run says of the nodes.
#include "evidence/evidence.h"
#include "onnx_tag/error.h"
#include "onnx_tag/recording.h"

namespace onnx_tag {
namespace {

// Below this share of the operations a recording is of another model, or of
// another run: other inputs, another code path.
constexpr double kLeastShare = 0.7;
// Exporters fold and drop operations: BatchNorm, dropout, masks of ones.
constexpr double kLeastRecordedShare = 0.4;

// The same weights are the same model, whatever a tool has fused or removed.
constexpr double kLeastWeights = 0.8;
constexpr double kLeastAtAll = 0.25;

void CheckShare(const Projection& projection, std::string_view file) {
  if (projection.file_share >= kLeastShare &&
      projection.recorded_share >= kLeastRecordedShare) {
    return;
  }
  if (projection.weight_share >= kLeastWeights &&
      projection.file_share >= kLeastAtAll) {
    return;
  }
  Fail(ErrorKind::kUsage,
       "{}: was recorded from another model: {:.0f} % of the file's operations "
       "are found in it, and {:.0f} % of its operations in the file\n  record "
       "the model as it was exported, with the same inputs: {}",
       file, 100 * projection.file_share, 100 * projection.recorded_share,
       kRecordCommand);
}

std::vector<ProjectedFact> Facts(const Projection& projection,
                                 Evidence& evidence) {
  std::vector<ProjectedFact> facts;
  facts.reserve(projection.nodes.size());
  for (const ProjectedNode& node : projection.nodes) {
    facts.push_back({node.node, evidence.modules.Add(node.module), node.trust});
  }
  return facts;
}

}  // namespace

namespace {

// What the file says of its nodes, as anchors.
class FileModules {
 public:
  explicit FileModules(const Evidence& evidence)
      : paths_(evidence.modules.size()),
        of_node_(evidence.model.node_count(), nullptr) {
    for (const ModuleId id : AllIds<ModuleId>(paths_.size())) {
      paths_[id] = evidence.modules.Path(id);
    }
    for (const NodeId node : evidence.model.Nodes()) {
      const ModuleId module = OwnerOf(evidence, node);
      if (module != kNo<ModuleId>) Set(node, module);
      const ScopeId scope = evidence.node_scope[node];
      if (scope != kNo<ScopeId>) Set(node, evidence.scopes[scope].module);
    }
    for (const MetadataFact& fact : evidence.metadata) {
      Set(fact.node, fact.module);
    }
  }

  const std::vector<const std::string*>& of_node() const { return of_node_; }

 private:
  void Set(NodeId node, ModuleId module) {
    of_node_[Index(node)] = &paths_[module];
  }

  static ModuleId OwnerOf(const Evidence& evidence, NodeId node) {
    if (evidence.is_carrier[node]) return kNo<ModuleId>;
    for (const ValueId input : evidence.model.Inputs(node)) {
      const ParameterId id = evidence.ParameterOf(input);
      if (id != kNo<ParameterId> && evidence.parameters[id].trusted &&
          evidence.parameters[id].module != ModuleTree::kRoot) {
        return evidence.parameters[id].module;
      }
    }
    return kNo<ModuleId>;
  }

  IdVector<ModuleId, std::string> paths_;
  std::vector<const std::string*> of_node_;
};

}  // namespace

void GatherAnchored(Evidence& evidence, const Recording* trace,
                    const Recording* fx) {
  if (trace == nullptr && fx == nullptr) return;
  const FileModules modules(evidence);
  if (fx != nullptr) {
    const Projection projection =
        Project(evidence.model, fx->fx, {true, modules.of_node()});
    CheckShare(projection, fx->file);
    evidence.fx_traced = Facts(projection, evidence);
    evidence.run_order = projection.order;
  }
  if (trace != nullptr) {
    const Projection projection =
        Project(evidence.model, trace->trace, {false, modules.of_node()});
    CheckShare(projection, trace->file);
    evidence.traced = Facts(projection, evidence);
    evidence.run_order = projection.order;
  }
  evidence.module_has_parameter.resize(evidence.modules.size(), false);
}

void GatherTrace(Evidence& evidence, const Recording& recording) {
  const Projection projection = Project(evidence.model, recording.trace);
  CheckShare(projection, recording.file);
  evidence.traced = Facts(projection, evidence);
  evidence.run_order = projection.order;
}

void GatherFx(Evidence& evidence, const Recording& recording) {
  const Projection projection =
      Project(evidence.model, recording.fx, {true, {}});
  CheckShare(projection, recording.file);
  evidence.fx_traced = Facts(projection, evidence);
  evidence.run_order = projection.order;
}

}  // namespace onnx_tag
