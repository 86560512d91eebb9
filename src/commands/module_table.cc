#include "commands/module_table.h"

#include <fmt/core.h>

#include <algorithm>

namespace onnx_tag {
namespace {

// Deeper branches are drawn as a number: their lines would fill the screen,
// and on a hostile tree the disk.
constexpr std::size_t kDrawnLevels = 60;

std::string Branch(const std::vector<char>& more, bool last) {
  std::string text;
  const std::size_t levels = more.size();
  const std::size_t drawn = std::min(levels, kDrawnLevels);
  for (std::size_t i = 0; i + 1 < drawn; ++i) text += more[i] ? "│ " : "  ";
  if (levels > drawn) return text + fmt::format("…({} levels) ", levels);
  if (drawn > 0) text += last ? "└ " : "├ ";
  return text;
}

std::string Below(const std::vector<char>& more) {
  std::string text;
  for (std::size_t i = 0; i < std::min(more.size(), kDrawnLevels); ++i) {
    text += more[i] ? "│ " : "  ";
  }
  return text;
}

// Zeros are left out: what there is stands out.
std::string OrBlank(std::uint32_t count) {
  return count == 0 ? "" : std::to_string(count);
}

std::string Share(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "-";
  return fmt::format("{:.1f}%", 100.0 * static_cast<double>(part) /
                                    static_cast<double>(whole));
}

}  // namespace

void ForEachModuleRow(const Tagging& tagging, const ModuleCounts& counts,
                      ModuleId top, std::optional<std::uint32_t> depth,
                      const std::function<void(const ModuleRow&)>& use) {
  const ModuleTree& tree = tagging.modules;
  struct Level {
    std::vector<ModuleId> modules;
    std::size_t next = 0;
  };
  const auto open = [&](ModuleId id) {
    Level level;
    for (const ModuleId child : tree.Children(id)) {
      if (counts.Total(child) > 0) level.modules.push_back(child);
    }
    return level;
  };
  use({top, "", ""});
  std::vector<Level> levels;
  std::vector<char> more;  // by level: whether siblings follow
  if (depth.value_or(1) > 0) levels.push_back(open(top));
  while (!levels.empty()) {
    Level& level = levels.back();
    if (level.next == level.modules.size()) {
      levels.pop_back();
      if (!more.empty()) more.pop_back();
      continue;
    }
    const ModuleId id = level.modules[level.next++];
    const bool last = level.next == level.modules.size();
    more.push_back(!last);
    use({id, Branch(more, last), Below(more)});
    if (depth && levels.size() >= *depth) {
      more.pop_back();
    } else {
      levels.push_back(open(id));
    }
  }
}

NumberColumns::NumberColumns(std::uint64_t largest)
    : column_(std::max<std::size_t>(std::to_string(largest).size(), 4) + 1) {}

std::string NumberColumns::Header() const {
  return fmt::format("{1:>{0}}{2:>{0}}{3:>8}{4:>{0}}{5:>{0}}{6:>{0}}{7:>{0}}  ",
                     column_, "nodes", "own", "share", "cert", "high", "med",
                     "low");
}

std::string NumberColumns::Module(const ModuleCounts& counts, ModuleId module,
                                  std::uint64_t all_nodes) const {
  const auto& levels = counts.ByConfidence(module);
  return fmt::format("{1:>{0}}{2:>{0}}{3:>8}{4:>{0}}{5:>{0}}{6:>{0}}{7:>{0}}  ",
                     column_, counts.Total(module), counts.Own(module),
                     Share(counts.Total(module), all_nodes), OrBlank(levels[3]),
                     OrBlank(levels[2]), OrBlank(levels[1]),
                     OrBlank(levels[0]));
}

std::string NumberColumns::Untagged(std::uint64_t nodes,
                                    std::uint64_t all_nodes) const {
  return fmt::format("{1:>{0}}{2:>{0}}{3:>8}{4:>{5}}  ", column_, nodes, nodes,
                     Share(nodes, all_nodes), "", 4 * column_);
}

}  // namespace onnx_tag
