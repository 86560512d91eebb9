// The module tree as people want to see it: layers that repeat are one row,
// and lists that only hold share a row with what they hold.
//
//   encoder                BertEncoder
//   └ layer.0-11           BertLayer ×12
#ifndef ONNX_TAG_COMMANDS_READ_FOLDED_TREE_H_
#define ONNX_TAG_COMMANDS_READ_FOLDED_TREE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "commands/read/module_counts.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag {

struct FoldedRow {
  std::vector<ModuleId> modules;  // more than one: folded into this row
  std::string label;              // "layer.0-11"
  std::string branch;             // "│ ├ "
  std::string below;              // "│ │ ": before what hangs on this row
  std::size_t depth = 0;          // rows above it
};

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
  std::vector<Group> ChildGroups(const Group& group, bool fold) const;
  // Goes on to the only child of lists that have nothing of their own.
  void SkipLists(Group& group) const;
  bool OnlyHolds(const Group& group) const;

  const Tagging& tagging_;
  const ModuleCounts& counts_;
  IdVector<ModuleId, std::uint64_t> shape_;  // equal for equal subtrees
};

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_READ_FOLDED_TREE_H_
