#include "clues/exporters/torchscript/torchscript.h"

#include "core/hierarchy/name_parts.h"

namespace onnx_tag::hierarchy {
namespace {

std::string_view WithoutOutput(std::string_view name) {
  return WithoutNumbered(name, "_output_").value_or(name);
}

}  // namespace

ScopedName SplitScopedName(std::string_view name) {
  if (!ConsumePrefix(name, "/")) return {};
  while (ConsumeSuffix(name, "/")) {
  }
  const std::string_view op = LastPart(name, '/');
  std::string_view scope = BeforeLastPart(name, '/');
  // ONNX Runtime's training graphs: `<scope>/MatMul_Grad/Reshape_3`.
  if (scope.ends_with("_Grad")) scope = BeforeLastPart(scope, '/');
  const std::string_view kind = WithoutCounter(WithoutOutput(op));
  if (kind.empty() || kind[0] == '.') return {};
  return {scope, kind, true};
}

ScopedName SplitValueName(std::string_view name) {
  if (!WithoutNumbered(name, "_output_")) return {};
  return SplitScopedName(name);
}

bool IsOutputOf(std::string_view value, std::string_view node) {
  return ConsumePrefix(value, node) && ConsumePrefix(value, "_output_") &&
         IsNumeric(value);
}

Reuse SplitReuseSuffix(std::string_view scope) {
  const auto base = WithoutNumbered(scope, "_");
  if (!base || base->empty() || base->ends_with('/') || base->ends_with('.')) {
    return {scope, 0};
  }
  const std::string_view digits = scope.substr(base->size() + 1);
  // The exporter counts from 1 and writes no leading zeros.
  const int call = digits[0] == '0' ? 0 : SmallNumber(digits, 0);
  return call == 0 ? Reuse{scope, 0} : Reuse{*base, call};
}

}  // namespace onnx_tag::hierarchy
