// Many recipes, with summaries to choose one without reading it.
#ifndef ONNX_TAG_RECIPES_BOOK_BOOK_H_
#define ONNX_TAG_RECIPES_BOOK_BOOK_H_

#include <cstdint>
#include <span>
#include <vector>

#include "recipes/book/recipe.h"

namespace onnx_tag::recipes {

// Sorted sets of hashes; see summary.h.
struct SummaryView {
  std::span<const std::uint32_t> grams;  // of three labels in a row
  std::span<const std::uint32_t> names;  // of modules, by their last two atoms
};

class Book {
 public:
  virtual ~Book() = default;
  virtual std::size_t size() const = 0;
  virtual SummaryView Summary(std::size_t index) const = 0;
  virtual Recipe Read(std::size_t index) const = 0;
};

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_BOOK_BOOK_H_
