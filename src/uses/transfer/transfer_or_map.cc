// The whole command: what a transfer cannot carry, a mapping of the new version
// gives.
#include <algorithm>
#include <optional>

#include "onnx_tag/error.h"
#include "onnx_tag/mapping.h"
#include "onnx_tag/transfer.h"

namespace onnx_tag {
namespace {

// TO, mapped with the strategy of FROM. Nothing if the strategy needs a
// recording.
std::optional<Tagging> MappedAgain(const Model& model, const Tagging& from,
                                   const MappingOptions& options,
                                   bool structure) {
  MappingOptions mapping;
  mapping.recipes = options.recipes;
  mapping.frames = options.frames;
  mapping.structure = structure;
  if (!from.strategy.empty()) mapping.strategy = from.strategy;
  mapping.format = from.format;
  try {
    return MapNodes(model, mapping);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUsage) throw;
    return std::nullopt;
  }
}

// Whether the blocks found in the new version are those that were carried:
// invented names of two versions do not mix.
bool FoundAlike(const Tagging& carried, const Tagging& mapped) {
  std::uint64_t both = 0;
  std::uint64_t same = 0;
  for (const NodeId node : AllIds<NodeId>(carried.tags.size())) {
    const Tag& a = carried.tags[node];
    const Tag& b = mapped.tags[node];
    if (a.source != Source::kStructure || b.source != Source::kStructure) {
      continue;
    }
    ++both;
    same += carried.modules.Path(a.module) == mapped.modules.Path(b.module)
                ? 1u
                : 0u;
  }
  return both > 0 && 10 * same >= 9 * both;
}

// Whether both are the same line, also if one has fewer folders: the folder
// that all files share may be another where few tracebacks are left.
bool IsSameLine(const SourceLine& a, const SourceLine& b) {
  return a.line == b.line &&
         (a.file.ends_with(b.file) || b.file.ends_with(a.file));
}

// A traceback in the file itself is surer than the line of a counterpart.
void TakeLines(const SourceLines& own, const Model& model, SourceLines& lines) {
  for (const NodeId node : model.Nodes()) {
    const std::optional<SourceLine> line = own.Of(node);
    if (!line) continue;
    const std::optional<SourceLine> carried = lines.Of(node);
    if (carried && IsSameLine(*carried, *line)) continue;
    lines.Set(node, *line);
    lines.SetFrames(node, own.FramesOf(node));
  }
}

}  // namespace

Transferred TransferOrMap(const Model& from, const Tagging& tags,
                          const Model& to, const MappingOptions& options) {
  Transferred result;
  result.tagging = TransferTags(from, tags, to, &result.counts);
  // Tools fuse nodes and insert nodes: a version has many nodes without a
  // counterpart, but then most nodes of the smaller one have theirs.
  const std::uint64_t smaller =
      std::min<std::uint64_t>(from.node_count(), to.node_count());
  result.same_model = 4 * result.counts.counterparts() >= smaller;
  std::optional<Tagging> again = MappedAgain(to, tags, options, true);
  if (again && !tags.found.empty() && !FoundAlike(result.tagging, *again)) {
    again = MappedAgain(to, tags, options, false);
  }
  if (again) {
    result.mapped = TakeSurer(*again, result.tagging);
    TakeLines(again->lines, to, result.tagging.lines);
  }
  return result;
}

}  // namespace onnx_tag
