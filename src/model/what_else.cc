// Recognises other kinds of files that have the name model.onnx, for a helpful
// error message.
#include "base/text.h"
#include "model/reader.h"

namespace onnx_tag {

std::string WhatElseItIs(Bytes bytes) {
  const Bytes head = bytes.substr(0, 512);
  const Bytes text = head.substr(head.starts_with("\xef\xbb\xbf") ? 3 : 0);
  if (head.starts_with("version https://git-lfs")) {
    return "a Git LFS pointer\n  download the file: git lfs pull";
  }
  if (head.starts_with("PK\x03\x04")) {
    return "a zip archive\n  unpack it and give the .onnx file inside";
  }
  if (head.starts_with("\x1f\x8b")) {
    return "a gzip archive\n  unpack it first: gunzip";
  }
  if (head.size() >= 8 && head.substr(4, 4) == "ORTM") {
    return "an ONNX Runtime .ort file\n  give the original .onnx file";
  }
  if (head.starts_with("\x89HDF")) return "an HDF5 file (Keras weights?)";
  if (head.size() >= 8 && head.substr(4, 4) == "TFL3") {
    return "a TensorFlow Lite model";
  }
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  const Bytes word = start == Bytes::npos ? Bytes() : text.substr(start);
  if (word.starts_with("<")) {
    return "an HTML or XML page (a failed download?)";
  }
  if (word.starts_with("{") || word.starts_with("[")) return "JSON text";
  if (text.size() != head.size()) {
    return "it starts with a UTF-8 byte order mark: something rewrote it as "
           "text";
  }
  std::size_t printable = 0;
  for (const char c : head) {
    printable += (c >= ' ' && c <= '~') || c == '\n' || c == '\r' || c == '\t';
  }
  if (!head.empty() && printable == head.size()) return "a text file";
  return "";
}

}  // namespace onnx_tag
