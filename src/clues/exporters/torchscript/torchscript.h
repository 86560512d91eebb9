// Names that torch's TorchScript exporter has given since 1.13:
// `/<scope>/<Op>_<k>` for nodes, `<node>_output_<i>` for values.
//
// A scope is the call stack, each call by the module's last attribute name and
// the list indices after it. See docs/how-it-works.md.
#ifndef ONNX_TAG_CLUES_EXPORTERS_TORCHSCRIPT_TORCHSCRIPT_H_
#define ONNX_TAG_CLUES_EXPORTERS_TORCHSCRIPT_TORCHSCRIPT_H_

#include <string_view>

namespace onnx_tag::hierarchy {

struct ScopedName {
  std::string_view scope;  // "a/b"; "" is the root
  std::string_view op;     // "MatMul", without counter and _output_N
  bool ok = false;         // false: not such a name, the rest is empty
};

// For a node, as UndoNodeName leaves it. A node that OnnxSlim named after its
// output is understood too.
ScopedName SplitScopedName(std::string_view name);

// For a value: only a name that ends in _output_N tells its producer.
ScopedName SplitValueName(std::string_view name);

// Whether `value` is `node` with _output_N behind it: the name of the node says
// all that the name of the value says.
bool IsOutputOf(std::string_view value, std::string_view node);

struct Reuse {
  std::string_view base;
  int call = 0;  // 0: no suffix
};

// "act_1" -> {"act", 1}: perhaps the second call of `act`, perhaps a module
// called `act_1`. Whoever knows the other names decides. Takes a segment or a
// whole scope, whose last segment alone can have the suffix.
Reuse SplitReuseSuffix(std::string_view scope);

}  // namespace onnx_tag::hierarchy

#endif  // ONNX_TAG_CLUES_EXPORTERS_TORCHSCRIPT_TORCHSCRIPT_H_
