// Where a recorded program may be left and entered again.
#ifndef ONNX_TAG_RECIPES_TOKENS_JUMPS_H_
#define ONNX_TAG_RECIPES_TOKENS_JUMPS_H_

#include <set>
#include <vector>

#include "recipes/tokens/program.h"

namespace onnx_tag::recipes {

// After an item of a list may come any item of a list of the same generic path
// (layers repeat, stages borrow each other's layers), or the list's end.
std::vector<Jump> FindJumps(const Program& program);

// Of lists inside items of another list, the generic paths of those whose
// items tell where one list ends and the next begins: no later item runs what
// a first one runs (a ResNet's stages begin with a block with a shortcut).
std::set<Path> FindMarkedLists(const Program& program);

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_TOKENS_JUMPS_H_
