// For a file whose names are in no recipe: uses the structure of a recipe
// with the names of the file.
#ifndef ONNX_TAG_RECIPES_ANSWER_OWN_NAMES_H_
#define ONNX_TAG_RECIPES_ANSWER_OWN_NAMES_H_

#include <vector>

#include "recipes/align/replay.h"

namespace onnx_tag::recipes {

// By token. A recorded module with its own operations corresponds to the common
// ancestor of the parameters that were matched below it.
std::vector<Answer> TransferRoles(const File& file, const Match& match);

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_ANSWER_OWN_NAMES_H_
