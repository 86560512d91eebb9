// Finds the modules of nodes from a recorded run.
#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "clues/projection/project.h"
#include "mapping/evidence/evidence.h"
#include "onnx_tag/error.h"
#include "onnx_tag/recording.h"

namespace onnx_tag {
namespace {

// With a smaller share of the operations, the recording belongs to another
// model or another run (other inputs, another code path).
constexpr double kLeastShare = 0.7;
// Exporters fold and drop operations: BatchNorm, dropout, masks of ones.
constexpr double kLeastRecordedShare = 0.4;

// The same weights are the same model, whatever a tool has fused or removed.
// Other weights are another model: of 666 wrong recordings, 9 had enough of the
// operations, with at most 0.19 of the weights; 144 right ones had 0.53 or
// more.
constexpr double kLeastWeights = 0.8;
constexpr double kOtherWeights = 0.35;
constexpr double kLeastAtAll = 0.25;

void CheckShare(const Projection& projection, std::string_view file) {
  const double operations = projection.file_share;
  const std::optional<double> weights = projection.weight_share;
  if (operations >= kLeastShare &&
      projection.recorded_share >= kLeastRecordedShare &&
      weights.value_or(1) >= kOtherWeights) {
    return;
  }
  if (weights.value_or(0) >= kLeastWeights && operations >= kLeastAtAll) return;
  Fail(
      ErrorKind::kUsage,
      "{}: was recorded from another model: {:.0f} % of the file's operations "
      "are found in it, and {:.0f} % of its operations in the file{}\n  record "
      "the model as it was exported, with the same inputs: {}",
      file, 100 * operations, 100 * projection.recorded_share,
      weights ? fmt::format("; {:.0f} % of the file's matrices have a shape "
                            "that was recorded",
                            100 * *weights)
              : "",
      kRecordCommand);
}

// The most that a match can be trusted. Where tools have reordered and replaced
// operations, it goes wrong in places: on ten models in nine forms, certain was
// right for 95 % of the nodes with a share of 0.8 to 0.9, high for 74 to 78 %
// with 0.7 to 0.8, and for 35 to 85 % with less.
Confidence MostConfidence(double share) {
  if (share >= 0.9) return Confidence::kCertain;
  if (share >= 0.8) return Confidence::kHigh;
  return share >= kLeastShare ? Confidence::kMedium : Confidence::kLow;
}

}  // namespace

FileModules::FileModules(const GraphFacts& graph, const ScopeFacts& scopes,
                         const ParameterFacts& parameters,
                         const MetadataFacts& metadata,
                         const ModuleTree& modules)
    : paths_(modules.size()), of_node_(graph.model.node_count(), nullptr) {
  for (const ModuleId id : AllIds<ModuleId>(paths_.size())) {
    paths_[id] = modules.Path(id);
  }
  for (const NodeId node : graph.model.Nodes()) {
    const Owner owner = parameters.OwnerOf(graph, modules, node);
    if (owner.strength > 1 && !parameters.is_carrier[node]) {
      Set(node, owner.module);
    }
    const ScopeId scope = scopes.node_scope[node];
    if (scope != kNo<ScopeId>) Set(node, scopes.scopes[scope].module);
  }
  for (const Claim& fact : metadata.metadata) Set(fact.node, fact.module);
}

RecordedFacts GatherRecordings(const GraphFacts& graph, const Recording* trace,
                               const Recording* fx, const FileModules& anchors,
                               ModuleTree& modules) {
  RecordedFacts facts;
  const auto add = [&](const RecordedProgram& program, const Recording& from,
                       Source source) {
    const Projection projection =
        Project(graph, program, {source == Source::kFx, anchors.of_node()});
    CheckShare(projection, from.file);
    const Confidence most = MostConfidence(projection.file_share);
    for (const ProjectedNode& node : projection.nodes) {
      (node.confidence == Confidence::kCertain ? facts.recorded
                                               : facts.recorded_parts)
          .push_back({node.node, modules.Add(node.module),
                      std::min(node.confidence, most), source, node.because});
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

}  // namespace onnx_tag
