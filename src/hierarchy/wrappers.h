// What wrappers put before a module path.
#ifndef ONNX_TAG_HIERARCHY_WRAPPERS_H_
#define ONNX_TAG_HIERARCHY_WRAPPERS_H_

#include <string_view>

namespace onnx_tag::hierarchy {

struct Wrapped {
  std::string_view prefix;   // "module.base_model.model.", with its last dot
  std::string_view path;     // the rest
  std::string_view wrapper;  // the outermost, for people: "torch.compile"
};

// DataParallel, torch.compile, ORTModule, PEFT and sentence-transformers, one
// inside the other too. The prefix is a real part of the path: it is for
// comparing models, not for cutting. Empty prefix: not wrapped.
Wrapped SplitWrapper(std::string_view path);

// ONNX Runtime's generation graphs put `e_`, `d_`, `s_` or `s_d_` before every
// name of the encoder, the decoder and their sub-graphs. The prefix, or "".
std::string_view GenerationPrefix(std::string_view name);

}  // namespace onnx_tag::hierarchy

#endif  // ONNX_TAG_HIERARCHY_WRAPPERS_H_
