#include "clues/exporters/functions/inlined_names.h"

#include <optional>

#include "base/lists.h"
#include "core/hierarchy/name_parts.h"

namespace onnx_tag {
namespace {

// Names are searched from each of their words: longer ones are hostile.
constexpr std::size_t kLongestName = 600;

// Without the number of the call, `_1`.
std::optional<std::string_view> WithoutCall(std::string_view value) {
  if (value.empty() || value.size() > kLongestName ||
      hierarchy::IsDigit(value[0]) || !AllIn(value, hierarchy::IsWordChar)) {
    return std::nullopt;
  }
  return hierarchy::WithoutNumbered(value, "_");
}

}  // namespace

std::vector<std::string_view> ResultsOf(const Model& model, NodeId node) {
  std::vector<std::string_view> names;
  for (const ValueId value : model.Outputs(node)) {
    if (value != kNo<ValueId>) names.push_back(model.ValueName(value));
  }
  return names;
}

ModuleId FindInlined(const MangledNames& names, std::string_view value) {
  const auto name = WithoutCall(value);
  if (!name) return kNo<ModuleId>;
  ModuleId module = names.Find(*name);
  if (module != kNo<ModuleId>) return module;
  // `x_1_1`: the second of several results.
  if (const auto first = WithoutCall(*name)) module = names.Find(*first);
  return module;
}

int CallOf(const MangledNames& names, std::string_view value) {
  const auto name = WithoutCall(value);
  if (!name) return 0;
  const auto first = WithoutCall(*name);
  const std::string_view call = first && names.Find(*name) == kNo<ModuleId> &&
                                        names.Find(*first) != kNo<ModuleId>
                                    ? name->substr(first->size() + 1)
                                    : value.substr(name->size() + 1);
  return hierarchy::SmallNumber(call, 0);
}

ModuleId FindInlinedBefore(const MangledNames& names, std::string_view value) {
  const auto name = WithoutCall(value);
  if (!name || names.Find(*name) != kNo<ModuleId>) return kNo<ModuleId>;
  // Each place where two numbers meet may be the end of the function's name.
  for (std::size_t at = name->find('_'); at != std::string_view::npos;
       at = name->find('_', at + 1)) {
    const auto call = WithoutCall(name->substr(0, at));
    if (!call) continue;
    const auto path = WithoutCall(*call);
    if (!path) continue;
    const ModuleId inner = names.Find(name->substr(at + 1));
    if (inner != kNo<ModuleId>) return names.FindAtEnd(*path);
  }
  return kNo<ModuleId>;
}

InlinedName ResolveInlined(MangledNames& names, const ModuleTree& tree,
                           std::string_view value, ModuleId outer,
                           const std::vector<bool>& called) {
  const ModuleId known = FindInlined(names, value);
  if (known != kNo<ModuleId>) return {known, true};
  const auto name = WithoutCall(value);
  if (!name) return {};
  // Where an optimizer inlined the caller first, its name stands before.
  const ModuleId at_end = names.FindAtEnd(*name);
  if (at_end != kNo<ModuleId> && at_end != outer &&
      tree.IsAncestor(outer, at_end)) {
    return {at_end, true};
  }
  return {names.Resolve(*name, outer, called).module, false};
}

namespace {

// The digits at the start of `text`; nothing but `_<digits>` may follow them.
bool TakeNumber(std::string_view text, std::uint32_t& number) {
  const std::size_t joint = text.find('_');
  const int value = hierarchy::SmallNumber(text.substr(0, joint), -1);
  if (value < 0) return false;
  if (joint != std::string_view::npos &&
      !hierarchy::IsNumeric(text.substr(joint + 1))) {
    return false;
  }
  number = static_cast<std::uint32_t>(value);
  return true;
}

}  // namespace

BodyName ParseBodyName(std::string_view name, std::string_view op_type) {
  BodyName result;
  if (name.starts_with('/')) return result;  // a scope, as most names are
  std::string_view rest = name;
  if (hierarchy::ConsumePrefix(rest, op_type) &&
      hierarchy::ConsumePrefix(rest, "_") && TakeNumber(rest, result.number)) {
    result.kind = BodyName::kOwn;
    return result;
  }
  rest = name;
  if (hierarchy::ConsumePrefix(rest, "node_")) {
    if (hierarchy::ConsumePrefix(rest, op_type) &&
        hierarchy::ConsumePrefix(rest, "_") &&
        TakeNumber(rest, result.number)) {
      result.kind = BodyName::kRewritten;
    }
    return result;
  }
  if (hierarchy::ConsumePrefix(rest, "n") && TakeNumber(rest, result.number)) {
    result.kind = BodyName::kHelper;
    return result;
  }
  if (!name.starts_with("aten_") && !name.starts_with("_aten_")) return result;
  // `aten_expand_32_n2_3` and, folded, `aten_expand_32_`: the last number
  // before the part that torchlib named.
  const std::size_t part = name.rfind("_n");
  std::string_view function = part == std::string_view::npos
                                  ? name.substr(0, name.rfind('_'))
                                  : name.substr(0, part);
  const auto bare = hierarchy::WithoutNumbered(function, "_");
  if (bare && TakeNumber(function.substr(bare->size() + 1), result.number)) {
    result.kind = BodyName::kOwn;
  }
  return result;
}

}  // namespace onnx_tag
