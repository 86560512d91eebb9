// What a label says in an alignment.
#ifndef ONNX_TAG_CLUES_RECIPES_BOOK_LABEL_WEIGHT_H_
#define ONNX_TAG_CLUES_RECIPES_BOOK_LABEL_WEIGHT_H_

#include <cstdint>
#include <string_view>

namespace onnx_tag::recipes {

enum class Weight : std::uint8_t {
  kLight,  // layout; depends on exporters and optimizers
  kMiddle,
  kHeavy,  // present in every implementation
};

struct LabelFacts {
  Weight weight = Weight::kMiddle;
  // Whether a file of the same architecture must have it: products,
  // convolutions and norms.
  bool solid = false;
  // A bit for each class of labels that may replace each other.
  std::uint32_t soft = 0;
};
LabelFacts FactsOf(std::string_view label);

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_CLUES_RECIPES_BOOK_LABEL_WEIGHT_H_
