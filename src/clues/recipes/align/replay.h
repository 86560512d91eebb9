// The modules of a file's tokens and side nodes from one aligned recipe.
#ifndef ONNX_TAG_CLUES_RECIPES_ALIGN_REPLAY_H_
#define ONNX_TAG_CLUES_RECIPES_ALIGN_REPLAY_H_

#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "clues/recipes/align/align.h"
#include "clues/recipes/align/candidates.h"
#include "clues/recipes/align/side_walk.h"
#include "clues/recipes/tokens/tokens.h"

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
};

struct Replayed {
  std::vector<Answer> tokens;
  std::unordered_map<NodeId, Answer> sides;
};

Replayed Replay(const File& file, const Match& match);

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

#endif  // ONNX_TAG_CLUES_RECIPES_ALIGN_REPLAY_H_
