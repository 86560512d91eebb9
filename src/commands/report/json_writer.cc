#include "commands/report/json_writer.h"

#include <fmt/core.h>

#include <utility>

#include "tagging/json_text.h"

namespace onnx_tag {

void JsonWriter::Separate() {
  if (needs_comma_) text_ += ", ";
  needs_comma_ = true;
}

JsonWriter& JsonWriter::Open(char bracket) {
  Separate();
  text_ += bracket;
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::Close(char bracket) {
  text_ += bracket;
  needs_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::Key(std::string_view key) {
  String(key);
  text_ += ": ";
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::String(std::string_view text) {
  Separate();
  AppendJsonString(text_, text);
  return *this;
}

JsonWriter& JsonWriter::StringOrNull(std::string_view text) {
  return text.empty() ? Null() : String(text);
}

JsonWriter& JsonWriter::Number(std::uint64_t number) {
  Separate();
  text_ += std::to_string(number);
  return *this;
}

JsonWriter& JsonWriter::Integer(std::int64_t number) {
  Separate();
  text_ += std::to_string(number);
  return *this;
}

JsonWriter& JsonWriter::Share(double share) {
  Separate();
  text_ += fmt::format("{:.6g}", share);
  return *this;
}

JsonWriter& JsonWriter::Bool(bool value) {
  Separate();
  text_ += value ? "true" : "false";
  return *this;
}

JsonWriter& JsonWriter::Null() {
  Separate();
  text_ += "null";
  return *this;
}

std::string JsonWriter::Take() { return std::exchange(text_, {}); }

}  // namespace onnx_tag
