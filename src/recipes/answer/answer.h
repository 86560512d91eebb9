// What is said of a token or node, and on what grounds.
#ifndef ONNX_TAG_RECIPES_ANSWER_ANSWER_H_
#define ONNX_TAG_RECIPES_ANSWER_ANSWER_H_

#include <cstdint>
#include <optional>

#include "recipes/tokens/path.h"

namespace onnx_tag::recipes {

// How a path was found, the surest first.
enum class How : std::uint8_t {
  kReplay,   // aligned, and so is what stands around it
  kSide,     // read by an aligned token as in the recording
  kLoose,    // aligned, with gaps around it
  kInstead,  // stands where the recording has something else
  kBetween,  // what it reads and what reads it agree
  kServes,   // a constant or shape of placed nodes
  kGap,      // between placed tokens in order
  kRole,     // the recording's roles, this file's names
  kNothing,
};

struct Answer {
  std::optional<Path> path;
  How how = How::kNothing;
  bool cut = false;  // at a list whose index is not known
};

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_ANSWER_ANSWER_H_
