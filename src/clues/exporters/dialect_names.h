// Files whose names are not PyTorch's: which dialect a file speaks, and what
// names say in dialects with rules of their own.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onnx_tag/model.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag::hierarchy {

// Who named a node.
enum class Dialect {
  kUnknown,
  kTorchScript,      // `/encoder/layer.0/MatMul_3`
  kTorchScriptOld,   // `MatMul_24`: torch to 1.12, or a node without a scope
  kDynamo,           // `node_linear_3` and metadata
  kDynamoStripped,   // the same without
  kDynamoFunctions,  // torch 2.1 to 2.4: a function for each module call
  kModuleFunctions,  // export_modules_as_functions
  kOnnxscript,       // `model/layers.0/MatMul_node_12`
  kGenai,            // `/model/layers.0/attn/q_proj/MatMul`
  kTf2onnx,          // `model/dense/MatMul`, `MatMul__283`
  kPaddle,           // `Conv.0`, `p2o.Conv.0`
  kOnnxRuntime,      // `Attention_0`, `gemm_input_reshape_token_3`
  kClassPath,        // `/BertModel/BertEncoder/BertLayer.0/Add`
};

constexpr bool IsDynamo(Dialect dialect) {
  return dialect == Dialect::kDynamo || dialect == Dialect::kDynamoStripped;
}

// "torchscript", "dynamo-stripped": for reports.
std::string_view DialectName(Dialect dialect);

// Judges by one name. A scoped name may also be the genai builder's: only its
// values (`/output_0`) and constants show that. A dynamo node may have lost its
// metadata. RecognizeExporter() decides for the whole file. Names must have
// passed UndoNodeName() (clues/exporters/tools/original_name.h).
Dialect NodeNameDialect(std::string_view name, std::string_view op_type);

// The same for a value.
Dialect ValueNameDialect(std::string_view name);

// Names that torch's TorchScript exporter has given since 1.13:
// `/<scope>/<Op>_<k>` for nodes, `<node>_output_<i>` for values.
//
// A scope is the call stack, each call by the module's last attribute name and
// the list indices after it. See docs/how/how-it-works.md.
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

// `encoder.layer.0/MatMul_1`, as `tag --rename-nodes` names nodes: the scope is
// a dotted path.
ScopedName SplitModuleName(std::string_view name);

// Names of onnxscript.nn's graph builder.

// `model/layers.0/self_attn/MatMul_node_12`: the scope has slashes for dots and
// needs no collapsing.
ScopedName SplitOnnxscriptNode(std::string_view name);
// `v_model.layers.0.self_attn.MatMul_12`: the scope is a dotted path.
ScopedName SplitOnnxscriptValue(std::string_view name);

// Names of the onnxruntime-genai model builder: made by hand, after
// TorchScript's, with module names of its own (`attn` for `self_attn`).
struct GenaiName {
  std::string_view scope;  // "model/layers.0/attn/q_proj"; slashes for dots
  std::string_view op;     // "MatMul"; "" for a value named by its module
  // `scope` is what holds the builder's own part, as constants and the mask's
  // sub-graph are; there is no such module.
  bool made = false;
  bool ok = false;
};
GenaiName SplitGenaiNode(std::string_view name);
// "model.layers.0.attn.q_proj" for `<module>.MatMul.weight`, as UndoTensorName
// leaves it.
std::string_view GenaiOwner(std::string_view parameter);

// TensorFlow's name scopes, as tf2onnx and keras2onnx keep them:
// `StatefulPartitionedCall/model/encoder/layer_._23/dense/Tensordot/MatMul__38`.
struct TfName {
  // model, encoder, layer, 23, dense: what is left of the scope without calls,
  // ports, counters and TensorFlow ops. The first is as a rule the model
  // itself. Keras' suffixes (`dense_1` for `dense`) are still there: they are
  // the file's, and only all names together tell which they are.
  std::vector<std::string_view> segments;
  std::string_view op;  // "MatMul"
  bool ok = false;      // false: no scope at all, as in `MatMul__283`
};

// A node's name, or a value's with its `:0`.
TfName SplitTfName(std::string_view name);

}  // namespace onnx_tag::hierarchy

namespace onnx_tag {

// What a name says in full, without the votes of parameters.
struct NamedModule {
  std::string module;
  Confidence confidence = Confidence::kHigh;
  std::string_view because;
  std::vector<std::string> origins;  // of a node packed from several modules
};

// Reads the names of one file in one dialect.
class DialectNames {
 public:
  virtual ~DialectNames() = default;

  // Nothing where the node's names say nothing.
  virtual std::optional<NamedModule> OfNode(NodeId node) const = 0;

  // The module that owns the tensor of this name, as UndoTensorName leaves it.
  virtual std::optional<std::string> OwnerOf(std::string_view tensor) const = 0;
};

// Who wrote the file.
struct ExporterFacts {
  // The exporter's dialect, not the last tool's: files are mixtures, and most
  // of their nodes decide.
  hierarchy::Dialect dialect = hierarchy::Dialect::kUnknown;
  // Null for dialects that AlignScopes or metadata serve. The model must
  // outlive it.
  std::shared_ptr<const DialectNames> names;
  // Another framework's exporter says that it made the file: the same
  // architectures, other modules.
  bool other_framework = false;
  // That framework is PaddlePaddle.
  bool paddle = false;
  // Names are SplitModuleName()'s, and no metadata has the exporter's.
  bool module_names = false;
  // By node: TorchScript's exporter gave it its name, and no tool added to it.
  // These are most nodes of most files, so that no later step reads on. Empty:
  // nobody looked.
  IdVector<NodeId, bool> plain;

  bool IsPlain(NodeId node) const {
    return Index(node) < plain.size() && plain[node];
  }
};

// Recognises the exporter: once for a file, here and nowhere else.
ExporterFacts RecognizeExporter(const Model& model);

// One file each.
std::shared_ptr<const DialectNames> ReadGenaiNames(const Model& model);
std::shared_ptr<const DialectNames> ReadTfNames(const Model& model);

}  // namespace onnx_tag
