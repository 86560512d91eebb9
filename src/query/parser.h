// Parses a query. docs/query.md has the grammar.
#ifndef ONNX_TAG_QUERY_PARSER_H_
#define ONNX_TAG_QUERY_PARSER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "query/expression.h"

namespace onnx_tag::query {

// "350..420", both included, or one number.
struct LineRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};
std::optional<LineRange> ParseLineRange(std::string_view text);

// Throws Error(kUsage) with a caret under the invalid place.
Expression Parse(const std::string& text);

}  // namespace onnx_tag::query

#endif  // ONNX_TAG_QUERY_PARSER_H_
