// The recipe book in memory: the contents of src/data/recipes.txt.
//
// A program has the operations of one module in order: its own tokens,
// constants and shape arithmetic, and calls of other modules. Programs refer to
// values by position, so that equal modules have equal programs, in any place.
// docs/how/recipes-format.md explains the text.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace onnx_tag::recipes {

// A module, relative to the module of the program.
struct Owner {
  bool known = true;
  std::uint32_t up = 0;            // levels of the path
  std::vector<std::string> atoms;  // then down

  bool is_self() const { return known && up == 0 && atoms.empty(); }
};

struct SideExpression;

// A value that an item reads.
struct Reference {
  enum class Kind : std::uint8_t {
    kNothing,   // omitted, or a tensor of the file
    kBack,      // made by an earlier item of this program
    kArgument,  // given by the caller
    kInline,    // a side node without other consumers
  };
  Kind kind = Kind::kNothing;
  std::uint32_t number = 0;  // items back, 1 is the last; or which argument
  // Of what the item made, counted from its end: a call makes all that its
  // program makes, an item with inline side nodes these first.
  std::uint32_t from_end = 0;
  std::vector<SideExpression> expression;  // one, where inline
};

struct SideExpression {
  std::string op;
  Owner owner;
  std::vector<Reference> inputs;  // by slot
};

struct TokenSide {
  std::uint32_t node = 0;
  std::uint32_t slot = 0;
  Reference value;
};

struct Item {
  enum class Kind : std::uint8_t { kToken, kSide, kCall };
  Kind kind = Kind::kToken;

  // kToken
  std::string label;
  std::string extra;
  std::vector<std::string> ops;
  std::uint32_t main = 0;
  bool known = true;  // false: its module is unknown
  bool anchored = false;
  Owner anchor;
  std::vector<Reference> inputs;  // of a token, or a call's arguments
  std::vector<TokenSide> sides;

  // kSide
  std::vector<SideExpression> expression;  // one

  // kCall
  std::vector<std::string> atoms;       // of the module below this one
  std::vector<std::string> containers;  // classes of all atoms but the last
  std::string program;
};

struct BookProgram {
  std::string class_name;
  std::vector<Item> items;
};

// A module without a call, or whose class is not in a call.
struct ModuleNote {
  std::vector<std::string> atoms;
  std::string class_name;

  auto operator<=>(const ModuleNote&) const = default;
};

// A token that reads a later token, which is possible for tokens of several
// nodes. The program has `_` there.
struct LateInput {
  std::uint32_t token = 0;
  std::uint32_t slot = 0;
  std::uint32_t input = 0;  // token
};

struct BookRoot {
  std::string family;
  std::string program;
  std::vector<ModuleNote> notes;
  std::vector<LateInput> late;
  std::vector<Reference> outputs;
  std::vector<std::string> made_by;  // "transformers-5.22.2-BertModel-ts17"
};

struct BookSource {
  std::map<std::string, BookProgram> programs;  // by name: "BertLayer#1a2b3"
  std::vector<BookRoot> roots;
};

// The items of a program as text: equal programs have equal texts.
std::string PrintItems(const std::vector<Item>& items);

std::string PrintBook(const BookSource& book);
BookSource ReadBook(std::string_view text);

// The tables of a book, with or without summaries of its recipes. The
// summaries are made from the tables without summaries.
std::string PackBook(const BookSource& source);

}  // namespace onnx_tag::recipes
