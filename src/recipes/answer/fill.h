// Places the tokens and side nodes that a replay leaves open, by their
// neighbours.
#ifndef ONNX_TAG_RECIPES_ANSWER_FILL_H_
#define ONNX_TAG_RECIPES_ANSWER_FILL_H_

#include <vector>

#include "recipes/align/replay.h"

namespace onnx_tag::recipes {

// `owners`: generic paths of modules that have their own operations in some
// recipe of the architecture.
void FillTokens(const File& file, const PathSet& owners,
                std::vector<Answer>& tokens);

// The answers of all nodes of the main graph, by node of the model.
IdVector<NodeId, Answer> SpreadToNodes(const File& file,
                                       const std::vector<Answer>& tokens,
                                       const Replayed& replayed);

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_ANSWER_FILL_H_
