// usage_based: where a false positive hurts, a tag must say more than torch.nn.
#include <algorithm>
#include <unordered_set>

#include "base/text.h"
#include "generated/torch_nn_classes.h"
#include "mapping/ladder.h"

namespace onnx_tag {

void PruneToUsage(Tagging& tagging) {
  std::unordered_set<std::string_view> torch_nn;
  for (const std::string_view name : Split(kTorchNnClasses, '\n')) {
    torch_nn.insert(name);
  }
  const std::unordered_set<std::string_view> exceptions(
      tagging.format.exceptions.begin(), tagging.format.exceptions.end());
  const ModuleTree& tree = tagging.modules;
  // By module: below the root, its class path has a class outside torch.nn or
  // one of the exceptions. Parents come before their children.
  IdVector<ModuleId, bool> telling(tree.size(), false);
  for (const ModuleId id : AllIds<ModuleId>(tree.size())) {
    if (id == ModuleTree::kRoot) continue;
    const std::string_view name = tree.Class(id);
    telling[id] = telling[tree.Parent(id)] ||
                  (!name.empty() &&
                   (!torch_nn.contains(name) || exceptions.contains(name)));
  }
  for (Tag& tag : tagging.tags) {
    if (!tag.tagged()) continue;
    if (tag.confidence < Confidence::kHigh || !telling[tag.module]) tag = Tag();
  }
}

}  // namespace onnx_tag
