// What is true of every operator: src/data/operators.txt, compiled in.
//
//   const Operators ops(model);
//   if (ops.Is(node, OpKind::kProduct)) ...
//   if (ops[node] == Op::kErf) ...
//   if (Describe(ops[node]).Input(1) == Operand::kWeight) ...
//
// A new operator is a new row of the table. Code that asks for a kind needs no
// change then.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "generated/op.h"
#include "onnx_tag/model.h"

namespace onnx_tag {

enum class OpKind : std::uint8_t {
  // Operators that compute with weights.
  kProduct,      // of two matrices, or of a matrix and a weight
  kConvolution,  // transposed ones, too
  kTransposed,   // a transposed convolution
  kInteger,      // a product or convolution of integers: dynamic quantization
  kRecurrent,
  kAttention,  // a whole attention in one node
  kCache,      // takes keys and values of earlier steps and returns all

  kActivation,
  kNorm,
  kSkip,  // a norm that first adds
  kSoftmax,
  kPool,
  kGlobal,  // a pool over all positions

  kElementwise,
  kSum,  // of its inputs
  kCommutative,
  kRotary,
  kLogic,  // comparisons, logic, Where
  kReduction,

  // Operators that move or copy data; the numbers stay.
  kReshape,    // the order of elements stays, too
  kTranspose,  // another order of axes
  kSlice,      // a part of its input
  kExpand,     // repeats its input
  kConcat,
  kCopy,  // any other move
  kIdentity,
  kDropout,
  kLookup,  // takes elements by index
  kSearch,  // finds elements by value
  kScatter,
  kResample,

  kCast,
  kQuantizer,
  kDequantizer,

  kConstant,
  kShapeOf,    // the result depends only on the shape of the input
  kGenerator,  // makes a tensor: ranges, fills, windows, random numbers
  kRandom,

  kControl,     // has graphs that it runs
  kGeneration,  // a whole loop of text generation
  kSequence,
  kSignal,
  kText,
  kLoss,
  kTree,

  kFused,     // written by optimizers, not by exporters
  kGradient,  // of another operator: training graphs
};

// A set of kinds.
class OpKinds {
 public:
  constexpr OpKinds() = default;
  constexpr OpKinds(OpKind kind)  // NOLINT: a kind is a set of one
      : bits_(std::uint64_t{1} << static_cast<unsigned>(kind)) {}
  constexpr OpKinds(std::initializer_list<OpKind> kinds) {
    for (const OpKind kind : kinds) bits_ |= OpKinds(kind).bits_;
  }
  constexpr bool HasAnyOf(OpKinds other) const {
    return (bits_ & other.bits_) != 0;
  }
  constexpr bool operator==(const OpKinds&) const = default;

 private:
  std::uint64_t bits_ = 0;
};

// Operators that compute with a weight.
constexpr OpKinds kWeighing = {OpKind::kProduct, OpKind::kConvolution,
                               OpKind::kRecurrent};
// Operators that pass their first input on: the same numbers, or the same
// numbers in another type, shape or order, or a part of them.
constexpr OpKinds kCarriers = {
    OpKind::kIdentity,  OpKind::kCast,      OpKind::kReshape,    OpKind::kSlice,
    OpKind::kTranspose, OpKind::kQuantizer, OpKind::kDequantizer};

// What an input holds.
enum class Operand : std::uint8_t {
  kData,
  kWeight,         // of a layer: transposed where the operator wants it so
  kMatrix,         // of a MatMul: [in, out], where torch has [out, in]
  kBias,           // of a layer
  kMean,           // running_mean
  kVariance,       // running_var
  kQuantized,      // weight in fewer bits
  kScale,          // of the weight
  kZeroPoint,      // of the weight
  kDataScale,      // of an input or output
  kDataZeroPoint,  // of an input or output
  kGatesIn,        // of a recurrent layer: weight_ih
  kGatesOut,       // weight_hh
  kGatesBias,      // bias_ih and bias_hh
  kQkvWeight,      // three projections in one
  kQkvBias,
  kQuery,
  kKey,    // also of earlier steps
  kValue,  // also of earlier steps
  kMask,   // which positions count
  kBound,
  kSetting,  // sizes, axes, ranges: no data
};
// Whether it is a parameter of a layer, or a part of one.
constexpr bool IsParameter(Operand operand) {
  return operand >= Operand::kWeight && operand <= Operand::kQkvBias;
}

struct Operator {
  static constexpr std::size_t kMostInputs = 12;
  using Inputs = std::array<Operand, kMostInputs>;

  std::string_view name;
  std::string_view domain;  // empty: any
  OpKinds kinds;
  Inputs inputs{};
  // The operator that computes the same without the work that a tool added; the
  // operator itself if there is none.
  Op like = Op::kNone;

  // From this input on, all are settings.
  std::uint8_t first_setting = FirstSetting(inputs);

  // The position of the first input that holds one of these; kMostInputs if
  // there is none.
  constexpr std::size_t FindInput(std::initializer_list<Operand> wanted) const {
    for (std::size_t i = 0; i < kMostInputs; ++i) {
      for (const Operand one : wanted) {
        if (inputs[i] == one) return i;
      }
    }
    return kMostInputs;
  }

  static constexpr std::uint8_t kNoSetting = 255;
  constexpr Operand Input(std::size_t i) const {
    if (i >= first_setting) return Operand::kSetting;
    return i < kMostInputs ? inputs[i] : Operand::kData;
  }
  static constexpr std::uint8_t FirstSetting(const Inputs& inputs) {
    for (std::uint8_t i = 0; i < kMostInputs; ++i) {
      if (inputs[i] == Operand::kSetting) return i;
    }
    return kNoSetting;
  }
};

// Indexed by Op; kNone has no kinds.
extern const Operator* const kOperators;
inline const Operator& Describe(Op op) { return kOperators[Index(op)]; }

// Op::kNone if the table has no such operator.
Op FindOp(std::string_view name, std::string_view domain = {});

// The operators of a model's nodes.
class Operators {
 public:
  explicit Operators(const Model& model);

  // kNone for kNo.
  Op operator[](NodeId node) const {
    return node == kNo<NodeId> ? Op::kNone : ops_[node];
  }
  bool Is(NodeId node, OpKinds kinds) const {
    return Describe((*this)[node]).kinds.HasAnyOf(kinds);
  }
  bool Is(NodeId node, std::initializer_list<Op> ops) const {
    for (const Op op : ops) {
      if ((*this)[node] == op) return true;
    }
    return false;
  }
  // Whether a node of the model is of one of these kinds.
  bool HasAny(OpKinds kinds) const;

 private:
  IdVector<NodeId, Op> ops_;
};

}  // namespace onnx_tag
