// The recipes of some families of a book.
#ifndef ONNX_TAG_RECIPES_BOOK_BOOK_SECTION_H_
#define ONNX_TAG_RECIPES_BOOK_BOOK_SECTION_H_

#include <cstddef>
#include <string_view>
#include <vector>

#include "recipes/book/recipe.h"

namespace onnx_tag::recipes {

// Families whose name has this prefix have the module names of PaddlePaddle's
// own projects. The book has ports of them to PyTorch.
inline constexpr std::string_view kPaddleFamilies = "paddle_";

class BookSection : public Book {
 public:
  // The families with that prefix. `book` must outlive this.
  BookSection(const Book& book, std::string_view prefix) : book_(book) {
    for (std::size_t i = 0; i < book.size(); ++i) {
      if (book.Family(i).starts_with(prefix)) indices_.push_back(i);
    }
  }

  std::size_t size() const override { return indices_.size(); }
  SummaryView Summary(std::size_t index) const override {
    return book_.Summary(indices_[index]);
  }
  Recipe Read(std::size_t index) const override {
    return book_.Read(indices_[index]);
  }
  std::string_view Family(std::size_t index) const override {
    return book_.Family(indices_[index]);
  }

 private:
  const Book& book_;
  std::vector<std::size_t> indices_;
};

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_BOOK_BOOK_SECTION_H_
