// Where a file says that a node stands, in its own spelling.
#pragma once

#include <string_view>

#include "onnx_tag/model.h"

namespace onnx_tag {

// "/encoder/layer.0/query" of "/encoder/layer.0/query/MatMul"; "" without
// scope.
inline std::string_view ScopeOfName(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  return slash == std::string_view::npos ? std::string_view()
                                         : name.substr(0, slash);
}

// The path of scopes as the file spells it: the name that the exporter gave the
// node up to its last slash ("/encoder/layer.0/query" of
// "/encoder/layer.0/query/MatMul"), else the module in torch's metadata; "" if
// it has neither.
std::string_view ScopePath(const Model& model, NodeId node);

}  // namespace onnx_tag
