#include "onnx_tag/query.h"
#include "query/matcher.h"
#include "query/parser.h"

namespace onnx_tag {

std::vector<NodeId> FindNodes(const Model& model, const Tagging& tagging,
                              std::string_view query) {
  const query::Expression expression = query::Parse(std::string(query));
  return query::Matcher(expression, tagging, model).All();
}

}  // namespace onnx_tag
