// The nodes before and after a node, as patterns ask for them: within one
// graph, past quantizers and dequantizers of data, which tools put anywhere.
#pragma once

#include <array>
#include <initializer_list>
#include <span>

#include "core/graph/data_values.h"
#include "core/graph/operators.h"
#include "onnx_tag/model.h"

namespace onnx_tag {

class Links {
 public:
  Links(const Model& model, const Operators& ops, const DataValues& data);

  const Model& model() const { return model_; }
  const Operators& ops() const { return ops_; }
  const DataValues& data() const { return data_; }

  // Whether the node quantizes or dequantizes data.
  bool IsTransparent(NodeId node) const {
    return ops_.Is(node, {OpKind::kQuantizer, OpKind::kDequantizer}) &&
           !model_.Inputs(node).empty() && data_.IsMadeBy(node);
  }
  // The value that reaches `value` through transparent nodes only.
  ValueId Source(ValueId value) const;

  // The node that makes input `value` of `reader` from data, if it is in the
  // same graph and its operator is one of `ops`.
  NodeId Producer(NodeId reader, ValueId value,
                  std::initializer_list<Op> ops) const;

  // The only reader of the node's first output, if it is in the same graph and
  // its operator is one of `ops`; kNo for kNo.
  NodeId OnlyReader(NodeId node, std::initializer_list<Op> ops) const;

  // The first few inputs. Arithmetic has two: patterns look no further, so
  // that an input list as long as the file costs nothing.
  std::span<const ValueId> Operands(NodeId node) const;
  // The first operand that is not data, or kNo.
  ValueId ConstantOperand(NodeId node) const;

  // The sources of the operands that are data.
  static constexpr std::size_t kMostOperands = 4;
  class DataOperands {
   public:
    void Add(ValueId value) { values_[count_++] = value; }
    const ValueId* begin() const { return values_.data(); }
    const ValueId* end() const { return values_.data() + count_; }
    bool empty() const { return count_ == 0; }
    // kNo if there is none.
    ValueId first() const { return empty() ? kNo<ValueId> : values_[0]; }

   private:
    std::array<ValueId, kMostOperands> values_;
    std::size_t count_ = 0;
  };
  DataOperands DataOperandsOf(NodeId node) const;

  // The tensor of the file behind a value, through a few nodes that pass it on;
  // kNo if there is none.
  ValueId WeightOf(ValueId value) const;

  // The shape of that tensor. If there is none, it is empty and `known` is
  // false.
  struct TensorShape {
    bool known = false;
    std::span<const std::int64_t> dims;
  };
  TensorShape ShapeOf(ValueId value) const;

 private:
  // The only reader of a node's first output in its graph, transparent or not,
  // or kNo.
  NodeId NextReader(NodeId node) const;

  const Model& model_;
  const Operators& ops_;
  const DataValues& data_;
  // Of transparent nodes: what Source() gives for their output, and their only
  // reader that is not transparent. Chains of them may be long. Empty if the
  // model has none.
  IdVector<NodeId, ValueId> source_;
  IdVector<NodeId, NodeId> reader_through_;
};

}  // namespace onnx_tag
