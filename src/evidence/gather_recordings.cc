// Finds the modules of nodes from a recorded run.
#include "evidence/evidence.h"
#include "evidence/file_modules.h"
#include "onnx_tag/error.h"
#include "onnx_tag/recording.h"
#include "projection/project.h"

namespace onnx_tag {
namespace {

// With a smaller share of the operations, the recording belongs to another
// model or another run (other inputs, another code path).
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

RecordedFacts Gather(const Model& model, const Recording* trace,
                     const Recording* fx,
                     const std::vector<const std::string*>& known,
                     ModuleTree& modules) {
  RecordedFacts facts;
  const auto add = [&](const RecordedProgram& program, const Recording& from,
                       Source source) {
    const Projection projection =
        Project(model, program, {source == Source::kFx, known});
    CheckShare(projection, from.file);
    for (const ProjectedNode& node : projection.nodes) {
      (node.confidence == Confidence::kCertain ? facts.recorded
                                               : facts.recorded_parts)
          .push_back({node.node, modules.Add(node.module), node.confidence,
                      source, node.because});
      const std::string_view traceback = from.Traceback(node.traceback);
      if (!traceback.empty()) {
        facts.tracebacks.emplace_back(node.node, traceback);
      }
    }
  };
  if (trace != nullptr) add(trace->trace, *trace, Source::kTrace);
  if (fx != nullptr) add(fx->fx, *fx, Source::kFx);
  return facts;
}

}  // namespace

RecordedFacts GatherRecordings(const Model& model, const Recording* trace,
                               const Recording* fx, ModuleTree& modules) {
  return Gather(model, trace, fx, {}, modules);
}

RecordedFacts GatherAnchored(const Model& model, const ScopeFacts& scopes,
                             const ParameterFacts& parameters,
                             const MetadataFacts& metadata,
                             const Recording* trace, const Recording* fx,
                             ModuleTree& modules) {
  if (trace == nullptr && fx == nullptr) return {};
  const FileModules known(model, scopes, parameters, metadata, modules);
  return Gather(model, trace, fx, known.of_node(), modules);
}

}  // namespace onnx_tag
