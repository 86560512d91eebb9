#include "model/element_count.h"

namespace onnx_tag {

std::uint64_t CountElements(std::span<const std::int64_t> dims) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 48;
  std::uint64_t count = 1;
  for (const std::int64_t dim : dims) {
    if (dim < 0) return 0;
    const auto size = static_cast<std::uint64_t>(dim);
    if (size != 0 && count > kMost / size) return 0;
    count *= size;
  }
  return count;
}

}  // namespace onnx_tag
