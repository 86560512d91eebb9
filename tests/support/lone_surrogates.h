// Our JSON for parsers that refuse lone surrogates, which stand in it for bytes
// that are not UTF-8.
#ifndef ONNX_TAG_TESTS_SUPPORT_LONE_SURROGATES_H_
#define ONNX_TAG_TESTS_SUPPORT_LONE_SURROGATES_H_

#include <string>
#include <string_view>

namespace onnx_tag::test {

// JSON text whose lone surrogates \udc80-\udcff, which JSON parsers refuse,
// are replaced by a mark and a private code point; RestoreBytes turns those
// back, in a parsed string, into the bytes they stood for. Every other text
// comes through both as it was. Most JSON has none, and is then given back
// itself instead of a changed copy in `storage`.
std::string_view HideLoneSurrogates(std::string_view json,
                                    std::string& storage);
std::string RestoreBytes(std::string text);

}  // namespace onnx_tag::test

#endif  // ONNX_TAG_TESTS_SUPPORT_LONE_SURROGATES_H_
