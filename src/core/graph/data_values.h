// What the values of a model depend on. All layers ask this class whether a
// value carries data.
#pragma once

#include <cstdint>
#include <span>

#include "core/graph/function_calls.h"
#include "core/graph/operators.h"
#include "onnx_tag/model.h"

namespace onnx_tag {

class DataValues {
 public:
  // `weights`: values that stand for tensors which the file leaves out.
  DataValues(const Model& model, const Operators& ops,
             const FunctionCalls& calls, std::span<const ValueId> weights = {});

  // Whether the value depends on the data of an input, on random numbers or on
  // the result of a control-flow node, not only on the shape of an input.
  bool Contains(ValueId value) const { return Has(value, kData); }

  // Whether the value depends on no input, not even on the shape of one.
  bool IsConstant(ValueId value) const {
    return value != kNo<ValueId> && (facts_[value] & (kData | kSize)) == 0;
  }

  // Whether the model computes the value while it runs: data, or a tensor that
  // it makes without an input. Such tensors are products of weights (learned
  // queries go through projections like other queries), and ranges, fills and
  // tables cut to a size.
  bool IsComputed(ValueId value) const { return Has(value, kData | kMade); }

  // Whether the value consists of sizes: shapes, and what is computed from
  // shapes and constants only.
  bool IsSize(ValueId value) const {
    return Has(value, kSize) && !IsComputed(value);
  }

  // Whether the node makes a value with data.
  bool IsMadeBy(NodeId node) const;

 private:
  enum Fact : std::uint8_t { kData = 1, kSize = 2, kMade = 4, kUnread = 8 };

  bool Has(ValueId value, int facts) const {
    return value != kNo<ValueId> && (facts_[value] & facts) != 0;
  }
  std::uint8_t FactsOf(const Operators& ops, NodeId node) const;
  // False if it reads a value whose producer was not visited.
  bool Visit(const Operators& ops, NodeId node);
  void Bind(const FunctionCalls& calls, FunctionId id);

  const Model& model_;
  IdVector<ValueId, std::uint8_t> facts_;
};

}  // namespace onnx_tag
