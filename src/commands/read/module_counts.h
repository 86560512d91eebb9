// Nodes of each module, its own and those below it.
#ifndef ONNX_TAG_COMMANDS_READ_MODULE_COUNTS_H_
#define ONNX_TAG_COMMANDS_READ_MODULE_COUNTS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "onnx_tag/tagging.h"

namespace onnx_tag {

class ModuleCounts {
 public:
  explicit ModuleCounts(const Tagging& tagging, bool with_found = true);

  std::uint64_t Own(ModuleId id) const { return own_[Index(id)]; }
  std::uint64_t Total(ModuleId id) const {
    return Sum(by_confidence_[Index(id)]);
  }
  // Own and below.
  const std::array<std::uint32_t, 4>& ByConfidence(ModuleId id) const {
    return by_confidence_[Index(id)];
  }

 private:
  static std::uint64_t Sum(const std::array<std::uint32_t, 4>& counts) {
    return std::uint64_t{counts[0]} + counts[1] + counts[2] + counts[3];
  }
  std::vector<std::uint32_t> own_;
  std::vector<std::array<std::uint32_t, 4>> by_confidence_;
};

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_READ_MODULE_COUNTS_H_
