// Tested by tests/exporters/source_lines_test.cc.
#include "exporters/source_lines.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "exporters/traceback.h"
#include "tagging/tag_format.h"

namespace onnx_tag {
namespace {

constexpr std::string_view kStackTrace = "pkg.torch.onnx.stack_trace";

// Files are asked for often, and there are few of them. Their names are views
// of the tracebacks.
class KnownFiles {
 public:
  CodeOwner Owner(std::string_view file) {
    const auto [at, added] = owners_.try_emplace(file);
    if (added) {
      at->second = OwnerOf(file);
      if (at->second == CodeOwner::kModel) names_.Learn(file);
    }
    return at->second;
  }

  std::string_view Shorten(std::string_view file) {
    const auto [at, added] = short_.try_emplace(file);
    if (added) at->second = names_.Shorten(file);
    return at->second;
  }

 private:
  FileNames names_;
  std::unordered_map<std::string_view, CodeOwner> owners_;
  std::unordered_map<std::string_view, std::string> short_;
};

std::string_view TracebackOf(const Model& model, NodeId node) {
  if (model[node].metadata_count > 0) {
    const std::string_view trace = ForeignMetadata(model, node, kStackTrace);
    if (!trace.empty()) return trace;
  }
  return model.has_doc_strings() ? model.DocString(node) : std::string_view();
}

}  // namespace

void AddSourceLines(std::size_t node_count, const FramesOfNode& frames_of,
                    bool all_frames, SourceLines& lines) {
  KnownFiles files;
  struct Found {
    NodeId node;
    SourceLine line;
  };
  // Names of files are shortened when all of them are known.
  std::vector<Found> found;
  std::vector<SourceLine> frames;
  for (const NodeId node : AllIds<NodeId>(node_count)) {
    if (lines.IdOf(node) != kNo<LineId>) continue;
    frames.clear();
    frames_of(node, frames);
    // What is around the entry of an export is not read.
    const SourceLine* own = nullptr;
    for (const SourceLine& frame : frames) {
      const CodeOwner owner = files.Owner(frame.file);
      if (owner == CodeOwner::kEntry) break;
      if (own == nullptr && owner == CodeOwner::kModel) own = &frame;
    }
    if (own != nullptr) found.push_back({node, *own});
  }
  for (Found& each : found) {
    each.line.file = files.Shorten(each.line.file);
    lines.Set(each.node, each.line);
    if (!all_frames) continue;
    frames.clear();
    frames_of(each.node, frames);
    for (SourceLine& frame : frames) frame.file = files.Shorten(frame.file);
    lines.SetFrames(each.node, frames);
  }
}

void AddSourceLines(const Model& model, bool all_frames, SourceLines& lines) {
  bool any = model.has_doc_strings();
  for (const NodeId node : model.Nodes()) {
    any = any || model[node].metadata_count > 0;
  }
  if (!any) return;
  AddSourceLines(
      model.node_count(),
      [&](NodeId node, std::vector<SourceLine>& frames) {
        ParseTraceback(TracebackOf(model, node), frames);
      },
      all_frames, lines);
}

std::string_view WholeFileName(const Model& model, NodeId node,
                               const SourceLine& line) {
  std::vector<SourceLine> frames;
  ParseTraceback(TracebackOf(model, node), frames);
  for (const SourceLine& frame : frames) {
    // A short name is the end of the whole one, with '/' for '\\'.
    const bool ends =
        frame.file.size() >= line.file.size() &&
        std::equal(line.file.rbegin(), line.file.rend(), frame.file.rbegin(),
                   [](char a, char b) { return a == b || b == '\\'; });
    if (ends && frame.line == line.line && frame.function == line.function) {
      return frame.file;
    }
  }
  return {};
}

}  // namespace onnx_tag
