// Model and tags as a graph, for programs that draw or analyse graphs.
#ifndef ONNX_TAG_COMMANDS_EXPORT_GRAPH_FORMATS_H_
#define ONNX_TAG_COMMANDS_EXPORT_GRAPH_FORMATS_H_

#include "commands/read/tagged_model.h"
#include "render/render.h"

namespace onnx_tag {

// Nodes of the model and modules as nodes of one flat graph, which every reader
// understands: `contains` edges for the tree, `data` edges for values.
void WriteGraphml(const TaggedModel& model, const Sink& write);

// Modules as nested clusters.
void WriteDot(const TaggedModel& model, const Sink& write);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_EXPORT_GRAPH_FORMATS_H_
