// The weights that a node reads, also behind casts, transposes and quantizers.
#ifndef ONNX_TAG_STRUCTURE_WEIGHTS_H_
#define ONNX_TAG_STRUCTURE_WEIGHTS_H_

#include <cstdint>
#include <vector>

#include "graph/data_values.h"
#include "graph/operators.h"
#include "onnx_tag/model.h"

namespace onnx_tag::structure {

struct Weight {
  ValueId value = kNo<ValueId>;    // the initializer or constant itself
  std::vector<std::int64_t> dims;  // as the node reads it
};

class Weights {
 public:
  Weights(const Model& model, const Operators& ops, const DataValues& data)
      : model_(model), ops_(ops), data_(data) {}

  // The weight behind `value`; kNo if there is none of rank 1 or more.
  Weight Find(ValueId value) const;
  // The first input of `node` that has a weight of `rank` or more.
  Weight Of(NodeId node, std::size_t rank) const;

 private:
  const Model& model_;
  const Operators& ops_;
  const DataValues& data_;
};

}  // namespace onnx_tag::structure

#endif  // ONNX_TAG_STRUCTURE_WEIGHTS_H_
