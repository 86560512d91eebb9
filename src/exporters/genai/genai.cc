#include "exporters/genai/genai.h"

#include "hierarchy/name_parts.h"

namespace onnx_tag::hierarchy {
namespace {

bool IsMadeUp(std::string_view segment) {
  return segment == "constants" || segment == "constant_nodes" ||
         segment.ends_with("_subgraph") || segment.ends_with("_reformat");
}

// Cuts at the first segment that is no module.
void CutMadeUp(GenaiName& name) {
  for (std::size_t begin = 0; begin <= name.scope.size();) {
    const std::size_t slash = name.scope.find('/', begin);
    const std::string_view segment = name.scope.substr(
        begin, slash == std::string_view::npos ? slash : slash - begin);
    if (IsMadeUp(segment)) {
      name.scope = name.scope.substr(0, begin == 0 ? 0 : begin - 1);
      name.made = true;
      return;
    }
    if (slash == std::string_view::npos) return;
    begin = slash + 1;
  }
}

GenaiName Finish(std::string_view scope, std::string_view op) {
  GenaiName name;
  name.scope = scope;
  name.op = op;
  name.ok = true;
  CutMadeUp(name);
  name.final_norm = LastPart(name.scope, '/') == "final_norm_layernorm";
  return name;
}

}  // namespace

GenaiName SplitGenaiNode(std::string_view name) {
  const ScopedName scoped = SplitScopedName(name);
  return scoped.ok ? Finish(scoped.scope, scoped.op) : GenaiName();
}

GenaiParameter SplitGenaiParameter(std::string_view name) {
  const std::string_view parameter = LastPart(name, '.');
  std::string_view module = BeforeLastPart(name, '.');
  for (const std::string_view op :
       {".MatMul", ".MatMulNBits", ".Gemm", ".Add", ".Conv", ".Gather"}) {
    if (ConsumeSuffix(module, op)) return {module, parameter, true};
  }
  return {};
}

}  // namespace onnx_tag::hierarchy
