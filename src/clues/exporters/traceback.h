// Tracebacks that exporters write into a node, and whose code their frames are.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "onnx_tag/model.h"
#include "onnx_tag/source_lines.h"

namespace onnx_tag {

// Adds the frames of a traceback to an empty list, the innermost first; files
// as they are written. Takes both forms, in linear time; other lines are
// skipped.
//
//   File "/x/model.py", line 25, in forward      dynamo: outermost first
//       x = self.conv1(x)
//
//   /x/model.py(25): forward                     TorchScript: innermost first
void ParseTraceback(std::string_view text, std::vector<SourceLine>& frames);

enum class CodeOwner : std::uint8_t {
  kModel,  // the user's code, and libraries of models
  kTools,  // torch, and packages that help to export
  kEntry,  // where an export begins; frames around it are not the model's
  kInterpreter,
};

CodeOwner OwnerOf(std::string_view file);

// Shortens the names of files. Knows first all files of the model's own code.
class FileNames {
 public:
  void Learn(std::string_view file);
  // "transformers/activations.py" after `site-packages`, else the name below
  // the longest folder that the learned files outside of packages share.
  std::string Shorten(std::string_view file) const;

 private:
  std::string folder_;  // ends with '/'
  bool any_ = false;
};

// The lines of code in the tracebacks of a model's nodes: dynamo's
// `pkg.torch.onnx.stack_trace`, and the doc strings of TorchScript exports.

// Adds the frames of a node to a list, the innermost first. Their texts must
// outlive the call of AddSourceLines.
using FramesOfNode = std::function<void(NodeId, std::vector<SourceLine>&)>;

// Gives lines to the nodes that have none yet, and with `all_frames` the rest
// of the frames, too.
void AddSourceLines(std::size_t node_count, const FramesOfNode& frames_of,
                    bool all_frames, SourceLines& lines);

// The same with the tracebacks in the file.
void AddSourceLines(const Model& model, bool all_frames, SourceLines& lines);

}  // namespace onnx_tag
