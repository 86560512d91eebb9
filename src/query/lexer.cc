#include "query/lexer.h"

#include <algorithm>

#include "base/text.h"
#include "onnx_tag/error.h"

namespace onnx_tag::query {
namespace {

constexpr std::string_view kBlanks = " \t\n\r\f\v";

// The whole text, whatever its length.
Short Whole(std::string_view text) { return {text, text.size() + 1}; }

// The width of `text` on a terminal, in columns.
std::size_t Columns(std::string_view text) {
  const std::string printed = Message("{}", Whole(text));
  return static_cast<std::size_t>(
      std::count_if(printed.begin(), printed.end(),
                    [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

void FailAt(std::string_view query, std::size_t begin, std::size_t end,
            const std::string& what) {
  // Only the text around the error is shown; a query can have a megabyte.
  constexpr std::size_t kAround = 60;
  const std::size_t from = begin > kAround ? begin - kAround : 0;
  const std::string_view shown = query.substr(from, 2 * kAround);
  const std::size_t before = Columns(shown.substr(0, begin - from));
  const std::size_t marked = std::min(end, from + shown.size());
  const std::size_t width = std::max<std::size_t>(
      1, begin < marked ? Columns(query.substr(begin, marked - begin)) : 1);
  Fail(ErrorKind::kUsage, "{}\n  {}\n  {}{}", what, Whole(shown),
       std::string(before, ' '), std::string(width, '^'));
}

Lexeme Lexer::Next() { return Read("()=!<>,\"'"); }

Lexeme Lexer::NextValue() { return Read("(),"); }

Lexeme Lexer::Quoted() {
  const std::size_t begin = at_;
  const char quote = text_[at_++];
  Lexeme lexeme{LexemeKind::kQuoted, "", begin, begin};
  while (at_ < text_.size()) {
    const char c = text_[at_++];
    if (c == quote) {
      lexeme.end = at_;
      return lexeme;
    }
    const bool escape = c == '\\' && at_ < text_.size() &&
                        (text_[at_] == quote || text_[at_] == '\\');
    lexeme.text += escape ? text_[at_++] : c;
  }
  FailAt(text_, begin, begin + 1, "missing closing quote");
}

Lexeme Lexer::Read(std::string_view stops) {
  at_ = std::min(text_.find_first_not_of(kBlanks, at_), text_.size());
  const std::size_t begin = at_;
  if (at_ == text_.size()) return {LexemeKind::kEnd, "", begin, begin};
  const char c = text_[at_];
  if (c == '"' || c == '\'') return Quoted();
  const auto take = [&](LexemeKind kind, std::size_t size) {
    at_ += size;
    return Lexeme{kind, std::string(text_.substr(begin, size)), begin, at_};
  };
  if (c == '(') return take(LexemeKind::kOpen, 1);
  if (c == ')') return take(LexemeKind::kClose, 1);
  if (c == ',') return take(LexemeKind::kComma, 1);
  if (stops.find(c) != std::string_view::npos) {
    const bool two = at_ + 1 < text_.size() && text_[at_ + 1] == '=';
    return take(LexemeKind::kOperator, two ? 2 : 1);
  }
  std::size_t end = at_;
  while (end < text_.size() && kBlanks.find(text_[end]) == kBlanks.npos &&
         stops.find(text_[end]) == stops.npos) {
    ++end;
  }
  return take(LexemeKind::kWord, end - begin);
}

}  // namespace onnx_tag::query
