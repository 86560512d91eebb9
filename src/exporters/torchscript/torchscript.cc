#include "exporters/torchscript/torchscript.h"

#include "hierarchy/name_parts.h"

namespace onnx_tag::hierarchy {
namespace {

std::string_view WithoutOutput(std::string_view name) {
  return WithoutNumbered(name, "_output_").value_or(name);
}

std::string_view WithoutCounter(std::string_view op) {
  const auto bare = WithoutNumbered(op, "_");
  return bare && !bare->empty() ? *bare : op;
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

std::vector<std::string_view> CollapseScope(std::string_view scope) {
  std::vector<std::string_view> path;
  std::string_view previous;
  while (!scope.empty()) {
    const std::size_t slash = scope.find('/');
    const std::string_view segment = scope.substr(0, slash);
    scope.remove_prefix(slash == std::string_view::npos ? scope.size()
                                                        : slash + 1);
    if (segment.empty()) continue;
    const std::string_view last = LastPart(segment, '.');
    const std::string_view list = BeforeLastPart(segment, '.');
    if (IsNumeric(last) && !list.empty() && list == previous) {
      path.push_back(last);
    } else {
      for (std::string_view rest = segment; !rest.empty();) {
        const std::size_t dot = rest.find('.');
        if (dot != 0) path.push_back(rest.substr(0, dot));
        rest.remove_prefix(dot == std::string_view::npos ? rest.size()
                                                         : dot + 1);
      }
    }
    previous = segment;
  }
  return path;
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

bool IsQuantizerModule(std::string_view segment) {
  if (const auto bare = WithoutNumbered(segment, "_")) segment = *bare;
  return segment == "input_quantizer" || segment == "weight_quantizer" ||
         segment == "output_quantizer" || segment.ends_with("_bmm_quantizer");
}

}  // namespace onnx_tag::hierarchy
