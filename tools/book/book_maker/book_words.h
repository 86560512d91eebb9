// How names are written in src/data/recipes.txt.
#pragma once

#include <string>
#include <string_view>

namespace onnx_tag::recipes {

// The class of a list is not written, because most containers are lists.
inline constexpr std::string_view kUsualContainer = "ModuleList";

// Special characters become %XX, a space becomes `_`, an underscore of an extra
// becomes %5F, and an empty text becomes "%".
std::string Escaped(std::string_view text);
std::string EscapedExtra(std::string_view text);
std::string Unescaped(std::string_view text);
std::string UnescapedExtra(std::string_view text);

// The operator of a label with one operator: "Mul" for "Mul:dc".
std::string_view UsualOp(std::string_view label);

}  // namespace onnx_tag::recipes
