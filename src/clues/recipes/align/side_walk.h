// Follows constants and shape arithmetic backwards from an aligned token, in
// file and recipe in parallel.
#ifndef ONNX_TAG_CLUES_RECIPES_ALIGN_SIDE_WALK_H_
#define ONNX_TAG_CLUES_RECIPES_ALIGN_SIDE_WALK_H_

#include <optional>
#include <string_view>
#include <unordered_map>

#include "clues/recipes/align/candidates.h"
#include "clues/recipes/tokens/path.h"
#include "clues/recipes/tokens/tokens.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag::recipes {

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

class SideWalk {
 public:
  // `placed`: the file's tokens. Adds the paths to `found`, by node.
  SideWalk(const TokenGraph& graph, const Candidate& candidate,
           const std::vector<Answer>& placed, bool old_activations,
           std::unordered_map<NodeId, Answer>& found)
      : graph_(graph),
        candidate_(candidate),
        placed_(placed),
        old_activations_(old_activations),
        found_(found),
        seen_(graph.flow().model().node_count(), false) {}

  // `here`: where the token of the file is.
  void From(std::uint32_t token, std::uint32_t recorded, const Answer& here);

 private:
  // A node of the file, the corresponding side node, and the consumer from
  // which it was reached.
  struct Visit {
    NodeId node;
    std::uint32_t side;
    std::uint32_t reader;  // in the walk; kNone: the token
    bool sound = true;
  };
  void Walk(ValueId value, std::uint32_t side, const Path& recorded,
            const Answer& here);
  bool IsOfHere(NodeId shape, const Path& owner, const Path& here) const;

  const TokenGraph& graph_;
  const Candidate& candidate_;
  const std::vector<Answer>& placed_;
  bool old_activations_;
  std::unordered_map<NodeId, Answer>& found_;
  IdVector<NodeId, bool> seen_;
};

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_CLUES_RECIPES_ALIGN_SIDE_WALK_H_
