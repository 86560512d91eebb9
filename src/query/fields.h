// The fields of a query, by name: lookup, checks and help come from one table.
#ifndef ONNX_TAG_QUERY_FIELDS_H_
#define ONNX_TAG_QUERY_FIELDS_H_

#include <span>
#include <string_view>

#include "query/expression.h"

namespace onnx_tag::query {

struct FieldInfo {
  std::string_view name;
  Field field;
  // Between the parts that `*` does not cross; 0: there are none.
  char separator;
  bool ordered;   // < and > make sense
  bool has_none;  // `none` stands for what has no value
  // The words it can have; empty: any.
  std::span<const std::string_view> words;
  std::string_view help;
};

std::span<const FieldInfo> Fields();

// Null where there is none of this name.
const FieldInfo* FindField(std::string_view name);

const FieldInfo& InfoOf(Field field);

}  // namespace onnx_tag::query

#endif  // ONNX_TAG_QUERY_FIELDS_H_
