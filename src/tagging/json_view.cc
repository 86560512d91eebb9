// Tested by tests/tagging/json_view_test.cc.
#include "tagging/json_view.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

// Nobody nests deeper, and each level costs stack.
constexpr int kMaxDepth = 500;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsHex(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// Of "\uXXXX", which was checked.
std::uint32_t HexAt(std::string_view text, std::size_t at) {
  std::uint32_t value = 0;
  std::from_chars(text.data() + at + 2, text.data() + at + 6, value, 16);
  return value;
}

bool IsHigh(std::uint32_t unit) { return unit >= 0xd800 && unit < 0xdc00; }
bool IsLow(std::uint32_t unit) { return unit >= 0xdc00 && unit < 0xe000; }

void AppendUtf8(std::string& out, std::uint32_t code) {
  const auto add = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xc0 | code >> 6);
    add(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    add(0xe0 | code >> 12);
    add(0x80 | (code >> 6 & 0x3f));
    add(0x80 | (code & 0x3f));
  } else {
    add(0xf0 | code >> 18);
    add(0x80 | (code >> 12 & 0x3f));
    add(0x80 | (code >> 6 & 0x3f));
    add(0x80 | (code & 0x3f));
  }
}

// Appends the "\uXXXX" at `at`, or two that belong together, and steps over.
void DecodeUnit(std::string_view text, std::size_t& at, std::string& out) {
  const std::uint32_t unit = HexAt(text, at);
  at += 6;
  if (IsHigh(unit)) {
    AppendUtf8(out,
               0x10000 + ((unit - 0xd800) << 10) + (HexAt(text, at) - 0xdc00));
    at += 6;
  } else if (IsLow(unit)) {
    out += static_cast<char>(unit & 0xff);
  } else {
    AppendUtf8(out, unit);
  }
}

std::string Decode(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t escape = std::min(text.find('\\', at), text.size());
    out.append(text.substr(at, escape - at));
    at = escape;
    if (at == text.size()) break;
    constexpr std::string_view kLetters = "bfnrt\"\\/";
    constexpr std::string_view kMeanings = "\b\f\n\r\t\"\\/";
    const std::size_t letter = kLetters.find(text[at + 1]);
    if (letter == std::string_view::npos) {
      DecodeUnit(text, at, out);
    } else {
      out += kMeanings[letter];
      at += 2;
    }
  }
  return out;
}

}  // namespace

std::string JsonView::Text() const {
  const std::string_view inside = text_.substr(1, text_.size() - 2);
  return inside.find('\\') == std::string_view::npos ? std::string(inside)
                                                     : Decode(inside);
}

std::vector<JsonView> JsonView::Items() const {
  std::vector<JsonView> items;
  if (!is_array()) return items;
  JsonCursor cursor(text_);
  cursor.ForEachItem([&] { items.push_back(cursor.Value()); });
  return items;
}

JsonObject::JsonObject(JsonView view) {
  if (!view.is_object()) return;
  JsonCursor cursor(view.text());
  Read(cursor);
}

void JsonObject::Read(JsonCursor& cursor) {
  members_.clear();
  decoded_.clear();
  cursor.ForEachMember([&](std::string_view key) {
    if (key.find('\\') != std::string_view::npos) {
      key = decoded_.emplace_back(Decode(key));
    }
    Add(key, cursor.Value());
  });
}

const JsonView* JsonObject::find(std::string_view key) const {
  for (auto at = members_.rbegin(); at != members_.rend(); ++at) {
    if (at->key == key) return &at->value;
  }
  return nullptr;
}

void JsonCursor::FailHere(std::string_view what) const {
  const std::string_view before = json_.substr(0, at_);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t start = before.rfind('\n');
  Fail(ErrorKind::kInput, "parse error at line {}, column {}: {}", line,
       start == std::string_view::npos ? at_ + 1 : at_ - start, what);
}

char JsonCursor::Peek() {
  while (at_ < json_.size() && (json_[at_] == ' ' || json_[at_] == '\n' ||
                                json_[at_] == '\t' || json_[at_] == '\r')) {
    ++at_;
  }
  return at_ < json_.size() ? json_[at_] : '\0';
}

bool JsonCursor::Accept(char c) {
  if (Peek() != c || at_ == json_.size()) return false;
  ++at_;
  return true;
}

void JsonCursor::Expect(char c) {
  if (!Accept(c)) FailHere(std::string("expected '") + c + "'");
}

void JsonCursor::End() {
  Peek();
  if (at_ != json_.size()) FailHere("expected the end");
}

JsonView JsonCursor::Value() {
  Peek();
  const std::size_t start = at_;
  Skip(0);
  return JsonView(json_.substr(start, at_ - start));
}

void JsonCursor::Skip(int depth) {
  if (depth > kMaxDepth) FailHere("nested too deep");
  switch (Peek()) {
    case '{':
      return ForEachMember([&](std::string_view) { Skip(depth + 1); });
    case '[':
      return ForEachItem([&] { Skip(depth + 1); });
    case '"':
      String();
      return;
    case 't':
      return Word("true");
    case 'f':
      return Word("false");
    case 'n':
      return Word("null");
    default:
      return Number();
  }
}

// The next string, without its quotes and as it is written.
std::string_view JsonCursor::String() {
  Expect('"');
  const std::size_t start = at_;
  for (;;) {
    if (at_ >= json_.size()) FailHere("a string without its end");
    const char c = json_[at_];
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"') break;
    if (c == '\\') {
      Escape();
    } else if (byte < 0x20) {
      FailHere("a control character in a string");
    } else if (byte < 0x80) {
      ++at_;
    } else {
      const std::size_t length = Utf8Length(json_.substr(at_, 4));
      if (length == 0) FailHere("a string that is not UTF-8");
      at_ += length;
    }
  }
  return json_.substr(start, at_++ - start);
}

void JsonCursor::Escape() {
  const std::string_view rest = json_.substr(at_, 12);
  const auto is_unit = [&](std::size_t from) {
    return rest.size() >= from + 6 && rest[from] == '\\' &&
           rest[from + 1] == 'u' && IsHex(rest[from + 2]) &&
           IsHex(rest[from + 3]) && IsHex(rest[from + 4]) &&
           IsHex(rest[from + 5]);
  };
  if (rest.size() < 2) FailHere("a string without its end");
  if (std::string_view("bfnrt\"\\/").find(rest[1]) != std::string_view::npos) {
    at_ += 2;
    return;
  }
  if (!is_unit(0)) FailHere("an escape that is none");
  const std::uint32_t unit = HexAt(rest, 0);
  if (IsHigh(unit)) {
    if (!is_unit(6) || !IsLow(HexAt(rest, 6))) FailHere("half a character");
    at_ += 12;
    return;
  }
  if (IsLow(unit) && (unit < 0xdc80 || unit > 0xdcff)) {
    FailHere("half a character");
  }
  at_ += 6;
}

void JsonCursor::Number() {
  const std::size_t start = at_;
  const auto digits = [&] {
    const std::size_t first = at_;
    while (at_ < json_.size() && IsDigit(json_[at_])) ++at_;
    return at_ > first;
  };
  const auto take = [&](std::string_view any) {
    const bool found =
        at_ < json_.size() && any.find(json_[at_]) != std::string_view::npos;
    if (found) ++at_;
    return found;
  };
  take("-");
  bool good = digits();
  if (good && take(".")) good = digits();
  if (good && take("eE")) {
    take("+-");
    good = digits();
  }
  if (good) return;
  at_ = start;
  FailHere(start == json_.size() ? "the text ends too soon"
                                 : "expected a value");
}

void JsonCursor::Word(std::string_view word) {
  if (json_.substr(at_, word.size()) != word) FailHere("expected a value");
  at_ += word.size();
}

}  // namespace onnx_tag
