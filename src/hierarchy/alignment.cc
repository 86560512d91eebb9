#include "hierarchy/alignment.h"

#include <algorithm>

namespace onnx_tag::hierarchy {
namespace {

using Atoms = std::span<const std::string_view>;

bool IsPrefix(Atoms prefix, Atoms of) {
  return prefix.size() <= of.size() &&
         std::equal(prefix.begin(), prefix.end(), of.begin());
}

bool IsSubsequence(Atoms inner, Atoms of) {
  auto at = inner.begin();
  for (const std::string_view atom : of) {
    if (at != inner.end() && *at == atom) ++at;
  }
  return at == inner.end();
}

}  // namespace

Alignment Align(Atoms scope, Atoms module) {
  if (IsPrefix(scope, module)) {
    return scope.size() == module.size() ? Alignment::kEqual
                                         : Alignment::kUncalledChild;
  }
  if (IsPrefix(module, scope)) return Alignment::kParentParameter;
  if (scope.back() == module.back() && IsSubsequence(scope, module)) {
    return Alignment::kContainersMissing;
  }
  return Alignment::kUnrelated;
}

}  // namespace onnx_tag::hierarchy
