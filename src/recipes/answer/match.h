// Matches a file, or a part of it, with recipes.
#ifndef ONNX_TAG_RECIPES_ANSWER_MATCH_H_
#define ONNX_TAG_RECIPES_ANSWER_MATCH_H_

#include "recipes/align/candidates.h"
#include "recipes/align/replay.h"
#include "recipes/answer/ask_book.h"

namespace onnx_tag::recipes {

// The recipe of the book that fits the file. If none fits, only the nearest.
BookAnswer MatchWhole(const File& file, const Book& book, AtomTable& atoms);

// The roles of a recipe with a similar structure, without comparing names.
BookAnswer MatchRoles(const File& file, const Book& book, AtomTable& atoms);

// The same for a part of a file, which may have more tokens at either end, and
// candidates for this part. Empty if none fits.
BookAnswer MatchPart(const File& file, Candidates candidates, AtomTable& atoms);

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_ANSWER_MATCH_H_
