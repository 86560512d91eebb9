// How names are written in data/recipes.txt.
#ifndef ONNX_TAG_RECIPES_BOOK_BOOK_WORDS_H_
#define ONNX_TAG_RECIPES_BOOK_BOOK_WORDS_H_

#include <string>
#include <string_view>

namespace onnx_tag::recipes {

// A list's class needs no mention: it is what most atoms without a program of
// their own are.
inline constexpr std::string_view kUsualContainer = "ModuleList";

// Characters with a meaning of their own become %XX, a space `_` and an
// underscore of an extra %5F; nothing becomes "%".
std::string Escaped(std::string_view text);
std::string EscapedExtra(std::string_view text);
std::string Unescaped(std::string_view text);
std::string UnescapedExtra(std::string_view text);

// The operator a label stands for where it stands for one: "Mul:dc" is "Mul".
std::string_view UsualOp(std::string_view label);

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_BOOK_BOOK_WORDS_H_
