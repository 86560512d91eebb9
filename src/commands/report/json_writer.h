// JSON for --json, written as it is said:
//
//   JsonWriter json;
//   json.BeginObject().Key("nodes").Number(3).EndObject();
//   terminal.Out(json.text() + "\n");
#ifndef ONNX_TAG_COMMANDS_REPORT_JSON_WRITER_H_
#define ONNX_TAG_COMMANDS_REPORT_JSON_WRITER_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace onnx_tag {

class JsonWriter {
 public:
  JsonWriter& BeginObject() { return Open('{'); }
  JsonWriter& EndObject() { return Close('}'); }
  JsonWriter& BeginArray() { return Open('['); }
  JsonWriter& EndArray() { return Close(']'); }

  JsonWriter& Key(std::string_view key);
  JsonWriter& String(std::string_view text);
  // null where `text` is empty.
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

#endif  // ONNX_TAG_COMMANDS_REPORT_JSON_WRITER_H_
