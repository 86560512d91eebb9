#include "onnx_tag/tagging.h"

#include <algorithm>

namespace onnx_tag {

GivenPaths& Tagging::Give(ModuleId module) {
  if (given.size() < modules.size()) given.resize(modules.size());
  return given[module];
}

RoleId Tagging::AddRole(const Role& role) {
  // A linear search is enough: a model has a few dozen roles.
  const auto at = std::find(roles.begin(), roles.end(), role);
  if (at != roles.end()) {
    return MakeId<RoleId>(static_cast<std::size_t>(at - roles.begin()));
  }
  return roles.Add(role);
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
