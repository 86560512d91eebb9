// Parses a query. docs/query.md has the grammar.
#ifndef ONNX_TAG_QUERY_PARSER_H_
#define ONNX_TAG_QUERY_PARSER_H_

#include <string>

#include "query/expression.h"

namespace onnx_tag::query {

// Throws Error(kUsage) with a caret under the invalid place.
Expression Parse(const std::string& text);

}  // namespace onnx_tag::query

#endif  // ONNX_TAG_QUERY_PARSER_H_
