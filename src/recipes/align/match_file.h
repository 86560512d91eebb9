// A file, or a stretch of it, against recordings: which one fits, and what
// follows.
#ifndef ONNX_TAG_RECIPES_ALIGN_MATCH_FILE_H_
#define ONNX_TAG_RECIPES_ALIGN_MATCH_FILE_H_

#include "recipes/align/candidates.h"
#include "recipes/align/replay.h"
#include "recipes/answer/match.h"

namespace onnx_tag::recipes {

// The recording of the book that the file is a copy of; where none fits, only
// the nearest.
BookAnswer MatchWhole(const File& file, const Book& book, AtomTable& atoms);

// The roles of a recording whose structure is like the file's, whatever the
// names.
BookAnswer MatchRoles(const File& file, const Book& book, AtomTable& atoms);

// The same for a stretch of a file, which may have more at either end, and
// recordings of what it may be; nothing where none fits.
BookAnswer MatchPart(const File& file, Candidates candidates, AtomTable& atoms);

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_ALIGN_MATCH_FILE_H_
