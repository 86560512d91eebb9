// Recordings that fit a file equally well, or nearly so.
#ifndef ONNX_TAG_RECIPES_ANSWER_VOTE_H_
#define ONNX_TAG_RECIPES_ANSWER_VOTE_H_

#include <vector>

#include "recipes/align/replay.h"

namespace onnx_tag::recipes {

// What most of `votes` say, the first of which counts where they are silent;
// without a majority, what they agree on. Sets, by token, whether any two of
// them differ.
Replayed Vote(const std::vector<Replayed>& votes, std::vector<bool>& tied);

// Sets `tied` where a rival says something else.
void MarkDisputed(const Replayed& decided, const std::vector<Replayed>& rivals,
                  std::vector<bool>& tied);

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_ANSWER_VOTE_H_
