// Which items of lists a decoded alignment may name by index.
#ifndef ONNX_TAG_RECIPES_ALIGN_TRUSTED_ITEMS_H_
#define ONNX_TAG_RECIPES_ALIGN_TRUSTED_ITEMS_H_

#include <optional>
#include <vector>

#include "recipes/align/replay.h"

namespace onnx_tag::recipes {

// `paths`: by step, as decoded and corrected, in the file's words. `open`:
// the lists whose items were counted, by generic path. An item is trusted
//   - where a parameter inside it names it,
//   - where its list is not open, as a Sequential of unlike parts, and another
//     item of it is named, or
//   - where its list repeats in the file itself: every item runs the same
//     products and norms in the same order, whatever a recorded one runs. Then
//     what was counted are the file's own repetitions.
PathSet FindTrustedItems(const File& file, const std::vector<Step>& steps,
                         const std::vector<std::optional<Path>>& paths,
                         const PathSet& open);

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_ALIGN_TRUSTED_ITEMS_H_
