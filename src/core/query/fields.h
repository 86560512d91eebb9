// The table of query fields: lookup, checks and help use it.
#ifndef ONNX_TAG_CORE_QUERY_FIELDS_H_
#define ONNX_TAG_CORE_QUERY_FIELDS_H_

#include <span>
#include <string>
#include <string_view>

#include "core/query/parser.h"

namespace onnx_tag::query {

struct FieldInfo {
  Field field;
  std::string_view name;
  std::string help;
  // The separator that `*` does not match; 0 if there is none.
  char separator = 0;
  bool ordered = false;   // < and > make sense
  bool has_none = false;  // `none` matches nodes without a value
  // The valid values; empty: any value.
  std::span<const std::string_view> words = {};
};

std::span<const FieldInfo> Fields();

// Null if there is no field of this name.
const FieldInfo* FindField(std::string_view name);

const FieldInfo& InfoOf(Field field);

}  // namespace onnx_tag::query

#endif  // ONNX_TAG_CORE_QUERY_FIELDS_H_
