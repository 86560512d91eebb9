#include "recipes/answer/file_names.h"

#include <algorithm>

namespace onnx_tag::recipes {

bool HasFewNames(const File& file) {
  constexpr std::size_t kFew = 4;
  PathSet generic;
  for (const Path& path : file.anchors) {
    if (path.empty()) continue;
    generic.insert(Generic(path));
    if (generic.size() == kFew) return false;
  }
  return true;
}

bool IsConvolutional(const File& file) {
  std::size_t solid = 0;
  std::size_t convolutions = 0;
  for (const Step& step : file.steps[0]) {
    solid += step.solid;
    convolutions += step.convolution || step.batch_norm;
  }
  return 2 * convolutions > solid;
}

double NamedShare(const File& file) {
  std::size_t solid = 0;
  std::size_t named = 0;
  for (const Step& step : file.steps[0]) {
    solid += step.solid;
    named += step.solid && !file.anchors[step.token].empty();
  }
  return static_cast<double>(named) /
         static_cast<double>(std::max<std::size_t>(1, solid));
}

std::size_t CountAnchors(const File& file) {
  return static_cast<std::size_t>(
      std::count_if(file.anchors.begin(), file.anchors.end(),
                    [](const Path& path) { return !path.empty(); }));
}

}  // namespace onnx_tag::recipes
