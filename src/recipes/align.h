// A file's tokens against a recorded program whose lists may repeat any number
// of times: dynamic programming over (token of the file, place in the program).
#ifndef ONNX_TAG_RECIPES_ALIGN_H_
#define ONNX_TAG_RECIPES_ALIGN_H_

#include <cstdint>
#include <vector>

#include "recipes/program.h"

namespace onnx_tag::recipes {

// The file's side.
struct Query {
  std::vector<Step> steps;
  // By step: where the parameter it uses would be in the recording; null:
  // nothing is known.
  std::vector<const Path*> anchor;
};

struct TakenJump {
  std::uint32_t before = 0;  // step of the file
  std::uint32_t jump = 0;
};

struct Alignment {
  std::int64_t score = 0;
  std::vector<std::uint32_t> match;  // by step of the file; kNone: none
  std::vector<TakenJump> jumps;
};

// What a query with so many known parameters scores against itself.
std::int64_t IdealScore(const Query& query, std::size_t anchors);

// Whether the table would stay within bounds.
bool CanAlign(std::size_t query_steps, std::size_t program_steps);

Alignment Align(const Query& query, const Program& program);

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_ALIGN_H_
