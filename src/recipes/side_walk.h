// Constants and shape arithmetic: walked backwards from an aligned token, in
// file and recording at once.
#ifndef ONNX_TAG_RECIPES_SIDE_WALK_H_
#define ONNX_TAG_RECIPES_SIDE_WALK_H_

#include <optional>
#include <unordered_map>

#include "recipes/candidates.h"
#include "recipes/tokens.h"

namespace onnx_tag::recipes {

// `other`, a path of the recording, in the file, where `recorded` is `here`:
// indices that the two recorded paths share are those of `here`.
std::optional<Path> Relative(const Candidate& candidate, const Path& recorded,
                             const Path& here, const Path& other);

class SideWalk {
 public:
  // Found paths go into `found`, by node.
  SideWalk(const TokenGraph& graph, const Candidate& candidate,
           std::unordered_map<std::uint32_t, Path>& found)
      : graph_(graph),
        candidate_(candidate),
        found_(found),
        seen_(graph.flow().model().node_count(), false) {}

  // `path`: where the token of the file is.
  void From(std::uint32_t token, std::uint32_t recorded, const Path& path);

 private:
  void Walk(ValueId value, std::uint32_t side, const Path& recorded,
            const Path& here);

  const TokenGraph& graph_;
  const Candidate& candidate_;
  std::unordered_map<std::uint32_t, Path>& found_;
  IdVector<NodeId, bool> seen_;
};

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_SIDE_WALK_H_
