#include "exporters/functions/helper_calls.h"

#include "hierarchy/name_parts.h"

namespace onnx_tag {
namespace {

// The digits at the start of `text`; nothing but `_<digits>` may follow them.
bool TakeNumber(std::string_view text, std::size_t& number) {
  const std::size_t joint = text.find('_');
  const int value = hierarchy::SmallNumber(text.substr(0, joint), -1);
  if (value < 0) return false;
  if (joint != std::string_view::npos &&
      !hierarchy::IsNumeric(text.substr(joint + 1))) {
    return false;
  }
  number = static_cast<std::size_t>(value);
  return true;
}

}  // namespace

BodyName ParseBodyName(std::string_view name, std::string_view op_type) {
  BodyName result;
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

void HelperCalls::Add(std::size_t number, std::size_t position) {
  // Calls that are over count as items of the one around them, which goes on
  // with the number behind.
  std::size_t begin = position;
  std::size_t items = 0;
  std::size_t keep = calls_.size();
  while (number > 0) {
    if (keep > 0 && calls_[keep - 1].next + items == number) {
      calls_.resize(keep);
      calls_.back().next = number + 1;
      return;
    }
    if (items == number || keep == 0) break;
    begin = calls_[--keep].begin;
    ++items;
  }
  if (number > 0 && items == number) {
    calls_.resize(keep);
  } else {
    begin = position;
  }
  calls_.push_back({begin, number + 1});
}

std::vector<std::size_t> HelperCalls::Take() {
  std::vector<std::size_t> begins;
  begins.reserve(calls_.size());
  for (const Call& call : calls_) begins.push_back(call.begin);
  calls_.clear();
  return begins;
}

}  // namespace onnx_tag
