// Model and tags in the formats of other programs.
#ifndef ONNX_TAG_COMMANDS_EXPORT_GRAPH_FORMATS_H_
#define ONNX_TAG_COMMANDS_EXPORT_GRAPH_FORMATS_H_

#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "commands/read/tag_source.h"

namespace onnx_tag {

// Takes the document in pieces.
using Write = std::function<void(std::string_view)>;

// Nodes of the model and modules as nodes of one flat graph, which every reader
// understands: `contains` edges for the tree, `data` edges for values.
void WriteGraphml(const TaggedModel& model, const Write& write);

// Modules as nested clusters.
void WriteDot(const TaggedModel& model, const Write& write);

// A line for each node.
void WriteTsv(const TaggedModel& model, const Write& write);

// A file to open in Netron beside the model: what tags say of each node.
void WriteNetron(const TaggedModel& model, const Write& write);

// Who reads what: from the node that makes a value to the one that reads it,
// subgraphs included, in the order of readers. Each pair once.
std::vector<std::pair<NodeId, NodeId>> DataEdges(const NodeList& nodes);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_EXPORT_GRAPH_FORMATS_H_
