// Constants and shape arithmetic: walked backwards from an aligned token, in
// file and recording at once.
#ifndef ONNX_TAG_RECIPES_ALIGN_SIDE_WALK_H_
#define ONNX_TAG_RECIPES_ALIGN_SIDE_WALK_H_

#include <optional>
#include <unordered_map>

#include "recipes/align/candidates.h"
#include "recipes/answer/answer.h"
#include "recipes/tokens/tokens.h"

namespace onnx_tag::recipes {

// `other`, a path of the recording, in the file, where `recorded` is `here`:
// what the two recorded paths share is that of `here`. Where `here` is cut, so
// is `other`: its index is as unknown. Nothing where an index would have to be
// the recording's own.
std::optional<Answer> Relative(const Candidate& candidate, const Path& recorded,
                               const Answer& here, const Path& other);

class SideWalk {
 public:
  // `placed`: the file's tokens. Found paths go into `found`, by node.
  SideWalk(const TokenGraph& graph, const Candidate& candidate,
           const std::vector<Answer>& placed, bool old_activations,
           std::unordered_map<std::uint32_t, Answer>& found)
      : graph_(graph),
        candidate_(candidate),
        placed_(placed),
        old_activations_(old_activations),
        found_(found),
        seen_(graph.flow().model().node_count(), false) {}

  // `here`: where the token of the file is.
  void From(std::uint32_t token, std::uint32_t recorded, const Answer& here);

 private:
  // A node of the file, the side node that stands for it, and the reader
  // through which it was reached.
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
  std::unordered_map<std::uint32_t, Answer>& found_;
  IdVector<NodeId, bool> seen_;
};

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_ALIGN_SIDE_WALK_H_
