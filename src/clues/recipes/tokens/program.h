// Tokens in one order, for the alignment. Every feature is a hash, so that a
// file and a recipe need no common table.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "clues/recipes/book/recipe.h"
#include "clues/recipes/tokens/path.h"
#include "clues/recipes/tokens/tokens.h"

namespace onnx_tag::recipes {

// File order, or depth first from the outputs: see DepthFirstOrder.
enum class Order : std::uint8_t { kFile, kDepthFirst };

// A token of a file or a recipe.
struct Step {
  std::uint32_t token = 0;
  std::uint64_t label = 0;
  std::uint64_t inputs = 0;   // labels of the tokens it reads
  std::uint64_t readers = 0;  // labels of the tokens that read it
  std::uint64_t extra = 0;    // label and extra
  std::uint32_t soft = 0;     // SoftClasses
  Weight weight = Weight::kMiddle;
  bool solid = false;
  bool convolution = false;
  bool batch_norm = false;
  bool gather = false;

  bool operator==(const Step&) const = default;
};

// The labels, dataflow and order of a file or a recipe.
struct TokenSequence {
  std::vector<std::string_view> labels;
  std::vector<std::string_view> extras;
  std::vector<std::vector<std::uint32_t>> inputs;
  std::vector<std::uint32_t> outputs;
  std::vector<bool> skipped;  // by token; empty: none
};
TokenSequence SequenceOf(const TokenGraph& graph);
TokenSequence SequenceOf(const Recipe& recipe);
// The same without ReLUs: their consumers read their inputs.
TokenSequence WithoutRelus(TokenSequence sequence);
std::vector<Step> MakeSteps(const TokenSequence& sequence, Order order);

// From the end of a list's item to the start of another item, or to the end of
// the list. So layers may repeat any number of times.
struct Jump {
  std::uint32_t from = 0;  // boundary: before step `from`
  std::uint32_t to = 0;
  std::int32_t cost = 0;
  bool counts = false;  // enters an item of a list
  Path list;            // generic
  Path target;          // the item that is entered
};

// A recipe in one order.
struct Program {
  std::vector<Step> steps;
  std::vector<const Path*> path;     // by step; null: not known
  std::vector<const Path*> anchor;   // by step; null: none
  std::vector<const Path*> generic;  // of path
  std::vector<Jump> jumps;
};

// The paths of a recipe's modules below `root`, and what its programs point
// into.
class RecordedPaths {
 public:
  RecordedPaths(const Recipe& recipe, AtomTable& atoms, std::uint32_t root = 0);
  // Null for kNone and for modules that are not below the root.
  const Path* of(std::uint32_t module) const { return At(paths_, module); }
  const Path* generic(std::uint32_t module) const {
    return At(generic_, module);
  }

 private:
  using Paths = std::vector<std::optional<Path>>;
  static const Path* At(const Paths& paths, std::uint32_t module) {
    return module == kNone || !paths[module] ? nullptr : &*paths[module];
  }

  Paths paths_;
  Paths generic_;
};

// Only the tokens of modules that have a path, for a module taken out of its
// recipe. What others read is an output.
TokenSequence Within(const RecordedPaths& paths, const Recipe& recipe,
                     TokenSequence sequence);

Program MakeProgram(const Recipe& recipe, const TokenSequence& sequence,
                    const RecordedPaths& paths, Order order);

// The places where an alignment may leave and enter a recorded program.

// After an item of a list, any item of a list with the same generic path may
// follow (layers repeat, stages have similar layers), or the end of the list.
std::vector<Jump> FindJumps(const Program& program);

// Scores are in thousandths.
inline constexpr std::int32_t kUnit = 1000;
inline constexpr std::int32_t kJumpCost = 800;
inline constexpr std::int32_t kBorrowCost = 2500;

}  // namespace onnx_tag::recipes
