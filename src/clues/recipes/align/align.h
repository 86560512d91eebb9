// Aligns the tokens of a file with a recorded program whose lists may repeat
// any number of times: dynamic programming over (token of the file, place in
// the program).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "clues/recipes/tokens/program.h"

namespace onnx_tag::recipes {

// The file's side.
struct Query {
  std::vector<Step> steps;
  // By step: the recorded module of the parameter that it uses; null: unknown.
  std::vector<const Path*> anchor;
  // Steps before and after the program have no penalty, because the file has
  // more than the program.
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
  Stretch stretch;  // the aligned steps: all, or a part with free ends
};

// Of a match of two equal labels.
constexpr std::int32_t ScoreOf(Weight weight) {
  return weight == Weight::kHeavy    ? 3 * kUnit
         : weight == Weight::kMiddle ? kUnit
                                     : kUnit * 2 / 5;
}

// The score of the steps in `stretch` against themselves, with so many known
// parameters.
std::int64_t IdealScore(const Query& query, Stretch stretch,
                        std::size_t anchors);

// Whether the table would fit into the limit.
bool CanAlign(std::size_t query_steps, std::size_t program_steps);

Alignment Align(const Query& query, const Program& program);

// Turns an alignment into module paths. List indices are counted, not copied.

// By step of the file; nullopt if it has no match.
std::vector<std::optional<Path>> Decode(const Program& program,
                                        const Alignment& alignment);

}  // namespace onnx_tag::recipes
