#include "clues/exporters/functions/local_functions.h"

#include <algorithm>

#include "base/lists.h"
#include "base/text.h"
#include "core/hierarchy/name_parts.h"

namespace onnx_tag::hierarchy {
namespace {

bool IsIdentifier(std::string_view text) {
  if (text.empty() || IsDigit(text[0])) return false;
  for (const char c : text) {
    // Beyond ASCII Python allows letters; which does not matter here.
    if (!IsWordChar(c) && static_cast<unsigned char>(c) < 0x80) return false;
  }
  return true;
}

bool IsDottedIdentifier(std::string_view text) {
  const std::vector<std::string_view> parts = Split(text, '.');
  return AllIn(parts, IsIdentifier);
}

}  // namespace

bool IsPythonModuleDomain(std::string_view domain) {
  for (const std::string_view other :
       {"ai.onnx", "com.", "org.", "pkg.", "onnx"}) {
    if (domain.starts_with(other)) return false;
  }
  return IsDottedIdentifier(domain);
}

bool IsPackageDomain(std::string_view domain) {
  if (!ConsumePrefix(domain, "pkg.")) return false;
  if (domain.starts_with("onnxscript.torch_lib") ||
      domain.starts_with("torch.__subgraph__") ||
      domain.starts_with("torch.ops")) {
    return false;
  }
  const std::size_t dot = domain.find('.');
  if (!IsIdentifier(domain.substr(0, dot))) return false;
  // A version, which may be `2.1.0a0+git1234`, or nothing.
  return dot == std::string_view::npos ||
         (dot + 1 < domain.size() && IsDigit(domain[dot + 1]));
}

std::vector<PackageFunction> SplitPackageFunction(std::string_view name) {
  // Class paths are short; a name of capitals only is not searched to its end.
  constexpr std::size_t kMostReadings = 16;
  std::vector<PackageFunction> readings;
  const auto body = WithoutNumbered(name, "_");
  if (!body) return readings;
  std::size_t begin = 0;
  while (begin < body->size() && readings.size() < kMostReadings) {
    const std::size_t end = body->find('_', begin);
    const bool is_last = end == std::string_view::npos;
    if (IsUpper((*body)[begin])) {
      readings.push_back({body->substr(begin, is_last ? end : end - begin),
                          is_last ? "" : body->substr(end + 1)});
    }
    if (is_last) break;
    begin = end + 1;
  }
  return readings;
}

}  // namespace onnx_tag::hierarchy

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
