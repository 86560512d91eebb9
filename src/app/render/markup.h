// Text as XML and URIs can hold it.
#ifndef ONNX_TAG_APP_RENDER_MARKUP_H_
#define ONNX_TAG_APP_RENDER_MARKUP_H_

#include <string>
#include <string_view>

namespace onnx_tag {

// Escapes markup and quotes. Control characters and bytes that are not UTF-8,
// which XML cannot hold, become \xNN, and U+FFFE and U+FFFF become U+FFFD. A
// text of more than `longest` bytes is cut.
std::string XmlText(std::string_view text, std::size_t longest = 4000);

// A path as a URI reference: all but letters, digits and "-._~/" as %XX.
std::string UriText(std::string_view path);

}  // namespace onnx_tag

#endif  // ONNX_TAG_APP_RENDER_MARKUP_H_
