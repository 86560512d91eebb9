// How much the names and operators of a file, or a stretch of it, tell of it.
#ifndef ONNX_TAG_RECIPES_ANSWER_FILE_NAMES_H_
#define ONNX_TAG_RECIPES_ANSWER_FILE_NAMES_H_

#include "recipes/align/replay.h"

namespace onnx_tag::recipes {

bool HasFewNames(const File& file);

// Networks of nothing but convolutions look all the same.
bool IsConvolutional(const File& file);

// Of the operations that have a weight, those whose parameter has a name.
double NamedShare(const File& file);

// Tokens whose parameter has a name.
std::size_t CountAnchors(const File& file);

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_ANSWER_FILE_NAMES_H_
