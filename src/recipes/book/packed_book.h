// The book as tables, from which recipes are made one by one.
#ifndef ONNX_TAG_RECIPES_BOOK_PACKED_BOOK_H_
#define ONNX_TAG_RECIPES_BOOK_PACKED_BOOK_H_

#include <span>
#include <string>
#include <string_view>

#include "recipes/book/book.h"
#include "recipes/book/book_layout.h"
#include "recipes/book/book_source.h"

namespace onnx_tag::recipes {

// The tables of a book, with or without summaries of its recipes. The
// summaries are made from the tables without summaries.
std::string PackBook(const BookSource& source);

class PackedBook : public Book {
 public:
  // `bytes` come from PackBook, are aligned to 8, and must outlive this.
  explicit PackedBook(std::string_view bytes);

  std::size_t size() const override { return roots_.size(); }
  SummaryView Summary(std::size_t index) const override;
  Recipe Read(std::size_t index) const override;

  // The family of one root, and the origin of its recipes.
  std::string_view Family(std::size_t index) const;
  std::size_t program_count() const { return program_classes_.size(); }

 private:
  friend class Expander;

  template <typename T>
  std::span<const T> Part(BookPart part) const;
  std::string_view Text(std::uint32_t text) const;

  std::string_view bytes_;
  std::span<const char> text_bytes_;
  std::span<const std::uint32_t> text_ends_;
  std::span<const std::uint8_t> kind_bytes_;
  std::span<const std::uint32_t> kind_starts_;
  std::span<const std::uint8_t> program_bytes_;
  std::span<const std::uint32_t> program_starts_;
  std::span<const std::uint32_t> program_classes_;
  std::span<const RootRecord> roots_;
  std::span<const std::uint8_t> root_data_;
  std::span<const std::uint32_t> grams_;
  std::span<const std::uint32_t> names_;
};

// The built-in book.
const PackedBook& BuiltInBook();

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_BOOK_PACKED_BOOK_H_
