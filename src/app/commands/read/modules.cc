#include "app/commands/read/modules.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>

#include "base/glob.h"
#include "base/hash.h"
#include "base/text.h"
#include "core/hierarchy/name_parts.h"
#include "core/hierarchy/roll_up.h"
#include "onnx_tag/error.h"
#include "onnx_tag/interner.h"

namespace onnx_tag {
ModuleCounts::ModuleCounts(const Tagging& tagging, bool with_found)
    : own_(tagging.modules.size()) {
  for (const Tag& tag : tagging.tags) {
    if (!tag.tagged()) continue;
    if (with_found || tag.source != Source::kStructure) ++own_[tag.module];
  }
  total_ = own_;
  RollUp(tagging.modules, total_);
}

namespace {

// Deeper branches are drawn as a number: their lines would fill the screen,
// and on a hostile tree the disk.
constexpr std::size_t kDrawnLevels = 60;

// `more`: by level, whether siblings follow.
std::string Below(std::span<const char> more) {
  std::string text;
  for (std::size_t i = 0; i < std::min(more.size(), kDrawnLevels); ++i) {
    text += more[i] ? "│ " : "  ";
  }
  return text;
}

// The last level is that of the row itself.
std::string Branch(std::span<const char> more) {
  const std::size_t levels = more.size();
  const std::string text =
      Below(more.first(std::min(levels, kDrawnLevels) - 1));
  if (levels > kDrawnLevels) {
    return text + fmt::format("…({} levels) ", levels);
  }
  return text + (more.back() ? "├ " : "└ ");
}

// "0-11" for neighbours, "0…12" where some are missing.
std::string RangeLabel(std::string_view first, std::string_view last,
                       std::size_t count) {
  const auto number = [](std::string_view atom) {
    std::uint64_t value = 0;
    for (const char c : atom.substr(0, 9)) {
      value = value * 10 + static_cast<std::uint64_t>(c - '0');
    }
    return value;
  };
  const bool whole = number(last) == number(first) + count - 1;
  return fmt::format("{}{}{}", first, whole ? "-" : "…", last);
}

}  // namespace

std::string_view FoundMark(const Tagging& tagging, const FoldedRow& row) {
  const bool is_first =
      row.above == kNo<ModuleId> || tagging.FindFound(row.above) == nullptr;
  return is_first && tagging.FindFound(row.modules.front()) != nullptr
             ? " (found)"
             : "";
}

FoldedTree::FoldedTree(const Tagging& tagging, const ModuleCounts& counts)
    : tagging_(tagging), counts_(counts), shape_(tagging.modules.size()) {
  const ModuleTree& tree = tagging.modules;
  // A module's id is greater than its parent's. The order of the children does
  // not matter: optimizers sort the nodes of equal layers differently.
  for (std::size_t i = tree.size(); i-- > 0;) {
    const ModuleId id = MakeId<ModuleId>(i);
    std::uint64_t below = 0;
    for (const ModuleId child : ChildrenOf(id)) {
      below += HashMix(HashBytes(tree.Atom(child)), shape_[child]);
    }
    shape_[id] = HashMix(HashBytes(tree.Class(id)), below);
  }
}

std::vector<ModuleId> FoldedTree::ChildrenOf(ModuleId id) const {
  const ModuleTree& tree = tagging_.modules;
  std::vector<ModuleId> children;
  for (const ModuleId child : tree.Children(id)) {
    if (counts_.Total(child) > 0) children.push_back(child);
  }
  return children;
}

std::vector<FoldedTree::Group> FoldedTree::ChildGroups(const Group& group,
                                                       bool fold) const {
  const ModuleTree& tree = tagging_.modules;
  const std::vector<ModuleId> children = ChildrenOf(group.modules.front());
  const auto number = [&](ModuleId child) {
    const std::string_view atom = tree.Atom(child);
    return std::pair(atom.size(), atom);
  };
  std::vector<Group> groups;
  for (std::size_t i = 0; i < children.size();) {
    std::size_t end = i + 1;
    while (fold && end < children.size() &&
           hierarchy::IsNumeric(tree.Atom(children[i])) &&
           hierarchy::IsNumeric(tree.Atom(children[end])) &&
           shape_[children[end]] == shape_[children[i]]) {
      ++end;
    }
    Group found;
    const auto [first, last] = std::minmax_element(
        children.begin() + static_cast<std::ptrdiff_t>(i),
        children.begin() + static_cast<std::ptrdiff_t>(end),
        [&](ModuleId a, ModuleId b) { return number(a) < number(b); });
    found.label =
        end - i == 1 ? Message("{}", Short{tree.Atom(*first), 200})
                     : RangeLabel(tree.Atom(*first), tree.Atom(*last), end - i);
    // The same children of every module that shares the row.
    for (const ModuleId parent : group.modules) {
      for (std::size_t j = i; j < end; ++j) {
        const ModuleId same = tree.FindChild(parent, tree.Atom(children[j]));
        if (same != kNo<ModuleId>) found.modules.push_back(same);
      }
    }
    groups.push_back(std::move(found));
    i = end;
  }
  return groups;
}

bool FoldedTree::OnlyHolds(const Group& group) const {
  const std::string_view name = tagging_.modules.Class(group.modules.front());
  if (!name.empty() && name != "ModuleList" && name != "ModuleDict") {
    return false;
  }
  return std::all_of(group.modules.begin(), group.modules.end(),
                     [&](ModuleId id) { return counts_.Own(id) == 0; });
}

void FoldedTree::SkipLists(Group& group) const {
  // A hostile chain of 10^5 names is no list.
  for (int skipped = 0; skipped < 8 && OnlyHolds(group); ++skipped) {
    std::vector<Group> children = ChildGroups(group, true);
    if (children.size() != 1) return;
    children[0].label = group.label + "." + children[0].label;
    group = std::move(children[0]);
  }
}

void FoldedTree::ForEachRow(
    ModuleId top, const FoldOptions& options,
    const std::function<void(const FoldedRow&)>& use) const {
  struct Level {
    ModuleId above;
    std::vector<Group> groups;
    std::size_t next = 0;
  };
  const auto open = [&](const Group& group) {
    Level level{group.modules.front(), ChildGroups(group, options.fold), 0};
    if (options.fold) {
      for (Group& child : level.groups) SkipLists(child);
    }
    return level;
  };
  const Group root{{top}, ""};
  use({root.modules, root.label, "", "", 0, kNo<ModuleId>});
  std::vector<Level> levels;
  std::vector<char> more;  // by level: whether siblings follow
  if (options.depth.value_or(1) > 0) levels.push_back(open(root));
  while (!levels.empty()) {
    Level& level = levels.back();
    if (level.next == level.groups.size()) {
      levels.pop_back();
      if (!more.empty()) more.pop_back();
      continue;
    }
    const ModuleId above = level.above;
    const Group group = std::move(level.groups[level.next++]);
    more.push_back(level.next < level.groups.size());
    use({group.modules, group.label, Branch(more), Below(more), levels.size(),
         above});
    if (options.depth && levels.size() >= *options.depth) {
      more.pop_back();
    } else {
      levels.push_back(open(group));
    }
  }
}

ModuleId FindModule(const ModuleTree& tree, const std::string& path,
                    const std::string& file) {
  const ModuleId found =
      path == kRootText ? ModuleTree::kRoot : tree.Find(path);
  if (found != kNo<ModuleId>) return found;
  std::vector<std::string> paths;
  for (const ModuleId id : tree.All()) {
    if (paths.size() < 10'000) paths.push_back(tree.Path(id));
  }
  const std::vector<std::string_view> views(paths.begin(), paths.end());
  Fail(ErrorKind::kUsage, "{}: no module '{}'{}", file, path,
       Ours{DidYouMean(path, views,
                       "\n  see its modules with: onnx-tag show MODEL")});
}

std::vector<ModuleId> FindModules(const ModuleTree& tree,
                                  const std::string& pattern,
                                  const std::string& file) {
  std::vector<ModuleId> found;
  std::vector<char> inside(tree.size());  // below one that fits
  for (const ModuleId module : tree.All()) {
    if (!HasWildcards(pattern)) break;
    if (module == ModuleTree::kRoot) continue;
    char& covered = inside[Index(module)];
    covered = inside[Index(tree.Parent(module))];
    if (covered || !MatchesPattern(pattern, tree.Path(module), '.')) continue;
    covered = 1;
    found.push_back(module);
  }
  if (found.empty()) found.push_back(FindModule(tree, pattern, file));
  return found;
}

}  // namespace onnx_tag
