#include "query/lexer.h"

#include <algorithm>

#include "base/text.h"
#include "onnx_tag/error.h"

namespace onnx_tag::query {
namespace {

constexpr std::string_view kBlanks = " \t\n\r\f\v";

// The width of `text` on a terminal, in columns.
std::size_t Columns(std::string_view text) {
  const std::string printed = Printable(text, text.size() + 1);
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
  Fail(ErrorKind::kUsage, "{}\n  {}\n  {}{}", what,
       Printable(shown, shown.size() + 1), std::string(before, ' '),
       std::string(width, '^'));
}

Token Lexer::Next() { return Read("()=!<>,\"'"); }

Token Lexer::NextValue() { return Read("(),"); }

Token Lexer::Quoted() {
  const std::size_t begin = at_;
  const char quote = text_[at_++];
  Token token{TokenKind::kQuoted, "", begin, begin};
  while (at_ < text_.size()) {
    const char c = text_[at_++];
    if (c == quote) {
      token.end = at_;
      return token;
    }
    const bool escape = c == '\\' && at_ < text_.size() &&
                        (text_[at_] == quote || text_[at_] == '\\');
    token.text += escape ? text_[at_++] : c;
  }
  FailAt(text_, begin, begin + 1, "missing closing quote");
}

Token Lexer::Read(std::string_view stops) {
  at_ = std::min(text_.find_first_not_of(kBlanks, at_), text_.size());
  const std::size_t begin = at_;
  if (at_ == text_.size()) return {TokenKind::kEnd, "", begin, begin};
  const char c = text_[at_];
  if (c == '"' || c == '\'') return Quoted();
  const auto take = [&](TokenKind kind, std::size_t size) {
    at_ += size;
    return Token{kind, std::string(text_.substr(begin, size)), begin, at_};
  };
  if (c == '(') return take(TokenKind::kOpen, 1);
  if (c == ')') return take(TokenKind::kClose, 1);
  if (c == ',') return take(TokenKind::kComma, 1);
  if (stops.find(c) != std::string_view::npos) {
    const bool two = at_ + 1 < text_.size() && text_[at_ + 1] == '=';
    return take(TokenKind::kOperator, two ? 2 : 1);
  }
  std::size_t end = at_;
  while (end < text_.size() && kBlanks.find(text_[end]) == kBlanks.npos &&
         stops.find(text_[end]) == stops.npos) {
    ++end;
  }
  return take(TokenKind::kWord, end - begin);
}

}  // namespace onnx_tag::query
