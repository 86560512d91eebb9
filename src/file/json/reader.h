// The one place where JSON is read: sidecars, recordings, rules, module maps,
// profiles.
//
//   json::Reader reader(text);
//   reader.ForEachMember([&](std::string_view key) {
//     if (key == "name") name = reader.String();
//   });
//
// The whole document is checked first; nlohmann_json judges and decodes what is
// not plain, and says what is wrong. The reader then walks over the text
// itself: only strings with escapes are copied. Errors in the syntax and errors
// in the contents both have a line and a column.
//
// A key that occurs twice in one object is an error: half of the file would be
// ignored. A byte that is not UTF-8 is written as one of U+EF80 to U+EFFF
// (file/json/writer.h); the reader gives the byte back. It also reads the form
// of version 0.1 and of Python's "surrogateescape", \udc80 to \udcff.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "onnx_tag/error.h"

namespace onnx_tag::json {

enum class Kind { kObject, kArray, kString, kNumber, kBool, kNull };

// "an object", "a string", ...
std::string_view KindName(Kind kind);

// A byte of the document; line and column are counted when they are printed.
enum class Place : std::size_t {};

// What to do with a document that ends too soon.
enum class Ending { kRequired, kMayBeCutOff };

class Document;

class Reader {
 public:
  // Levels of nesting that are read: a hostile file must not use up the stack
  // of those who read recursively.
  static constexpr std::size_t kMaxDepth = 1000;
  // Bytes of one string that are read.
  static constexpr std::size_t kMaxToken = std::size_t{16} << 20;

  // `text` must outlive the reader and its copies. All errors have `kind`.
  // Throws where `text` is not JSON.
  explicit Reader(std::string_view text, ErrorKind kind = ErrorKind::kUsage,
                  Ending ending = Ending::kRequired);

  // The kind of the next value, which is not taken.
  Kind Peek() const;

  // Where the next value starts, or after NextMember() its key.
  Place Here() const;
  Place KeyPlace() const { return Place{key_start_}; }

  void BeginObject();
  // False at the end of the object, which is then left. The key is valid as
  // long as the reader or a copy of it.
  bool NextMember(std::string_view& key);
  void BeginArray();
  bool NextItem();

  // Calls `use` with each key of the next value, an object. A value that `use`
  // does not take is skipped.
  template <typename Use>
  void ForEachMember(Use&& use) {
    std::string_view key;
    BeginObject();
    while (NextMember(key)) {
      const std::size_t start = at_;
      use(key);
      if (at_ == start) Skip();
    }
  }
  // The same for the items of a list.
  template <typename Use>
  void ForEachItem(Use&& use) {
    BeginArray();
    while (NextItem()) {
      const std::size_t start = at_;
      use();
      if (at_ == start) Skip();
    }
  }

  std::string String() { return std::string(StringView()); }
  // Valid as long as the reader or a copy of it.
  std::string_view StringView();
  double Number();
  bool Bool();
  void Null();
  // A whole number from 0 to `most`.
  std::uint64_t Whole(std::uint64_t most = UINT64_MAX);
  std::uint32_t Count() {
    return static_cast<std::uint32_t>(Whole(UINT32_MAX));
  }
  // A string, or "" for null.
  std::string StringOrNull();
  // A list of them.
  std::vector<std::string> Strings();

  // Passes over one value of any kind and returns its text in the document.
  std::string_view Skip();

  // To read a value again after Skip().
  std::size_t position() const { return at_; }
  void Return(std::size_t position) { at_ = position; }

  // With Ending::kMayBeCutOff: the end of the text was reached inside a value.
  // Every object and list then ends.
  bool cut_off() const { return cut_off_; }

  // "line 3, column 14"
  std::string Where(Place place) const;

  template <typename... Args>
  [[noreturn]] void FailAt(
      Place place, message::Format<std::type_identity_t<Args>...> format,
      const Args&... args) const {
    throw Error(kind_, Where(place) + ": " + Message(format, args...));
  }

 private:
  struct Token;

  std::size_t Next() const;
  Token Look() const;
  Token Expect(Kind kind);
  bool AtEnd();
  std::string_view Text(Kind kind);

  std::shared_ptr<const Document> document_;
  ErrorKind kind_;
  std::size_t at_ = 0;  // the end of the last token
  std::size_t key_start_ = 0;
  bool cut_off_ = false;
};

}  // namespace onnx_tag::json
