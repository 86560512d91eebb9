// The lines of code in the tracebacks of a model's nodes: dynamo's
// `pkg.torch.onnx.stack_trace`, and the doc strings of TorchScript exports.
#ifndef ONNX_TAG_EXPORTERS_SOURCE_LINES_H_
#define ONNX_TAG_EXPORTERS_SOURCE_LINES_H_

#include <functional>
#include <string_view>
#include <vector>

#include "onnx_tag/model.h"
#include "tagging/source_lines.h"

namespace onnx_tag {

// Adds the frames of a node to a list, the innermost first. Their texts must
// outlive the call of AddSourceLines.
using FramesOfNode = std::function<void(NodeId, std::vector<SourceLine>&)>;

// Gives lines to the nodes that have none yet, and with `all_frames` the rest
// of the frames, too.
void AddSourceLines(std::size_t node_count, const FramesOfNode& frames_of,
                    bool all_frames, SourceLines& lines);

// The same with the tracebacks in the file.
void AddSourceLines(const Model& model, bool all_frames, SourceLines& lines);

// The whole name of the file of a node's line, as the traceback in the model
// has it. Empty if the line comes from elsewhere.
std::string_view WholeFileName(const Model& model, NodeId node,
                               const SourceLine& line);

}  // namespace onnx_tag

#endif  // ONNX_TAG_EXPORTERS_SOURCE_LINES_H_
