#include "clues/exporters/parameter_name.h"

#include "clues/exporters/dialect_names.h"
#include "clues/exporters/words.h"
#include "core/hierarchy/name_parts.h"

namespace onnx_tag::hierarchy {
namespace {

// "layers_0_fc_weight": an index in the middle.
bool HasInnerIndex(std::string_view name) {
  for (std::size_t at = name.find('_'); at != std::string_view::npos;) {
    const std::size_t next = name.find('_', at + 1);
    if (next == std::string_view::npos) return false;
    if (IsNumeric(name.substr(at + 1, next - at - 1))) return true;
    at = next;
  }
  return false;
}

// Without a module only the word itself tells `cls_token` from `add_12`.
bool IsRootParameterName(std::string_view name) {
  if (IsUpper(name[0]) || WithoutNumbered(name, "_")) return false;
  if (name.starts_with("init") && name.size() > 4 && IsDigit(name[4])) {
    return false;
  }
  if (IsSanitizedParameterName(name)) return false;
  static const WordList fx_nodes("fxNode");
  return !fx_nodes.Has(name);
}

// Paddle numbers its layers by class: `conv2d_12.w_0`, `batch_norm2d_3.b_0`,
// `linear_7.w_0_deepcopy_31`. Such a layer is a module, but the name does not
// say which.
bool IsPaddleParameterName(std::string_view name) {
  if (const auto copied = WithoutNumbered(name, "_deepcopy_")) name = *copied;
  for (const std::string_view kind : {".w_", ".b_"}) {
    const auto layer = WithoutNumbered(name, kind);
    if (layer) {
      return layer->find('.') == std::string_view::npos &&
             WithoutNumbered(*layer, "_").has_value();
    }
  }
  return false;
}

}  // namespace

bool IsSanitizedParameterName(std::string_view name) {
  if (name.empty() || name.find_first_of("./:") != std::string_view::npos) {
    return false;
  }
  return name.starts_with("p_") || name.starts_with("b_") ||
         HasInnerIndex(name);
}

bool IsParameterName(std::string_view name) {
  if (name.empty() || name[0] == '/' || IsNumeric(name)) return false;
  if (name.find("::") != std::string_view::npos) return false;
  if (name.front() == '.' || name.back() == '.') return false;
  static const WordList prefixes("madePrefix");
  static const WordList suffixes("madeSuffix");
  if (prefixes.HasStartOf(name) || suffixes.HasEndOf(name)) return false;
  // tf2onnx: `model/dense/BiasAdd/ReadVariableOp:0`, `const_fold_opt__124`.
  if (WithoutNumbered(name, ":") || WithoutNumbered(name, "__")) return false;
  // Keras on torch has `_torch_params.<layer>/<variable>`; nobody else a slash.
  if (name.find('/') != std::string_view::npos) {
    return name.starts_with("_torch_params.");
  }
  if (name.find('.') == std::string_view::npos) {
    return IsRootParameterName(name);
  }
  return !SplitOnnxscriptValue(name).ok && !IsPaddleParameterName(name);
}

bool HasParameterSuffix(std::string_view name) {
  static const WordList suffixes("parameter");
  return suffixes.HasEndOf(name);
}

ParameterName SplitParameterName(std::string_view name) {
  constexpr std::string_view kParametrized = "parametrizations.";
  if (name.starts_with(kParametrized)) return {{}, name};
  const std::size_t inner = name.find(".parametrizations.");
  if (inner != std::string_view::npos) {
    return {name.substr(0, inner), name.substr(inner + 1)};
  }
  return {BeforeLastPart(name, '.'), LastPart(name, '.')};
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
