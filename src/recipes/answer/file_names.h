// Measures how much the names and operators of a file, or of a part, reveal.
#ifndef ONNX_TAG_RECIPES_ANSWER_FILE_NAMES_H_
#define ONNX_TAG_RECIPES_ANSWER_FILE_NAMES_H_

#include "recipes/align/replay.h"

namespace onnx_tag::recipes {

bool HasFewNames(const File& file);

// Whether the file is a purely convolutional network. Such networks look alike.
bool IsConvolutional(const File& file);

// The share of operations with a weight whose parameter has a name.
double NamedShare(const File& file);

// The number of tokens whose parameter has a name.
std::size_t CountAnchors(const File& file);

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_ANSWER_FILE_NAMES_H_
