// What an operator takes in each of its slots.
#ifndef ONNX_TAG_WEIGHTS_SLOTS_H_
#define ONNX_TAG_WEIGHTS_SLOTS_H_

#include <cstdint>
#include <string_view>

namespace onnx_tag::weights {

enum class Kind : std::uint8_t {
  kNone,       // data, or nothing of a parameter
  kWeight,     // of a layer: transposed where the operator wants it so
  kMatrix,     // of a MatMul: [in, out], where torch has [out, in]
  kBias,       // of a layer
  kMean,       // running_mean
  kVariance,   // running_var
  kQuantized,  // weight in fewer bits
  kScale,      // of the weight
  kZeroPoint,  // of the weight
  kActivationScale,
  kActivationZeroPoint,
  kGatesIn,    // of a recurrent layer: weight_ih
  kGatesOut,   // weight_hh
  kGatesBias,  // bias_ih and bias_hh
  kQkvWeight,  // three projections in one
  kQkvBias,
};

Kind KindOf(std::string_view domain, std::string_view op, std::uint32_t slot);

}  // namespace onnx_tag::weights

#endif  // ONNX_TAG_WEIGHTS_SLOTS_H_
