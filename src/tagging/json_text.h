// JSON written by hand, piece by piece: a sidecar of 10^6 nodes is streamed,
// never held.
#ifndef ONNX_TAG_TAGGING_JSON_TEXT_H_
#define ONNX_TAG_TAGGING_JSON_TEXT_H_

#include <string>
#include <string_view>

namespace onnx_tag {

// Appends `text` as a JSON string. Bytes that are not UTF-8 become lone
// surrogates \udc80-\udcff, as Python's "surrogateescape" has them.
void AppendJsonString(std::string& out, std::string_view text);

// `"text"`, or null where it is empty.
void AppendJsonStringOrNull(std::string& out, std::string_view text);

}  // namespace onnx_tag

#endif  // ONNX_TAG_TAGGING_JSON_TEXT_H_
