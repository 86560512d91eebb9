#include "hierarchy/wrappers.h"

#include "hierarchy/name_parts.h"

namespace onnx_tag::hierarchy {
namespace {

struct Known {
  std::string_view prefix;
  std::string_view wrapper;
};

constexpr Known kWrappers[] = {
    {"module.", "DataParallel"},
    {"_orig_mod.", "torch.compile"},
    {"_original_module._original_model.", "ORTModule"},
    {"_original_module.", "ORTModule"},
    {"base_model.model.", "PEFT"},
    {"0.auto_model.", "sentence-transformers"},
    {"0.model.", "sentence-transformers"},
};

}  // namespace

Wrapped SplitWrapper(std::string_view path) {
  Wrapped result;
  std::string_view rest = path;
  for (bool again = true; again;) {
    again = false;
    for (const Known& known : kWrappers) {
      if (!ConsumePrefix(rest, known.prefix)) continue;
      if (result.wrapper.empty()) result.wrapper = known.wrapper;
      again = true;
    }
  }
  result.prefix = path.substr(0, path.size() - rest.size());
  result.path = rest;
  return result;
}

std::string_view GenerationPrefix(std::string_view name) {
  for (const std::string_view prefix : {"s_d_", "s_", "e_", "d_"}) {
    if (!name.starts_with(prefix)) continue;
    const std::string_view rest = name.substr(prefix.size());
    // `d_model` is nobody's prefix.
    const bool scoped = rest.starts_with('/') || rest.starts_with("onnx::") ||
                        rest.find('.') != std::string_view::npos;
    return scoped ? prefix : std::string_view();
  }
  return {};
}

}  // namespace onnx_tag::hierarchy
