// Recordings that say the same, made equal.
#ifndef ONNX_TAG_BOOK_MAKER_CANONICAL_H_
#define ONNX_TAG_BOOK_MAKER_CANONICAL_H_

#include "recipes/book/recording.h"

namespace onnx_tag::recipes {

// The recording with its texts, modules and side nodes in an order that does
// not depend on how it was made: two recordings with the same tokens, inputs,
// paths, classes and side nodes become the same.
Recording Canonical(const Recording& recording);

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_BOOK_MAKER_CANONICAL_H_
