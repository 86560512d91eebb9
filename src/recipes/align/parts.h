// Known modules in an unknown whole: a backbone under a head of somebody's
// own, towers glued together, an encoder that was exported alone.
#ifndef ONNX_TAG_RECIPES_ALIGN_PARTS_H_
#define ONNX_TAG_RECIPES_ALIGN_PARTS_H_

#include <vector>

#include "recipes/align/replay.h"
#include "recipes/answer/match.h"

namespace onnx_tag::recipes {

// From the root down: each module of the file whose parameters have the names
// of some recorded module is matched with that module alone. No node is in two
// of the answers.
std::vector<BookAnswer> MatchParts(const File& file, const Book& book,
                                   AtomTable& atoms);

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_ALIGN_PARTS_H_
