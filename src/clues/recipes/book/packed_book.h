// The book as tables, from which recipes are made one by one.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "clues/recipes/book/recipe.h"

namespace onnx_tag::recipes {

// The layout of the book in the program: tables and bytes that need no parsing
// and no additional memory.
//
// make_book (main.cc) writes them at build time on the machine that compiles,
// in its byte order; PackedBook reads them. A program is a
// string of numbers, seven bits a byte, low ones first, the highest bit set
// where more follow:
//
//   program    item*                       up to the next program's first byte
//   item       0 token | 1 side | 2 call
//   token      kind flags [anchor] inputs sides
//   kind       which of the token kinds: label, extra, main, operators
//   flags      TokenFlags
//   side       operator owner inputs
//   call       atoms classes program inputs
//   inputs     count reference*
//   sides      count (node slot reference)*
//   reference  number * 4 + ReferenceKind [from_end] [side]
//   owner      0 itself | 1 unknown | 2 + up, count atom*
enum TokenFlags : std::uint32_t {
  kIsKnown = 1,
  kIsAnchored = 2,
  kReadsLast = 4,  // reads only the result of the previous item
  kHasSides = 8,
};

enum ReferenceKind : std::uint32_t {
  kRefersToLast = 0,     // of what the item made
  kRefersInside = 1,     // from_end follows
  kRefersOutside = 2,    // an argument
  kRefersSpecially = 3,  // number 0: nothing; 1: to the side that follows
};

enum ItemKind : std::uint32_t { kTokenItem, kSideItem, kCallItem };

enum RecipeTraits : std::uint32_t { kHasPlainCode = 1, kHasPaddleNames = 2 };

struct RootRecord {
  std::uint32_t traits;    // RecipeTraits
  std::uint32_t family;    // text
  std::uint32_t exporter;  // text
  std::uint32_t version;   // text
  std::uint32_t program;
  // In kRootData: outputs, count (count atom* class)* for the modules that no
  // call tells of, count (token slot input)* for inputs that come later.
  std::uint32_t data;
  std::uint32_t tokens;  // how many it has
  std::uint32_t side_nodes;
  std::uint32_t first_gram;
  std::uint32_t gram_count;
  std::uint32_t first_name;
  std::uint32_t name_count;
};

enum class BookPart : std::uint32_t {
  kTextBytes,
  kTextEnds,        // by text: where it ends in the bytes; text 0 is ""
  kKindBytes,       // by token kind: label extra main count operator*
  kKindStarts,      // by token kind, and one more
  kProgramBytes,    // see above
  kProgramStarts,   // by program, and one more
  kProgramClasses,  // by program: text
  kRoots,
  kRootData,
  kGrams,  // SummaryView's hashes, each root's in order
  kNames,
  kCount,
};

struct BookPartRange {
  std::uint32_t offset;
  std::uint32_t count;
};

struct BookHeader {
  std::array<char, 8> magic;
  std::array<BookPartRange, static_cast<std::size_t>(BookPart::kCount)> parts;
};
constexpr std::array<char, 8> kBookMagic = {'o', 'n', 'x', 't',
                                            'r', 'e', 'c', '2'};

class PackedBook : public Book {
 public:
  // `bytes` come from PackBook, are aligned to 8, and must outlive this.
  explicit PackedBook(std::string_view bytes);

  std::size_t size() const override { return roots_.size(); }
  SummaryView Summary(std::size_t index) const override;
  Recipe Read(std::size_t index) const override;

  bool HasPaddleNames(std::size_t index) const override {
    return (roots_[index].traits & kHasPaddleNames) != 0;
  }

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
