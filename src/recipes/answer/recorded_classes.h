// The classes that recordings know for the modules of a file.
#ifndef ONNX_TAG_RECIPES_ANSWER_RECORDED_CLASSES_H_
#define ONNX_TAG_RECIPES_ANSWER_RECORDED_CLASSES_H_

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "recipes/align/candidates.h"
#include "recipes/tokens/path.h"

namespace onnx_tag::recipes {

// Layers are alike: a class is known for `layer.7` where `layer.1` was
// recorded, if all layers of the recording have it.
class RecordedClasses {
 public:
  // The best recording first; `candidate` must outlive this.
  void Add(const Candidate& candidate);

  // The best recording's class, then those of others; empty: not known.
  std::vector<std::string_view> Of(const Path& path) const;

 private:
  struct Known {
    std::unordered_map<Path, std::string_view, PathHash> exact;
    // "" where the items of a list differ.
    std::unordered_map<Path, std::string_view, PathHash> generic;
  };
  std::vector<Known> known_;
};

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_ANSWER_RECORDED_CLASSES_H_
