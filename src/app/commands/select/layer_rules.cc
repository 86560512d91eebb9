#include "app/commands/select/layer_rules.h"

#include <fmt/core.h>

#include "base/text.h"
#include "core/hierarchy/roll_up.h"

namespace onnx_tag {
namespace {

// What the setting's own punctuation would tear apart, or its trimming change.
bool CanBeRule(std::string_view path) {
  constexpr std::string_view kBlanks = " \t\n\r\f\v";
  return path.find_first_of(",;()") == std::string_view::npos &&
         path.front() != '=' &&
         kBlanks.find(path.front()) == std::string_view::npos &&
         kBlanks.find(path.back()) == std::string_view::npos;
}

struct Counts {
  std::uint64_t own = 0;
  std::uint64_t total = 0;
  std::uint64_t chosen_own = 0;
  std::uint64_t chosen_total = 0;
  std::uint32_t children = 0;  // those with nodes

  bool whole() const { return total > 0 && chosen_total == total; }
};

IdVector<ModuleId, Counts> CountModules(const Tagging& tagging,
                                        const std::vector<NodeId>& selected) {
  IdVector<ModuleId, Counts> counts(tagging.modules.size());
  for (const Tag& tag : tagging.tags) {
    if (tag.tagged()) ++counts[tag.module].own;
  }
  for (const NodeId node : selected) {
    const Tag& tag = tagging.tags[node];
    if (tag.tagged()) ++counts[tag.module].chosen_own;
  }
  for (Counts& count : counts) {
    count.total = count.own;
    count.chosen_total = count.chosen_own;
  }
  RollUp(tagging.modules, counts, [](Counts& to, const Counts& from) {
    to.total += from.total;
    to.chosen_total += from.chosen_total;
    to.children += from.total > 0;
  });
  return counts;
}

}  // namespace

std::string LayerRules::Setting(const std::string& device) const {
  return fmt::format("{}({})", device, Join(rules));
}

LayerRules LayerRulesFor(const Tagging& tagging,
                         const std::vector<NodeId>& selected) {
  LayerRules result;
  const ModuleTree& tree = tagging.modules;
  for (const NodeId node : selected) {
    const Tag& tag = tagging.tags[node];
    if (!tag.tagged()) {
      result.obstacles.push_back({node, "it has no module"});
    } else if (tag.module == ModuleTree::kRoot) {
      result.obstacles.push_back({node, "the root has no annotation"});
    } else if (!CanBeRule(tree.Path(tag.module))) {
      result.obstacles.push_back({node,
                                  "the path of its module has a character that "
                                  "the setting cannot hold"});
    }
  }
  const IdVector<ModuleId, Counts> counts = CountModules(tagging, selected);
  // A rule for the whole subtree below a module; where all of it is in one
  // child, the child's says more.
  const auto has_prefix = [&](ModuleId id) {
    const Counts& count = counts[id];
    return id != ModuleTree::kRoot && count.whole() &&
           count.total != count.own && (count.own > 0 || count.children > 1);
  };
  IdVector<ModuleId, char> covered(counts.size());
  for (std::size_t i = 1; i < counts.size(); ++i) {
    const ModuleId id = MakeId<ModuleId>(i);
    const Counts& count = counts[id];
    if (count.chosen_own > 0) result.modules.push_back(id);
    if (count.chosen_own > 0 && count.chosen_own < count.own) {
      result.split.push_back(Message("{}: {} of its {}", tree.Path(id),
                                     WithThousands(count.chosen_own),
                                     Count(count.own, "node")));
    }
    const ModuleId parent = tree.Parent(id);
    covered[id] = covered[parent] || has_prefix(parent);
    if (covered[id]) continue;
    if (count.chosen_own > 0) result.rules.push_back("=" + tree.Path(id));
    if (has_prefix(id)) result.rules.push_back(tree.Path(id) + ".");
  }
  return result;
}

}  // namespace onnx_tag
