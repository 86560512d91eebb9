// Nodes of a tagged model by a query, in the language of `onnx-tag query`
// (docs/reference/query.md).
//
//   const Tagging tagging = MapNodes(model, {});
//   for (NodeId node : FindNodes(model, tagging, "type=attention and layer=0"))
#pragma once

#include <string_view>
#include <vector>

#include "onnx_tag/tagging.h"

namespace onnx_tag {

// In the order of the file. Throws Error(kUsage), with the place, if the query
// is malformed.
std::vector<NodeId> FindNodes(const Model& model, const Tagging& tagging,
                              std::string_view query);

}  // namespace onnx_tag
