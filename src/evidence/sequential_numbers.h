// The numbers of a torch.nn.Sequential's items, which have no gaps.
#ifndef ONNX_TAG_EVIDENCE_SEQUENTIAL_NUMBERS_H_
#define ONNX_TAG_EVIDENCE_SEQUENTIAL_NUMBERS_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "onnx_tag/hierarchy.h"

namespace onnx_tag {

// A Sequential with more missing numbers in a row holds what is not exported.
constexpr std::uint32_t kMostMissing = 3;

// Nothing where the atom is no number.
std::optional<std::uint32_t> ItemNumber(std::string_view atom);

// Adds the items between those that are known: they have no parameters.
void AddMissingNumbers(ModuleTree& tree);

}  // namespace onnx_tag

#endif  // ONNX_TAG_EVIDENCE_SEQUENTIAL_NUMBERS_H_
