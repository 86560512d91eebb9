// Finds known modules in an unknown model: a backbone with a custom head, two
// towers in one model, an encoder that was exported alone.
#ifndef ONNX_TAG_RECIPES_ANSWER_PARTS_H_
#define ONNX_TAG_RECIPES_ANSWER_PARTS_H_

#include <vector>

#include "recipes/align/replay.h"
#include "recipes/answer/ask_book.h"

namespace onnx_tag::recipes {

// The search starts at the root. A module of the file whose parameters have the
// names of a recorded module is matched with that module. No node is in two
// answers.
std::vector<BookAnswer> MatchParts(const File& file, const Book& book,
                                   AtomTable& atoms);

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_ANSWER_PARTS_H_
