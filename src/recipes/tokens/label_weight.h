// What a token weighs in an alignment.
#ifndef ONNX_TAG_RECIPES_TOKENS_LABEL_WEIGHT_H_
#define ONNX_TAG_RECIPES_TOKENS_LABEL_WEIGHT_H_

#include <cstdint>
#include <string_view>

namespace onnx_tag::recipes {

enum class Weight : std::uint8_t {
  kLight,  // layout: comes and goes with exporters and optimizers
  kMiddle,
  kHeavy,  // a fixed point of any implementation
};
Weight LabelWeight(std::string_view label);

// Whether a file of the same architecture must have it: products, convolutions
// and norms.
bool IsSolid(std::string_view label);

// Whether it is an activation. One project has a module for it where another
// has a call.
bool IsActivation(std::string_view label);

// A bit for each class of labels that may stand for each other.
std::uint32_t SoftClasses(std::string_view label);

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_TOKENS_LABEL_WEIGHT_H_
