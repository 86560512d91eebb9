// The answer for a token or node, and how it was found.
#ifndef ONNX_TAG_RECIPES_ALIGN_ANSWER_H_
#define ONNX_TAG_RECIPES_ALIGN_ANSWER_H_

#include <cstdint>
#include <optional>

#include "recipes/tokens/path.h"

namespace onnx_tag::recipes {

// How a path was found, the most certain first.
enum class How : std::uint8_t {
  kReplay,   // aligned, and its neighbours are aligned
  kSide,     // an input of an aligned token, as in the recipe
  kLoose,    // aligned, with gaps around it
  kInstead,  // at the place of a different recorded operation
  kBetween,  // its producers and consumers agree
  kServes,   // a constant or shape of placed nodes
  kGap,      // between placed tokens in order
  kRole,     // the recipe's roles, this file's names
  kNothing,
};

struct Answer {
  std::optional<Path> path;
  How how = How::kNothing;
  bool cut = false;  // shortened at a list whose index is unknown
};

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_ALIGN_ANSWER_H_
