// The attributes of a node that shapes depend on, and small tensors.
#ifndef ONNX_TAG_SIZES_ATTRIBUTES_H_
#define ONNX_TAG_SIZES_ATTRIBUTES_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "onnx_tag/model.h"

namespace onnx_tag::sizes {

// No dimension is larger; sums of products of two are within int64.
inline constexpr std::int64_t kMostDim = std::int64_t{1} << 30;

// Reads one node's attributes again at each question: most nodes are asked
// once or never.
class Attributes {
 public:
  explicit Attributes(Bytes node) : node_(node) {}

  bool Has(std::string_view name) const;
  // Numbers beyond kMostDim, which no shape has, are cut to it.
  std::optional<std::vector<std::int64_t>> Ints(std::string_view name) const;
  std::int64_t Int(std::string_view name, std::int64_t otherwise) const;
  std::string_view Text(std::string_view name) const;
  // The encoded TensorProto, or "".
  Bytes Tensor(std::string_view name) const;

 private:
  Bytes node_;
};

struct SmallTensor {
  std::int32_t data_type = 0;
  std::vector<std::int64_t> dims;
  // Elements of a tensor of integers or floats; only where there are at most
  // kMostElements, and they are in the file.
  std::optional<std::vector<double>> numbers;
};

// A shape has no more; numbers take eight bytes each, in the file sometimes
// one.
inline constexpr std::size_t kMostElements = 32;

SmallTensor ReadSmallTensor(Bytes tensor);

}  // namespace onnx_tag::sizes

#endif  // ONNX_TAG_SIZES_ATTRIBUTES_H_
