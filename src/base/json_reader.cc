#include "base/json_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.h"

namespace onnx_tag::json {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

void AppendUtf8(std::string& text, std::uint32_t code) {
  const auto add = [&](std::uint32_t byte) {
    text += static_cast<char>(static_cast<unsigned char>(byte));
  };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xC0 | code >> 6);
    add(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    add(0xE0 | code >> 12);
    add(0x80 | (code >> 6 & 0x3F));
    add(0x80 | (code & 0x3F));
  } else {
    add(0xF0 | code >> 18);
    add(0x80 | (code >> 12 & 0x3F));
    add(0x80 | (code >> 6 & 0x3F));
    add(0x80 | (code & 0x3F));
  }
}

}  // namespace

std::string_view KindName(Kind kind) {
  switch (kind) {
    case Kind::kObject:
      return "an object";
    case Kind::kArray:
      return "a list";
    case Kind::kString:
      return "a string";
    case Kind::kNumber:
      return "a number";
    case Kind::kBool:
      return "true or false";
    case Kind::kNull:
      break;
  }
  return "null";
}

Reader::Reader(std::string_view text) : text_(text) {
  // Editors of some systems begin files with this mark.
  if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
}

std::string Reader::Where(Place place) const {
  const std::string_view before =
      text_.substr(0, std::min(static_cast<std::size_t>(place), text_.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t start =
      before.empty() ? 0 : before.rfind('\n') + 1;  // npos + 1 is 0
  // Columns are characters, as editors count them.
  std::size_t column = 1;
  for (const char c : before.substr(start)) {
    if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) ++column;
  }
  return fmt::format("line {}, column {}", line, column);
}

void Reader::SkipBlanks() {
  while (at_ < text_.size() && IsBlank(text_[at_])) ++at_;
}

char Reader::Look() {
  SkipBlanks();
  return at_ < text_.size() ? text_[at_] : '\0';
}

Place Reader::Here() {
  SkipBlanks();
  return Place{at_};
}

Kind Reader::Peek() {
  const char c = Look();
  switch (c) {
    case '{':
      return Kind::kObject;
    case '[':
      return Kind::kArray;
    case '"':
      return Kind::kString;
    case 't':
    case 'f':
      return Kind::kBool;
    case 'n':
      return Kind::kNull;
    default:
      break;
  }
  if (IsDigit(c) || c == '-') return Kind::kNumber;
  if (at_ >= text_.size()) {
    FailAt(Here(), "the file ends where a value should be");
  }
  FailAt(Here(), "'{}' where a value should be",
         Printable(text_.substr(at_, 1)));
}

void Reader::Expect(Kind kind) {
  const Kind found = Peek();
  if (found == kind) return;
  FailAt(Here(), "{} where {} should be", KindName(found), KindName(kind));
}

void Reader::Take(char expected, std::string_view what) {
  if (Look() == expected) {
    ++at_;
    return;
  }
  if (at_ >= text_.size()) {
    FailAt(Here(), "the file ends where {} should be", what);
  }
  FailAt(Here(), "'{}' where {} should be", Printable(text_.substr(at_, 1)),
         what);
}

void Reader::Open(bool object) {
  if (levels_.size() == kMaxDepth) {
    FailAt(Here(), "nested more than {} levels deep", kMaxDepth);
  }
  ++at_;
  levels_.emplace_back().object = object;
}

void Reader::BeginObject() {
  Expect(Kind::kObject);
  Open(true);
}

void Reader::BeginArray() {
  Expect(Kind::kArray);
  Open(false);
}

bool Reader::NextElement(char close) {
  Level& level = levels_.back();
  if (Look() == close) {
    ++at_;
    levels_.pop_back();
    return false;
  }
  if (!level.first) {
    Take(',', close == '}' ? "',' or '}'" : "',' or ']'");
    if (Look() == close) {
      FailAt(Here(), "a ',' with nothing after it");
    }
  }
  level.first = false;
  return true;
}

bool Reader::NextMember(std::string& key) {
  if (!NextElement('}')) return false;
  Look();
  key_start_ = at_;
  if (Look() != '"') Take('"', "a key in quotes");
  key = QuotedString();
  Take(':', "':'");
  if (!levels_.back().keys.insert(key).second) {
    FailAt(Place{key_start_}, "the key \"{}\" stands here a second time",
           Printable(key, 100));
  }
  return true;
}

bool Reader::NextItem() { return NextElement(']'); }

std::uint32_t Reader::FourHexDigits() {
  std::uint32_t code = 0;
  const char* const start = text_.data() + at_;
  const char* const end = start + std::min<std::size_t>(4, text_.size() - at_);
  const auto [stop, error] = std::from_chars(start, end, code, 16);
  if (error != std::errc() || stop != start + 4) {
    FailAt(Place{at_}, "\\u wants four hexadecimal digits");
  }
  at_ += 4;
  return code;
}

void Reader::AppendEscape(std::string& text) {
  const std::size_t start = at_ - 1;  // the backslash
  const char c = at_ < text_.size() ? text_[at_++] : '\0';
  constexpr std::string_view kLetters = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  if (const std::size_t at = kLetters.find(c); at != std::string_view::npos) {
    text += kMeanings[at];
    return;
  }
  if (c != 'u') FailAt(Place{start}, "a '\\' that begins no escape");
  std::uint32_t code = FourHexDigits();
  if (code >= 0xD800 && code < 0xDC00 && text_.substr(at_).starts_with("\\u")) {
    const std::size_t second = at_;
    at_ += 2;
    const std::uint32_t low = FourHexDigits();
    if (low >= 0xDC00 && low < 0xE000) {
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    } else {
      at_ = second;
    }
  }
  // How Python, and our own sidecar, write a byte that is no UTF-8.
  if (code >= 0xDC80 && code <= 0xDCFF) {
    text += static_cast<char>(static_cast<unsigned char>(code - 0xDC00));
    return;
  }
  if (code >= 0xD800 && code < 0xE000) {
    FailAt(Place{start}, "half of a surrogate pair");
  }
  AppendUtf8(text, code);
}

std::string Reader::QuotedString() {
  const std::size_t start = at_++;
  std::string text;
  while (true) {
    const std::size_t plain = at_;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\\' &&
           static_cast<unsigned char>(text_[at_]) >= 0x20) {
      ++at_;
    }
    text += text_.substr(plain, at_ - plain);
    if (at_ >= text_.size()) FailAt(Place{start}, "a string without an end");
    const char c = text_[at_];
    if (c == '"') {
      ++at_;
      return text;
    }
    if (c != '\\') {
      FailAt(Place{at_}, "a line break or control character in a string");
    }
    ++at_;
    AppendEscape(text);
  }
}

std::string Reader::String() {
  Expect(Kind::kString);
  return QuotedString();
}

std::string_view Reader::NumberText() {
  const std::size_t start = at_;
  const auto digits = [&] {
    const std::size_t first = at_;
    while (at_ < text_.size() && IsDigit(text_[at_])) ++at_;
    return at_ - first;
  };
  const auto skip = [&](std::string_view any) {
    const bool found =
        at_ < text_.size() && any.find(text_[at_]) != std::string_view::npos;
    at_ += found ? 1 : 0;
    return found;
  };
  skip("-");
  const bool zero = at_ < text_.size() && text_[at_] == '0';
  const std::size_t whole = digits();
  bool good = whole > 0 && (!zero || whole == 1);
  if (skip(".")) good = digits() > 0 && good;
  if (skip("eE")) {
    skip("+-");
    good = digits() > 0 && good;
  }
  if (!good) FailAt(Place{start}, "not a number as JSON writes them");
  return text_.substr(start, at_ - start);
}

double Reader::Number() {
  Expect(Kind::kNumber);
  const Place start = Here();
  const std::string_view text = NumberText();
  double number = 0;
  const auto [stop, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || stop != text.data() + text.size()) {
    FailAt(start, "a number out of range");
  }
  return number;
}

std::uint32_t Reader::Count() {
  const Place start = Here();
  const double number = Number();
  if (number < 0 || number > 4294967295.0 || number != std::floor(number)) {
    FailAt(start, "a whole number from 0 to 4294967295 should be here");
  }
  return static_cast<std::uint32_t>(number);
}

void Reader::Word(std::string_view word) {
  if (!text_.substr(at_).starts_with(word)) {
    FailAt(Here(), "a word that is neither true, false nor null");
  }
  at_ += word.size();
}

bool Reader::Bool() {
  Expect(Kind::kBool);
  const bool value = text_[at_] == 't';
  Word(value ? "true" : "false");
  return value;
}

void Reader::Null() {
  Expect(Kind::kNull);
  Word("null");
}

void Reader::Skip() {
  // Not recursive, and keys are not compared: a trace has 10^6 small objects.
  const std::size_t outside = levels_.size();
  do {
    if (levels_.size() > outside) {
      const bool object = levels_.back().object;
      if (!NextElement(object ? '}' : ']')) continue;
      if (object) {
        if (Look() != '"') Take('"', "a key in quotes");
        QuotedString();
        Take(':', "':'");
      }
    }
    switch (Peek()) {
      case Kind::kObject:
        Open(true);
        break;
      case Kind::kArray:
        Open(false);
        break;
      case Kind::kString:
        QuotedString();
        break;
      case Kind::kNumber:
        NumberText();
        break;
      case Kind::kBool:
        Bool();
        break;
      case Kind::kNull:
        Null();
        break;
    }
  } while (levels_.size() > outside);
}

void Reader::End() {
  if (Look(), at_ < text_.size()) {
    FailAt(Here(), "'{}' after the end of the document",
           Printable(text_.substr(at_, 1)));
  }
}

}  // namespace onnx_tag::json
