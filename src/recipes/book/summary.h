// The summary of a program: its label trigrams and the names of its modules.
#ifndef ONNX_TAG_RECIPES_BOOK_SUMMARY_H_
#define ONNX_TAG_RECIPES_BOOK_SUMMARY_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "recipes/book/recipe.h"

namespace onnx_tag::recipes {

struct Summary {
  std::vector<std::uint32_t> grams;
  std::vector<std::uint32_t> names;

  SummaryView view() const { return {grams, names}; }
};

// Uses every module that has operations or a parameter.
Summary Summarize(const Recipe& recipe);

// The same for labels in order and paths of modules.
Summary Summarize(std::span<const std::string_view> labels,
                  std::span<const std::string_view> paths);

// The path of a recorded module, "" for the root.
std::string PathOf(const Recipe& recipe, std::uint32_t module);

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_BOOK_SUMMARY_H_
