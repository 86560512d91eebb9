// The answer for a token or node, and how it was found.
#ifndef ONNX_TAG_RECIPES_ALIGN_ANSWER_H_
#define ONNX_TAG_RECIPES_ALIGN_ANSWER_H_

#include <optional>
#include <string_view>

#include "onnx_tag/tagging.h"
#include "recipes/tokens/path.h"

namespace onnx_tag::recipes {

// How sure a path is, given that the recipe is right: certain if it and its
// neighbours are aligned, high if there are gaps around it, medium if another
// operation was recorded there, or its producers and consumers agree, else low.
struct Answer {
  std::optional<Path> path;
  Confidence confidence = Confidence::kLow;
  std::string_view because;  // what the module does: "runs this operation"
  bool cut = false;          // a module around the right one
};

inline constexpr std::string_view kRunsIt = "runs this operation";

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_ALIGN_ANSWER_H_
