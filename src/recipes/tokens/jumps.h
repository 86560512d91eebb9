// The places where an alignment may leave and enter a recorded program.
#ifndef ONNX_TAG_RECIPES_TOKENS_JUMPS_H_
#define ONNX_TAG_RECIPES_TOKENS_JUMPS_H_

#include <set>
#include <vector>

#include "recipes/tokens/program.h"

namespace onnx_tag::recipes {

// After an item of a list, any item of a list with the same generic path may
// follow (layers repeat, stages have similar layers), or the end of the list.
std::vector<Jump> FindJumps(const Program& program);

// The generic paths of nested lists whose items show where a list starts: only
// the first item has certain operations (a stage of a ResNet starts with a
// block with a shortcut).
std::set<Path> FindMarkedLists(const Program& program);

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_TOKENS_JUMPS_H_
