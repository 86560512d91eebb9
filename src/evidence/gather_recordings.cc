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

void CheckShare(const Projection& projection, std::string_view file) {
  if (projection.file_share >= kLeastShare &&
      projection.recorded_share >= kLeastRecordedShare) {
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

void GatherTrace(Evidence& evidence, const Recording& recording) {
  const Projection projection = Project(evidence.model, recording.trace);
  CheckShare(projection, recording.file);
  evidence.traced = Facts(projection, evidence);
  evidence.run_order = projection.order;
}

void GatherFx(Evidence& evidence, const Recording& recording) {
  const Projection projection =
      Project(evidence.model, recording.fx, {.names = true});
  CheckShare(projection, recording.file);
  evidence.fx_traced = Facts(projection, evidence);
  evidence.run_order = projection.order;
}

}  // namespace onnx_tag
