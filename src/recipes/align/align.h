// A file's tokens against a recorded program whose lists may repeat any number
// of times: dynamic programming over (token of the file, place in the program).
#ifndef ONNX_TAG_RECIPES_ALIGN_ALIGN_H_
#define ONNX_TAG_RECIPES_ALIGN_ALIGN_H_

#include <cstdint>
#include <vector>

#include "recipes/tokens/program.h"

namespace onnx_tag::recipes {

// The file's side.
struct Query {
  std::vector<Step> steps;
  // By step: where the parameter it uses would be in the recording; null:
  // nothing is known.
  std::vector<const Path*> anchor;
  // What stands before and after the program costs nothing: the file has more
  // than the program.
  bool free_ends = false;
};

struct Stretch {
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct TakenJump {
  std::uint32_t before = 0;  // step of the file
  std::uint32_t jump = 0;
};

struct Alignment {
  std::int64_t score = 0;
  std::vector<std::uint32_t> match;  // by step of the file; kNone: none
  std::vector<TakenJump> jumps;
  Stretch stretch;  // of the file's steps: all, or with free ends those between
};

// What the steps in `stretch`, with so many known parameters, score against
// themselves.
std::int64_t IdealScore(const Query& query, Stretch stretch,
                        std::size_t anchors);

// Whether the table would stay within bounds.
bool CanAlign(std::size_t query_steps, std::size_t program_steps);

Alignment Align(const Query& query, const Program& program);

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_ALIGN_ALIGN_H_
