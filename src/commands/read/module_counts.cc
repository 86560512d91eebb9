#include "commands/read/module_counts.h"

namespace onnx_tag {

ModuleCounts::ModuleCounts(const Tagging& tagging, bool with_found)
    : own_(tagging.modules.size()), by_confidence_(tagging.modules.size()) {
  for (const Tag& tag : tagging.tags) {
    if (!tag.tagged()) continue;
    if (!with_found && tag.source == Source::kStructure) continue;
    ++own_[Index(tag.module)];
    ++by_confidence_[Index(tag.module)]
                    [static_cast<std::size_t>(tag.confidence)];
  }
  // A module's id is greater than its parent's.
  for (std::size_t i = tagging.modules.size(); --i > 0;) {
    const ModuleId parent = tagging.modules.Parent(MakeId<ModuleId>(i));
    for (std::size_t level = 0; level < 4; ++level) {
      by_confidence_[Index(parent)][level] += by_confidence_[i][level];
    }
  }
}

}  // namespace onnx_tag
