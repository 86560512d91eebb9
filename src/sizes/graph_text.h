// What the main graph's fields say that Model leaves out: the names of
// dimensions, and where small tensors are.
#ifndef ONNX_TAG_SIZES_GRAPH_TEXT_H_
#define ONNX_TAG_SIZES_GRAPH_TEXT_H_

#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "onnx_tag/model.h"

namespace onnx_tag::sizes {

class GraphText {
 public:
  // Reads the names of dimensions only where `dim_names`. `model` must outlive
  // it.
  GraphText(const Model& model, bool dim_names);

  // The encoded tensor of a small initializer, or "".
  Bytes SmallTensorOf(ValueId value) const;
  // The name of a dimension without a number ("batch"), or "".
  std::string_view DimName(ValueId value, std::size_t axis) const;

 private:
  void ReadGraph(Bytes graph, bool dim_names);
  void ReadTensor(Bytes tensor);
  void ReadValueInfo(Bytes info);

  std::unordered_map<std::string_view, ValueId> small_;   // by name
  std::unordered_map<std::string_view, ValueId> values_;  // by name
  std::unordered_map<std::uint32_t, Bytes> tensors_;      // by value
  std::unordered_map<std::uint32_t, std::vector<std::string_view>> dims_;
};

}  // namespace onnx_tag::sizes

#endif  // ONNX_TAG_SIZES_GRAPH_TEXT_H_
