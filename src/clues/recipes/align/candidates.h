// Chooses the recipes to align.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "clues/recipes/book/recipe.h"
#include "clues/recipes/tokens/path.h"
#include "clues/recipes/tokens/program.h"
#include "clues/recipes/tokens/tokens.h"

namespace onnx_tag::recipes {

// A recipe, read and prepared. Programs point into it, so it must not move.
struct Candidate {
  // `root`: only this module of the recipe. Values that other modules compute
  // for it are inputs.
  Candidate(Recipe read, AtomTable& atoms, bool relus_folded,
            std::uint32_t root = 0);
  Candidate(const Candidate&) = delete;
  Candidate& operator=(const Candidate&) = delete;
  ~Candidate() = default;

  const Program& ProgramIn(Order order);

  const Recipe recipe;
  const std::string family;  // with the path of `root`
  const RecordedPaths paths;
  const TokenSequence sequence;
  double names = 0;  // how well module names agree
  double grams = 0;  // how well labels do
  // The file makes no output by an operation that makes one of the recipe (a
  // model without logits has no head), or it runs a module again and the recipe
  // does not.
  bool contradicted = false;
  // The prefixes before the common part of the paths: `file_prefix` in the file
  // corresponds to `recorded_prefix` in the recipe.
  Path file_prefix;
  Path recorded_prefix;

 private:
  std::unique_ptr<Program> programs_[2];
};

// Converts a path of the recipe to a path of the file, and back. nullopt if
// it is outside the common part.
std::optional<Path> ToFile(const Candidate& candidate, const Path& recorded);
std::optional<Path> ToRecipe(const Candidate& candidate, const Path& path);

// Whether the recorded module is one of transformers' activations.
bool IsActivationModule(const Recipe& recipe, std::uint32_t module);

using Candidates = std::vector<std::unique_ptr<Candidate>>;

// The best first, by names and labels, with few recipes of each family
// first. Without `anchors`, by labels alone.
Candidates RankByNames(const TokenGraph& graph,
                       const std::vector<Path>& anchors, const Book& book,
                       AtomTable& atoms);

// Compares sorted sets of hashes, and finds the best scores.

std::size_t CommonCount(std::span<const std::uint32_t> a,
                        std::span<const std::uint32_t> b);

// `part` / `whole`; 0 if `whole` is 0.
double Share(std::size_t part, std::size_t whole);

// The indices of the highest scores, in order.
std::vector<std::size_t> HighestOf(const std::vector<double>& scores,
                                   std::size_t limit);

}  // namespace onnx_tag::recipes
