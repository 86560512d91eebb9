// Reads a JSON document that a person or a program wrote, from front to back,
// without holding it: rules, recordings, hierarchies.
//
//   json::Reader reader(text);
//   reader.BeginObject();
//   std::string key;
//   while (reader.NextMember(key)) {
//     if (key == "name") name = reader.String(); else reader.Skip();
//   }
//   reader.End();
//
// Every error says line and column. Key order is kept, and a key that stands
// twice in one object is an error: half of the file would be ignored.
#ifndef ONNX_TAG_BASE_JSON_READER_H_
#define ONNX_TAG_BASE_JSON_READER_H_

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "onnx_tag/error.h"

namespace onnx_tag::json {

enum class Kind { kObject, kArray, kString, kNumber, kBool, kNull };

// "an object", "a string", ...
std::string_view KindName(Kind kind);

// A byte of the document; line and column are counted when they are printed.
enum class Place : std::size_t {};

class Reader {
 public:
  // Levels of nesting that are read: a hostile file must not use up the stack
  // of those who read recursively.
  static constexpr std::size_t kMaxDepth = 1000;

  // `text` must outlive the reader. All errors are Error(kUsage).
  explicit Reader(std::string_view text);

  // The kind of the next value, which is not taken.
  Kind Peek();

  // Where the next value starts, or after NextMember() its key.
  Place Here();
  Place KeyPlace() const { return Place{key_start_}; }

  void BeginObject();
  // False at the end of the object, which is then left.
  bool NextMember(std::string& key);
  void BeginArray();
  bool NextItem();

  std::string String();
  double Number();
  bool Bool();
  void Null();
  // A whole number from 0 to 2^32 - 1.
  std::uint32_t Count();

  // Passes over one value of any kind.
  void Skip();

  // Throws where anything but blanks follows.
  void End();

  // "line 3, column 14"
  std::string Where(Place place) const;

  template <typename... Args>
  [[noreturn]] void FailAt(Place place, fmt::format_string<Args...> format,
                           Args&&... args) const {
    Fail(ErrorKind::kUsage, "{}: {}", Where(place),
         fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  struct Level {
    bool object = false;
    bool first = true;
    std::unordered_set<std::string> keys;
  };

  void SkipBlanks();
  char Look();  // the next byte after blanks, '\0' at the end
  void Take(char expected, std::string_view what);
  void Expect(Kind kind);
  void Open(bool object);
  bool NextElement(char close);
  std::string QuotedString();
  void AppendEscape(std::string& text);
  std::uint32_t FourHexDigits();
  std::string_view NumberText();
  void Word(std::string_view word);

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t key_start_ = 0;
  std::vector<Level> levels_;
};

}  // namespace onnx_tag::json

#endif  // ONNX_TAG_BASE_JSON_READER_H_
