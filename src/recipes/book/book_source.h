// The recipe book in memory: what data/recipes.txt says.
//
// A program is what one module runs, in order: its own tokens, constants and
// shape arithmetic, and calls of other modules. Programs refer to what flows
// through them by position, so that modules that do the same have the same
// program, wherever they are. docs/recipes-format.md explains the text.
#ifndef ONNX_TAG_RECIPES_BOOK_BOOK_SOURCE_H_
#define ONNX_TAG_RECIPES_BOOK_BOOK_SOURCE_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace onnx_tag::recipes {

// A module, seen from the one whose program speaks.
struct Owner {
  bool known = true;
  std::uint32_t up = 0;            // levels of the path
  std::vector<std::string> atoms;  // then down

  bool is_self() const { return known && up == 0 && atoms.empty(); }
};

struct SideExpression;

// What an item reads.
struct Reference {
  enum class Kind : std::uint8_t {
    kNothing,   // left out, or a tensor of the file
    kBack,      // made by an earlier item of this program
    kArgument,  // given by the caller
    kInline,    // a side node that nobody else reads
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
  bool known = true;  // false: nobody knows whose it is
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

// A module that no program runs, or whose class its callers do not tell.
struct ModuleNote {
  std::vector<std::string> atoms;
  std::string class_name;

  auto operator<=>(const ModuleNote&) const = default;
};

// A token that reads what comes after it: several nodes in one may do so. The
// program says `_` there.
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

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_BOOK_BOOK_SOURCE_H_
