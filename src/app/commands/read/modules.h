// The modules of a tagged model: the ones that the user names, how many nodes
// each has, and the tree that people see.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/tagging/words.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag {

// The module with this path. Throws Error(kUsage) with the model's file and the
// nearest path.
ModuleId FindModule(const ModuleTree& tree, const std::string& path,
                    const std::string& file);

// The same for a pattern: the outermost modules that fit it.
std::vector<ModuleId> FindModules(const ModuleTree& tree,
                                  const std::string& pattern,
                                  const std::string& file);

// Nodes of each module, its own and those below it.
class ModuleCounts {
 public:
  explicit ModuleCounts(const Tagging& tagging, bool with_found = true);

  std::uint64_t Own(ModuleId id) const { return own_[id]; }
  // Own and below.
  std::uint64_t Total(ModuleId id) const { return total_[id]; }

 private:
  IdVector<ModuleId, std::uint32_t> own_;
  IdVector<ModuleId, std::uint32_t> total_;
};

// The module tree as people want to see it: layers that repeat are one row,
// and lists that only hold share a row with what they hold.
//
//   encoder                BertEncoder
//   └ layer.0-11           BertLayer ×12

struct FoldedRow {
  std::vector<ModuleId> modules;   // more than one: folded into this row
  std::string label;               // "layer.0-11"
  std::string branch;              // "│ ├ "
  std::string below;               // "│ │ ": before what hangs on this row
  std::size_t depth = 0;           // rows above it
  ModuleId above = kNo<ModuleId>;  // of the row above it; the root's: kNo
};

// " (found)" if the row's modules were found in the graph alone and the row
// above does not say so: modules below a found one are found, too.
std::string_view FoundMark(const Tagging& tagging, const FoldedRow& row);

struct FoldOptions {
  bool fold = true;                  // else each module has a row
  std::optional<std::size_t> depth;  // rows below the top one
};

class FoldedTree {
 public:
  // Both must outlive it. Modules without nodes are left out.
  FoldedTree(const Tagging& tagging, const ModuleCounts& counts);

  // `top` and what is below it, parents first. Handed over one by one: a
  // hostile tree may be 10^5 levels deep.
  void ForEachRow(ModuleId top, const FoldOptions& options,
                  const std::function<void(const FoldedRow&)>& use) const;

 private:
  struct Group {
    std::vector<ModuleId> modules;
    std::string label;
  };
  // Those with nodes, in the order of the tree.
  std::vector<ModuleId> ChildrenOf(ModuleId id) const;
  std::vector<Group> ChildGroups(const Group& group, bool fold) const;
  // Goes on to the only child of lists that have nothing of their own.
  void SkipLists(Group& group) const;
  bool OnlyHolds(const Group& group) const;

  const Tagging& tagging_;
  const ModuleCounts& counts_;
  IdVector<ModuleId, std::uint64_t> shape_;  // equal for equal subtrees
};

}  // namespace onnx_tag
