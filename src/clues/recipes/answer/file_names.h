// Measures how much the names and operators of a file, or of a part, reveal.
#ifndef ONNX_TAG_CLUES_RECIPES_ANSWER_FILE_NAMES_H_
#define ONNX_TAG_CLUES_RECIPES_ANSWER_FILE_NAMES_H_

#include "clues/recipes/align/candidates.h"
#include "clues/recipes/align/replay.h"
#include "clues/recipes/answer/match.h"

namespace onnx_tag::recipes {

bool HasFewNames(const File& file);

// Whether the file is a purely convolutional network. Such networks look alike.
bool IsConvolutional(const File& file);

// The share of operations with a weight whose parameter has a name.
double NamedShare(const File& file);

// The number of tokens whose parameter has a name.
std::size_t CountAnchors(const File& file);

// Modules of a recipe that a file cannot have.
//
// Exports keep the names of norms. If a file names its norms, but none of
// the norms of a recorded module, that module is not in the file: Whisper's
// decoder is not in a classifier on top of its encoder.
class AbsentModules {
 public:
  AbsentModules(const File& file, const Candidate& candidate);

  // Whether the module with this path in the file is absent, or in one that is.
  bool Contains(const Path& path) const;

 private:
  const PathSet& known_;
  PathSet normed_;  // recorded modules with norms below them
};

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_CLUES_RECIPES_ANSWER_FILE_NAMES_H_
