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
                                 ModuleTree& modules) {
  std::vector<ProjectedFact> facts;
  facts.reserve(projection.nodes.size());
  for (const ProjectedNode& node : projection.nodes) {
    facts.push_back({node.node, modules.Add(node.module), node.trust});
  }
  return facts;
}

}  // namespace

RecordedFacts GatherRecordings(const Model& model, const Recording* trace,
                               const Recording* fx, ModuleTree& modules) {
  RecordedFacts facts;
  if (trace != nullptr) {
    const Projection projection = Project(model, trace->trace);
    CheckShare(projection, trace->file);
    facts.traced = Facts(projection, modules);
    facts.run_order = projection.order;
  }
  if (fx != nullptr) {
    const Projection projection = Project(model, fx->fx, {.names = true});
    CheckShare(projection, fx->file);
    facts.fx_traced = Facts(projection, modules);
    facts.run_order = projection.order;
  }
  return facts;
}

}  // namespace onnx_tag
