// The modules of a file's tokens and side nodes from one aligned recipe.
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "clues/recipes/align/align.h"
#include "clues/recipes/align/candidates.h"
#include "clues/recipes/tokens/tokens.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag::recipes {

// The alignment of one recipe in the better of two orders.
struct Match {
  Candidate* candidate = nullptr;
  Order order = Order::kFile;
  Alignment alignment;
  double fit = 0;  // score / score of the file against itself
};

// A file, prepared once.
struct File {
  const TokenGraph& graph;
  std::vector<Path> anchors;  // by token; empty: none
  IdVector<NodeId, Path> node_anchors;
  std::vector<Step> steps[2];  // by Order
  // Activations were functions, not modules: see match.h.
  bool old_activations = false;
  PathSet known = {};  // modules of parameters and their ancestors
  // The steps are only a part of the file.
  bool is_part = false;

  const std::vector<Step>& StepsIn(Order order) const {
    return steps[static_cast<std::size_t>(order)];
  }
};

// The answer for a token or node, and how it was found.
//
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

// Converts `other`, a path of the recipe, to a path of the file, if
// `recorded` corresponds to `here`. The part that both recorded paths share
// comes from `here`. If `here` is shortened because its index is unknown, so is
// the result. nullopt if an index would have to come from the recipe.
std::optional<Answer> Relative(const Candidate& candidate, const Path& recorded,
                               const Answer& here, const Path& other);

struct Replayed {
  std::vector<Answer> tokens;
  std::unordered_map<NodeId, Answer> sides;
};

Replayed Replay(const File& file, const Match& match);

// A token of the file, and the recorded one.
using TokenPair = std::pair<std::uint32_t, std::uint32_t>;

// side_walk.cc: follows constants and shape arithmetic backwards from aligned
// tokens, which have a path, in file and recipe in parallel. Adds the paths to
// `replayed.sides`.
void WalkSides(const File& file, const Candidate& candidate,
               const std::vector<TokenPair>& aligned, Replayed& replayed);

// The list items whose index can be trusted after an alignment.

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
