// What a model's modules cost: parameters, bytes by type, operations.
#ifndef ONNX_TAG_SIZES_MODULE_SIZES_H_
#define ONNX_TAG_SIZES_MODULE_SIZES_H_

#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "onnx_tag/tagging.h"
#include "sizes/shapes.h"

namespace onnx_tag::sizes {

struct Weight {
  ValueId value;
  ModuleId module;  // kNo: no tagged node reads it
  std::int32_t data_type;
  std::uint64_t elements;
  std::uint64_t bytes;
};

using BytesByType = std::map<std::string_view, std::uint64_t>;

struct Sums {
  std::uint64_t parameters = 0;
  std::uint64_t bytes = 0;
  std::uint64_t flops = 0;
  std::uint64_t unknown_flops = 0;  // nodes whose count is unknown

  Sums& operator+=(const Sums& other);
};

struct ModelSizes {
  std::vector<Weight> weights;
  IdVector<NodeId, std::int64_t> flops;  // kUnknownFlops
  IdVector<ModuleId, Sums> own;          // by module
  Sums untagged;
  Sums all;
  BytesByType bytes_by_type;

  // Adds up what is below each module.
  IdVector<ModuleId, Sums> Totals(const ModuleTree& tree) const;
};

ModelSizes CountSizes(const Model& model, const Tagging& tagging,
                      const Shapes& shapes);

}  // namespace onnx_tag::sizes

#endif  // ONNX_TAG_SIZES_MODULE_SIZES_H_
