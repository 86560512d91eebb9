// Finds the list items whose index can be trusted after an alignment.
#ifndef ONNX_TAG_RECIPES_ALIGN_TRUSTED_ITEMS_H_
#define ONNX_TAG_RECIPES_ALIGN_TRUSTED_ITEMS_H_

#include <optional>
#include <vector>

#include "recipes/align/replay.h"

namespace onnx_tag::recipes {

// `paths`: the decoded and corrected paths of the file, by step. `open`: the
// lists whose items were counted, by generic path. An item is trusted if one of
// these is true:
//   - A parameter inside it has its name.
//   - Its list is not open (such as a Sequential of different parts), and
//     another item of the list has a name.
//   - Its list repeats in the file itself: every item runs the same products
//     and norms in the same order. Then the counted items are the file's
//     repetitions.
PathSet FindTrustedItems(const File& file, const std::vector<Step>& steps,
                         const std::vector<std::optional<Path>>& paths,
                         const PathSet& open);

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_ALIGN_TRUSTED_ITEMS_H_
