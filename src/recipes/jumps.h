// Where a recorded program may be left and entered again.
#ifndef ONNX_TAG_RECIPES_JUMPS_H_
#define ONNX_TAG_RECIPES_JUMPS_H_

#include <vector>

#include "recipes/program.h"

namespace onnx_tag::recipes {

// After an item of a list may come any item of a list of the same generic path
// (layers repeat, stages borrow each other's layers), or the list's end.
std::vector<Jump> FindJumps(const Program& program);

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_JUMPS_H_
