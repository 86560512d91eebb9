#include "onnx_tag/tagging.h"

namespace onnx_tag {

GivenPaths& Tagging::Give(ModuleId module) {
  if (given.size() < modules.size()) given.resize(modules.size());
  return given[module];
}

std::string_view RootClass::ConfidenceName() const {
  if (name.empty()) return "";
  return kConfidenceNames[static_cast<std::size_t>(confidence)];
}

Coverage CountTags(const Tagging& tagging) {
  Coverage coverage;
  coverage.nodes = tagging.tags.size();
  for (const Tag& tag : tagging.tags) {
    if (!tag.tagged()) continue;
    ++coverage.tagged;
    ++coverage.by_confidence[static_cast<std::size_t>(tag.confidence)];
    ++coverage.by_source[static_cast<std::size_t>(tag.source)];
    ++coverage.by_type[static_cast<std::size_t>(tagging.roles[tag.role].type)];
  }
  return coverage;
}

}  // namespace onnx_tag
