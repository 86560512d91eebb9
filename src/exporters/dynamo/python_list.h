// A Python list of strings, as `repr` prints it; JSON is understood too.
#ifndef ONNX_TAG_EXPORTERS_DYNAMO_PYTHON_LIST_H_
#define ONNX_TAG_EXPORTERS_DYNAMO_PYTHON_LIST_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace onnx_tag::hierarchy {

// The elements, unescaped, as UTF-8. An element without quotes, as in
// `['a', slice(None, 2, None)]`, is its text; commas inside its brackets do
// not end it. Nothing where the text is no list. Takes linear time and no
// stack, however the brackets nest.
std::optional<std::vector<std::string>> ParsePythonList(std::string_view text);

}  // namespace onnx_tag::hierarchy

#endif  // ONNX_TAG_EXPORTERS_DYNAMO_PYTHON_LIST_H_
