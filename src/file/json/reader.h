// The one place where JSON is read: sidecars, recordings, rules, module maps,
// profiles.
//
//   json::Reader reader(text);
//   reader.ForEachMember([&](std::string_view key) {
//     if (key == "name") name = reader.String();
//   });
//
// nlohmann_json's SAX parser checks the whole document first. It leaves a tape:
// one to three bytes for each value, which say where the value is in the text.
// The reader then walks over the tape. Errors in the syntax and errors in the
// contents both have a line and a column. The text is not copied; a document of
// only `[1,1,1,...` takes 1.0 times its size for the tape, a sidecar 0.2 times.
// `show` reads a sidecar of 166 MB in 2.4 s of CPU time (4.1 s before plain
// strings were kept from the parser; -O3).
//
// A key that occurs twice in one object is an error: half of the file would be
// ignored. A byte that is not UTF-8 is written as one of U+EF80 to U+EFFF
// (file/json/writer.h); the reader gives the byte back. It also reads the form
// of version 0.1 and of Python's "surrogateescape", \udc80 to \udcff.
#ifndef ONNX_TAG_FILE_JSON_READER_H_
#define ONNX_TAG_FILE_JSON_READER_H_

#include <fmt/core.h>

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

class Tape;

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
      const std::size_t start = at_.tape;
      use(key);
      if (at_.tape == start) Skip();
    }
  }
  // The same for the items of a list.
  template <typename Use>
  void ForEachItem(Use&& use) {
    BeginArray();
    while (NextItem()) {
      const std::size_t start = at_.tape;
      use();
      if (at_.tape == start) Skip();
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
  struct Position {
    std::size_t tape = 0;
    std::size_t text = 0;     // end of the last token
    std::size_t decoded = 0;  // in the strings that had escapes
  };
  Position position() const { return at_; }
  void Return(const Position& position) { at_ = position; }

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

  Token Look() const;
  void Take(const Token& token);
  Token Expect(Kind kind);
  bool AtEnd(const Token& token);
  std::string_view Text(const Token& token);

  std::shared_ptr<const Tape> tape_;
  ErrorKind kind_;
  Position at_;
  std::size_t key_start_ = 0;
  bool cut_off_ = false;
};

}  // namespace onnx_tag::json

#endif  // ONNX_TAG_FILE_JSON_READER_H_
