// The element type and the rank of each value: as the file says, else worked
// out from the operators.
//
// A model that is cut out of another needs types for its inputs and outputs,
// and many files say them of the ends only. What cannot be told stays unknown.
#ifndef ONNX_TAG_EDIT_VALUE_TYPES_H_
#define ONNX_TAG_EDIT_VALUE_TYPES_H_

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "onnx_tag/model.h"

namespace onnx_tag::edit {

// Numbers of TensorProto.DataType.
enum ElementType : std::int32_t {
  kUndefined = 0,
  kFloat = 1,
  kUint8 = 2,
  kInt32 = 6,
  kInt64 = 7,
  kBool = 9,
};

// "float32", as ONNX's Python package says it; "unknown" where it is none.
std::string_view ElementName(std::int32_t element);

struct ValueType {
  std::int32_t element = kUndefined;
  std::int32_t rank = -1;    // -1: unknown
  std::int64_t length = -1;  // of a list, rank 1: how many; -1: unknown
};

class ValueTypes {
 public:
  // `model` must outlive this. Takes time in nodes and edges.
  explicit ValueTypes(const Model& model);

  ValueType operator[](ValueId value) const {
    return value == kNo<ValueId> ? ValueType() : types_[value];
  }

 private:
  void InferGraph(GraphId graph, int depth);
  void InferNode(NodeId node, int depth);
  void InferSubgraphs(NodeId node, int depth);
  bool InferCall(NodeId node, int depth);
  void InferOperator(NodeId node);
  void InferFurtherOutputs(NodeId node, std::string_view op);
  void InferConstant(NodeId node);
  ValueType TensorType(Bytes tensor) const;
  std::int32_t RankOf(NodeId node, std::string_view op) const;
  std::int32_t Broadcast(NodeId node) const;
  std::int64_t LengthOf(NodeId node, std::string_view op) const;
  ValueType Input(NodeId node, std::size_t slot) const;
  // Fills in what is not known of an output yet.
  void Set(NodeId node, std::size_t slot, ValueType type);
  void Set(ValueId value, ValueType type);

  const Model& model_;
  IdVector<ValueId, ValueType> types_;
  std::unordered_map<std::string_view, std::vector<std::uint32_t>> functions_;
  std::vector<bool> inferred_;  // by function
};

}  // namespace onnx_tag::edit

#endif  // ONNX_TAG_EDIT_VALUE_TYPES_H_
