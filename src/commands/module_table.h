// The module tree as rows of text, for `show`.
#ifndef ONNX_TAG_COMMANDS_MODULE_TABLE_H_
#define ONNX_TAG_COMMANDS_MODULE_TABLE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "commands/module_counts.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag {

struct ModuleRow {
  ModuleId module;
  std::string branch;  // "│ ├ "
  std::string below;   // "│ │ ": the same for what hangs on this row
};

// `top` and the modules below it that have nodes, parents first, in the order
// of the tree; `depth` levels below `top`, or all. Handed over one by one: a
// hostile tree may be 10^5 levels deep.
void ForEachModuleRow(const Tagging& tagging, const ModuleCounts& counts,
                      ModuleId top, std::optional<std::uint32_t> depth,
                      const std::function<void(const ModuleRow&)>& use);

// The columns of numbers before the tree, aligned for counts up to `largest`.
class NumberColumns {
 public:
  explicit NumberColumns(std::uint64_t largest);

  std::string Header() const;
  std::string Module(const ModuleCounts& counts, ModuleId module,
                     std::uint64_t all_nodes) const;
  // Without confidences.
  std::string Untagged(std::uint64_t nodes, std::uint64_t all_nodes) const;
  std::string Blank() const { return std::string(width(), ' '); }

 private:
  std::size_t width() const { return 6 * column_ + 10; }
  std::size_t column_;  // of a count, the space before it included
};

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_MODULE_TABLE_H_
