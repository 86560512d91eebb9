// The one place where JSON is written, piece by piece: a sidecar of 10^6 nodes
// is streamed, never held. For --json:
//
//   JsonWriter json;
//   json.BeginObject().Key("nodes").Number(3).EndObject();
//   terminal.Out(json.text() + "\n");
#ifndef ONNX_TAG_JSON_WRITER_H_
#define ONNX_TAG_JSON_WRITER_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace onnx_tag {

// Appends `text` as a JSON string that every parser reads. A byte that is not
// UTF-8 becomes one of \uef80 to \uefff: characters for private use, so that
// byte 0x80 + n is U+EF80 + n. A name that has these characters itself is
// written byte by byte in the same way. Reading the two back is thus exact.
void AppendJsonString(std::string& out, std::string_view text);

// `"text"`, or null if it is empty.
void AppendJsonStringOrNull(std::string& out, std::string_view text);

class JsonWriter {
 public:
  JsonWriter& BeginObject() { return Open('{'); }
  JsonWriter& EndObject() { return Close('}'); }
  JsonWriter& BeginArray() { return Open('['); }
  JsonWriter& EndArray() { return Close(']'); }

  JsonWriter& Key(std::string_view key);
  JsonWriter& String(std::string_view text);
  // null if `text` is empty.
  JsonWriter& StringOrNull(std::string_view text);
  JsonWriter& Number(std::uint64_t number);
  JsonWriter& Integer(std::int64_t number);
  JsonWriter& Share(double share);  // six digits
  JsonWriter& Bool(bool value);
  JsonWriter& Null();

  const std::string& text() const { return text_; }
  // What is written so far, which is then forgotten.
  std::string Take();

 private:
  JsonWriter& Open(char bracket);
  JsonWriter& Close(char bracket);
  void Separate();

  std::string text_;
  bool needs_comma_ = false;
};

}  // namespace onnx_tag

#endif  // ONNX_TAG_JSON_WRITER_H_
