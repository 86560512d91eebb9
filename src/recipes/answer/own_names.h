// A file whose names no recording has: the structure of one, with this file's
// names for its parts.
#ifndef ONNX_TAG_RECIPES_ANSWER_OWN_NAMES_H_
#define ONNX_TAG_RECIPES_ANSWER_OWN_NAMES_H_

#include <vector>

#include "recipes/align/replay.h"

namespace onnx_tag::recipes {

// By token. A recorded module that runs something itself is the common owner
// of the parameters that were matched below it.
std::vector<Answer> TransferRoles(const File& file, const Match& match);

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_ANSWER_OWN_NAMES_H_
