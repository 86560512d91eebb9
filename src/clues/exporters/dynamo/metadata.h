// What the metadata of a node says about its module: torch's dynamo exporter
// (2.5 and later) and onnxscript.nn.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace onnx_tag::hierarchy {

struct MetadataScope {
  std::string module;                // the last of `scopes`
  std::vector<std::string> scopes;   // full paths, outermost first; "" the root
  std::vector<std::string> classes;  // as written, parallel to `scopes`
  bool known = false;                // false: no module evidence
};

// `pkg.torch.onnx.name_scopes` and `pkg.torch.onnx.class_hierarchy` (may be
// ""): cumulative paths, the last element is the operation.
MetadataScope ParseTorchScopes(std::string_view name_scopes,
                               std::string_view class_hierarchy);

// `pkg.onnxscript.name_scopes` and `pkg.onnxscript.class_hierarchy`: relative
// names, no operation.
MetadataScope ParseOnnxscriptScopes(std::string_view name_scopes,
                                    std::string_view class_hierarchy);

// `namespace`, which says the same once more: "<path>: <class>/…". It ends with
// the operation, and its paths are cumulative. Unknown if no class is in it.
MetadataScope ParseTorchNamespace(std::string_view text);

// One entry of a module stack as a module path: `L['self'].h[1]` is h.1,
// `layers.slice(2, 4, None).0` is layers.2. In `L__self___h_1`, `_` may stand
// for a dot: see mangled_names.h.
std::string NormalizeScope(std::string_view scope);

// "torch.nn.modules.linear.Linear" -> "Linear"; "f.<locals>.Net" -> "Net".
std::string_view ShortClass(std::string_view class_path);

// A Python list of strings, as `repr` prints it; JSON is understood too.

// The elements, unescaped, as UTF-8. An element without quotes, as in
// `['a', slice(None, 2, None)]`, is its text; commas inside its brackets do
// not end it. Nothing where the text is no list. Takes linear time and no
// stack, however the brackets nest.
std::optional<std::vector<std::string>> ParsePythonList(std::string_view text);

}  // namespace onnx_tag::hierarchy
