// The numbers of a torch.nn.Sequential's items, which have no gaps.
#ifndef ONNX_TAG_EVIDENCE_SEQUENTIAL_NUMBERS_H_
#define ONNX_TAG_EVIDENCE_SEQUENTIAL_NUMBERS_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "onnx_tag/hierarchy.h"

namespace onnx_tag {

// With more consecutive missing numbers, a Sequential has items that were not
// exported.
constexpr std::uint32_t kMostMissing = 3;

// nullopt if the atom is not a number.
std::optional<std::uint32_t> ItemNumber(std::string_view atom);

// Adds the items without parameters between known items, and those that may
// follow the last or precede the first.
void AddMissingNumbers(ModuleTree& tree);

}  // namespace onnx_tag

#endif  // ONNX_TAG_EVIDENCE_SEQUENTIAL_NUMBERS_H_
