// JSON that stays text: values are found and checked, and decoded when asked
// for. A sidecar of 10^6 nodes is read so in a fifth of the time that building
// a tree of values takes.
//
//   JsonCursor cursor(json);
//   cursor.ForEachMember([&](std::string_view key) {
//     JsonObject row(cursor.Value());
//     if (const JsonView* name = row.find("name")) name->Text();
//   });
//   cursor.End();
#ifndef ONNX_TAG_TAGGING_JSON_VIEW_H_
#define ONNX_TAG_TAGGING_JSON_VIEW_H_

#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace onnx_tag {

// A value that a JsonCursor has checked, as it stands in the text.
class JsonView {
 public:
  JsonView() = default;
  explicit JsonView(std::string_view text) : text_(text) {}

  bool is_string() const { return text_.starts_with('"'); }
  bool is_array() const { return text_.starts_with('['); }
  bool is_object() const { return text_.starts_with('{'); }
  std::string_view text() const { return text_; }

  // Of a string: what it says. Lone surrogates \udc80-\udcff are the bytes
  // they stand for (json_text.h).
  std::string Text() const;
  // Of an array: its values. Of anything else: none.
  std::vector<JsonView> Items() const;

 private:
  std::string_view text_;
};

// An object's members; of several with one name, the last counts.
class JsonCursor;
class JsonObject {
 public:
  JsonObject() = default;
  // Empty where `view` is no object.
  explicit JsonObject(JsonView view);
  // Takes the next value, an object, in the memory of the one before.
  void Read(JsonCursor& cursor);
  void Add(std::string_view key, JsonView value) {
    members_.push_back({key, value});
  }

  // Null where there is none.
  const JsonView* find(std::string_view key) const;

 private:
  struct Member {
    std::string_view key;
    JsonView value;
  };
  std::vector<Member> members_;
  std::deque<std::string> decoded_;  // keys that are written with escapes
};

// Walks over a text, and throws Error(kInput), "parse error at line 3, column
// 7: ...", where it is no JSON.
class JsonCursor {
 public:
  explicit JsonCursor(std::string_view json) : json_(json) {}

  // Whether the next value is an object, an array.
  bool AtObject() { return Peek() == '{'; }
  bool AtArray() { return Peek() == '['; }

  // Steps over the next value.
  JsonView Value();

  // Steps into an object; `use` is called with each key, as it is written, and
  // must take the value.
  template <typename Use>
  void ForEachMember(Use&& use) {
    Expect('{');
    if (Accept('}')) return;
    do {
      const std::string_view key = String();
      Expect(':');
      use(key);
    } while (Accept(','));
    Expect('}');
  }

  // The same for an array.
  template <typename Use>
  void ForEachItem(Use&& use) {
    Expect('[');
    if (Accept(']')) return;
    do {
      use();
    } while (Accept(','));
    Expect(']');
  }

  // Nothing but space may follow.
  void End();

 private:
  // The next character that is no space; NUL at the end.
  char Peek();
  bool Accept(char c);
  void Expect(char c);
  void Skip(int depth);
  std::string_view String();
  void Escape();
  void Number();
  void Word(std::string_view word);
  [[noreturn]] void FailHere(std::string_view what) const;

  std::string_view json_;
  std::size_t at_ = 0;
};

}  // namespace onnx_tag

#endif  // ONNX_TAG_TAGGING_JSON_VIEW_H_
