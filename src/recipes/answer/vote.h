// Combines recipes that fit a file equally well, or nearly so.
#ifndef ONNX_TAG_RECIPES_ANSWER_VOTE_H_
#define ONNX_TAG_RECIPES_ANSWER_VOTE_H_

#include <vector>

#include "recipes/align/replay.h"

namespace onnx_tag::recipes {

// The majority answer of `votes`; if a token has no votes, the first one is
// used. Without a majority, the common ancestor. Sets `tied`, by token, if two
// votes differ.
Replayed Vote(const std::vector<Replayed>& votes, std::vector<bool>& tied);

// Sets `tied` if a rival disagrees.
void MarkDisputed(const Replayed& decided, const std::vector<Replayed>& rivals,
                  std::vector<bool>& tied);

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_ANSWER_VOTE_H_
