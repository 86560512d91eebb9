// Finds the values that depend on the inputs of a model.
#ifndef ONNX_TAG_GRAPH_DATA_VALUES_H_
#define ONNX_TAG_GRAPH_DATA_VALUES_H_

#include <vector>

#include "onnx_tag/model.h"

namespace onnx_tag {

class DataValues {
 public:
  // Finds the values that depend on inputs, not only on the shapes of inputs.
  explicit DataValues(const Model& model);

  bool Contains(ValueId value) const {
    return value != kNo<ValueId> && on_data_[Index(value)];
  }
  // Whether the node makes such a value.
  bool IsMadeBy(NodeId node) const;

 private:
  const Model& model_;
  std::vector<bool> on_data_;
};

}  // namespace onnx_tag

#endif  // ONNX_TAG_GRAPH_DATA_VALUES_H_
