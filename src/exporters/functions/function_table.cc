#include "exporters/functions/function_table.h"

#include <algorithm>

#include "exporters/functions/local_functions.h"
#include "hierarchy/name_parts.h"

namespace onnx_tag {
namespace {

FunctionKind KindOf(const Function& function) {
  if (hierarchy::IsPackageDomain(function.domain)) {
    return hierarchy::SplitPackageFunction(function.name).empty()
               ? FunctionKind::kHelper
               : FunctionKind::kPackage;
  }
  // Classes have a capital, whatever precedes it: `_Attention`.
  const std::size_t letter = function.name.find_first_not_of('_');
  const bool is_class = letter != std::string_view::npos &&
                        hierarchy::IsUpper(function.name[letter]);
  return is_class && hierarchy::IsPythonModuleDomain(function.domain)
             ? FunctionKind::kClass
             : FunctionKind::kHelper;
}

}  // namespace

FunctionTable::FunctionTable(const Model& model, const FunctionCalls& calls)
    : FunctionCalls(calls) {
  for (const Function& function : model.functions()) {
    const FunctionId id = MakeId<FunctionId>(functions_.size());
    functions_.Add({.kind = KindOf(function), .first_call = FirstCall(id)});
  }
  for (const Call& call : calls.calls()) {
    calls_.push_back({.node = call.node, .function = call.function});
  }
}

const FunctionCall* FunctionTable::CallOf(NodeId node) const {
  const auto at = std::lower_bound(
      calls_.begin(), calls_.end(), node,
      [](const FunctionCall& call, NodeId id) { return call.node < id; });
  return at != calls_.end() && at->node == node ? &*at : nullptr;
}

}  // namespace onnx_tag
