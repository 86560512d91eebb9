// Writes JSON piece by piece: a sidecar of 10^6 nodes is streamed, never held.
//
//   JsonWriter json;
//   json.BeginObject().Key("nodes").Number(3).EndObject();
//   write(json.Take());                                     // {"nodes": 3}
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace onnx_tag {

class JsonWriter {
 public:
  enum class Spaces { kSome, kNone };
  explicit JsonWriter(Spaces spaces = Spaces::kSome)
      : comma_(spaces == Spaces::kSome ? ", " : ","),
        colon_(spaces == Spaces::kSome ? ": " : ":") {}

  JsonWriter& BeginObject() { return Open('{'); }
  JsonWriter& EndObject() { return Close('}'); }
  JsonWriter& BeginArray() { return Open('['); }
  JsonWriter& EndArray() { return Close(']'); }

  // What comes next, also the end of a list or an object, begins a line.
  JsonWriter& Break(std::size_t indent) {
    break_ = true;
    indent_ = indent;
    return *this;
  }

  JsonWriter& Key(std::string_view key);
  // Every parser reads it. A byte that is not UTF-8 becomes one of \uef80 to
  // \uefff: characters for private use, so that byte 0x80 + n is U+EF80 + n. A
  // name that has these characters itself is written byte by byte in the same
  // way. Reading the two back is thus exact.
  JsonWriter& String(std::string_view text);
  // null if `text` is empty.
  JsonWriter& StringOrNull(std::string_view text) {
    return text.empty() ? Null() : String(text);
  }
  template <std::integral T>
  JsonWriter& Number(T number) {
    return Raw(std::to_string(number));
  }
  JsonWriter& Share(double share);  // six digits
  JsonWriter& Bool(bool value) { return Raw(value ? "true" : "false"); }
  JsonWriter& Null() { return Raw("null"); }

  // Values, or members of an object, that are JSON already.
  JsonWriter& Raw(std::string_view json) {
    Separate();
    text_ += json;
    return *this;
  }

  template <typename List>
  JsonWriter& Strings(const List& texts) {
    return Strings(texts, [](std::string_view text) { return text; });
  }
  // `of` gives the text of an item.
  template <typename List, typename Of>
  JsonWriter& Strings(const List& items, const Of& of) {
    BeginArray();
    for (const auto& item : items) String(of(item));
    return EndArray();
  }
  template <typename List>
  JsonWriter& Numbers(const List& numbers) {
    BeginArray();
    for (const auto number : numbers) Number(number);
    return EndArray();
  }

  const std::string& text() const { return text_; }
  // What is written so far, which is then forgotten.
  std::string Take();
  void Clear() { text_.clear(); }

 private:
  JsonWriter& Open(char bracket);
  JsonWriter& Close(char bracket);
  void Separate() {
    if (break_) {
      StartLine();
    } else if (needs_comma_) {
      text_ += comma_;
    }
    needs_comma_ = true;
  }
  void StartLine();

  const std::string_view comma_;
  const std::string_view colon_;
  std::string text_;
  bool needs_comma_ = false;
  bool break_ = false;
  std::size_t indent_ = 0;
};

}  // namespace onnx_tag
