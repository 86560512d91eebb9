// Compares sorted sets of hashes, and finds the best scores.
#ifndef ONNX_TAG_RECIPES_ALIGN_OVERLAP_H_
#define ONNX_TAG_RECIPES_ALIGN_OVERLAP_H_

#include <cstdint>
#include <span>
#include <vector>

namespace onnx_tag::recipes {

std::size_t CommonCount(std::span<const std::uint32_t> a,
                        std::span<const std::uint32_t> b);

// `part` / `whole`; 0 if `whole` is 0.
double Share(std::size_t part, std::size_t whole);

// The indices of the highest scores, in order.
std::vector<std::size_t> HighestOf(const std::vector<double>& scores,
                                   std::size_t limit);

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_ALIGN_OVERLAP_H_
