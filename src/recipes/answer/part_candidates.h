// Finds modules of recipes that may correspond to a part of a file.
#ifndef ONNX_TAG_RECIPES_ANSWER_PART_CANDIDATES_H_
#define ONNX_TAG_RECIPES_ANSWER_PART_CANDIDATES_H_

#include "recipes/align/candidates.h"
#include "recipes/align/replay.h"

namespace onnx_tag::recipes {

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

#endif  // ONNX_TAG_RECIPES_ANSWER_PART_CANDIDATES_H_
