// The words of a query.
#ifndef ONNX_TAG_QUERY_LEXER_H_
#define ONNX_TAG_QUERY_LEXER_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace onnx_tag::query {

enum class LexemeKind : std::uint8_t {
  kEnd,
  kWord,      // field, and, or, not, in
  kQuoted,    // a value in quotes
  kOperator,  // = == != < <= > >=
  kOpen,
  kClose,
  kComma,
};

struct Lexeme {
  LexemeKind kind = LexemeKind::kEnd;
  std::string text;  // for a quoted value: without quotes and escapes
  std::size_t begin = 0;
  std::size_t end = 0;
};

// Reads one lexeme at a time, because a value may contain the characters of an
// operator: `name=a<b`.
class Lexer {
 public:
  // `text` must outlive it.
  explicit Lexer(std::string_view text) : text_(text) {}

  // Throws Error(kUsage) if a quote is not closed.
  Lexeme Next();
  // The same after an operator: a word ends at a blank, a comma or a
  // parenthesis only.
  Lexeme NextValue();

 private:
  Lexeme Read(std::string_view stops);
  Lexeme Quoted();

  std::string_view text_;
  std::size_t at_ = 0;
};

// Throws Error(kUsage) with the message, the query, and a caret under the
// place.
[[noreturn]] void FailAt(std::string_view query, std::size_t begin,
                         std::size_t end, const std::string& what);

}  // namespace onnx_tag::query

#endif  // ONNX_TAG_QUERY_LEXER_H_
