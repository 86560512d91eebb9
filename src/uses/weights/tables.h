// Tensors that no checkpoint changes: tables that an exporter computed.
#ifndef ONNX_TAG_USES_WEIGHTS_TABLES_H_
#define ONNX_TAG_USES_WEIGHTS_TABLES_H_

#include <string_view>

#include "uses/weights/block_search.h"

namespace onnx_tag::weights {

// A mask that masks nothing. No parameter has these numbers, and a bias has one
// dimension.
constexpr std::string_view kOneNumber = "one number throughout";

// This, "a mask", "a range", "a table of positions"; "" if it may be a weight.
std::string_view TableKind(const Numbers& numbers);

}  // namespace onnx_tag::weights

#endif  // ONNX_TAG_USES_WEIGHTS_TABLES_H_
