// The recorded classes of the modules of a file.
#ifndef ONNX_TAG_RECIPES_ANSWER_RECORDED_CLASSES_H_
#define ONNX_TAG_RECIPES_ANSWER_RECORDED_CLASSES_H_

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "recipes/align/candidates.h"
#include "recipes/tokens/path.h"

namespace onnx_tag::recipes {

// If `layer.1` was recorded and all layers of the recipe have the same
// class, `layer.7` has it, too.
class RecordedClasses {
 public:
  // The best recipe first; `candidate` must outlive this.
  void Add(const Candidate& candidate);

  // The best recipe's class, then those of others; empty: not known.
  std::vector<std::string_view> Of(const Path& path) const;

 private:
  struct Known {
    std::unordered_map<Path, std::string_view, PathHash> exact;
    // "" if the items of a list differ.
    std::unordered_map<Path, std::string_view, PathHash> generic;
  };
  std::vector<Known> known_;
};

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_ANSWER_RECORDED_CLASSES_H_
