// Finds known modules in an unknown model: a backbone with a custom head, two
// towers in one model, an encoder that was exported alone.
#ifndef ONNX_TAG_RECIPES_ANSWER_PARTS_H_
#define ONNX_TAG_RECIPES_ANSWER_PARTS_H_

#include <vector>

#include "recipes/align/candidates.h"
#include "recipes/align/replay.h"
#include "recipes/answer/ask_book.h"

namespace onnx_tag::recipes {

// The search starts at the root. A module of the file whose parameters have the
// names of a recorded module is matched with that module. No node is in two
// answers.
std::vector<BookAnswer> MatchParts(const File& file, const Book& book,
                                   AtomTable& atoms);

// A module of the file and the names below it.
struct FilePart {
  Path prefix;    // the module's path
  PathSet names;  // generic paths below it, of modules with a parameter
};

// The best first: recipes reduced to the module whose names match the part.
// `file` is the section around the part's parameters.
Candidates RankParts(const File& file, const FilePart& part, const Book& book,
                     AtomTable& atoms, std::size_t limit);

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_ANSWER_PARTS_H_
