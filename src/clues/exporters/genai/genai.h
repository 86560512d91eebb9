// Names of the onnxruntime-genai model builder: made by hand, after
// TorchScript's, with module names of its own (`attn` for `self_attn`).
#ifndef ONNX_TAG_CLUES_EXPORTERS_GENAI_GENAI_H_
#define ONNX_TAG_CLUES_EXPORTERS_GENAI_GENAI_H_

#include <string_view>

#include "clues/exporters/torchscript/torchscript.h"

namespace onnx_tag::hierarchy {

struct GenaiName {
  std::string_view scope;  // "model/layers.0/attn/q_proj"; slashes for dots
  std::string_view op;     // "MatMul"; "" for a value named by its module
  // `scope` is what holds the builder's own part, as constants and the mask's
  // sub-graph are; there is no such module.
  bool made = false;
  // `layers.<N>` is the norm behind the last of N layers.
  bool final_norm = false;
  bool ok = false;
};

GenaiName SplitGenaiNode(std::string_view name);

struct GenaiParameter {
  std::string_view module;     // "model.layers.0.attn.q_proj"
  std::string_view parameter;  // "weight"
  bool ok = false;
};

// `<module>.MatMul.weight`; as UndoTensorName leaves it. ok: it has the op in
// it.
GenaiParameter SplitGenaiParameter(std::string_view name);

}  // namespace onnx_tag::hierarchy

#endif  // ONNX_TAG_CLUES_EXPORTERS_GENAI_GENAI_H_
