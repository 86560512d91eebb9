// usage_based: where a false positive hurts, a tag must say more than torch.nn.
#include <fmt/core.h>

#include <unordered_set>

#include "base/text.h"
#include "core/tagging/module_format.h"
#include "mapping/ladder/ladder.h"

namespace onnx_tag {

void PruneToUsage(Tagging& tagging) {
  const std::unordered_set<std::string_view>& torch_nn = TorchNnClasses();
  const std::unordered_set<std::string_view> exceptions(
      tagging.format.exceptions.begin(), tagging.format.exceptions.end());
  const ModuleTree& tree = tagging.modules;
  // By module: below the root, its class path has a class outside torch.nn or
  // one of the exceptions. Parents come before their children.
  IdVector<ModuleId, bool> telling(tree.size(), false);
  for (const ModuleId id : tree.All()) {
    if (id == ModuleTree::kRoot) continue;
    const std::string_view name = tree.Class(id);
    telling[id] = telling[tree.Parent(id)] ||
                  (!name.empty() &&
                   (!torch_nn.contains(name) || exceptions.contains(name)));
  }
  std::uint64_t kept = 0;
  std::uint64_t plain = 0;  // placed, and nothing but torch.nn around it
  for (Tag& tag : tagging.tags) {
    if (!tag.tagged()) continue;
    const bool sure = tag.confidence >= Confidence::kHigh;
    plain += sure && !telling[tag.module];
    if (sure && telling[tag.module]) {
      ++kept;
    } else {
      tag = Tag();
    }
  }
  if (kept == 0) {
    tagging.notes.push_back(
        plain > 0
            ? fmt::format("usage_based gives no tags: {} with direct evidence "
                          "have only "
                          "torch.nn classes on their path; add classes with "
                          "--torch-nn-exceptions, or use enhanced_semantic",
                          Count(plain, "node"))
            : "usage_based gives no tags: there is no direct evidence; "
              "enhanced_semantic also infers modules");
  }
}

}  // namespace onnx_tag
