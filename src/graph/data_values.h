// Which values a model computes from what it is fed.
#ifndef ONNX_TAG_GRAPH_DATA_VALUES_H_
#define ONNX_TAG_GRAPH_DATA_VALUES_H_

#include <vector>

#include "onnx_tag/model.h"

namespace onnx_tag {

class DataValues {
 public:
  // Values that depend on what is fed, their shapes apart.
  explicit DataValues(const Model& model);

  bool Contains(ValueId value) const {
    return value != kNo<ValueId> && on_data_[Index(value)];
  }
  // Whether the node makes one.
  bool IsMadeBy(NodeId node) const;

 private:
  const Model& model_;
  std::vector<bool> on_data_;
};

}  // namespace onnx_tag

#endif  // ONNX_TAG_GRAPH_DATA_VALUES_H_
