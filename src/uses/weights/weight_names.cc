#include "uses/weights/weight_names.h"

#include <algorithm>

#include "base/text.h"
#include "generated/weight_names.h"

namespace onnx_tag::weights {
namespace {

bool Matches(std::string_view pattern, std::string_view name) {
  const bool any_start = pattern.starts_with('*');
  const bool any_end = pattern.size() > 1 && pattern.ends_with('*');
  if (any_start) pattern.remove_prefix(1);
  if (any_end) pattern.remove_suffix(1);
  if (any_start && any_end) return name.find(pattern) != name.npos;
  if (any_start) return name.ends_with(pattern);
  return any_end ? name.starts_with(pattern) : name == pattern;
}

}  // namespace

WeightNames::WeightNames() {
  for (const std::string_view line : Split(kWeightNames, '\n')) {
    std::vector<std::string_view> words = Split(line, ' ');
    if (words.size() >= 2) rows_.push_back(std::move(words));
  }
}

const WeightNames& WeightNames::BuiltIn() {
  static const WeightNames names;
  return names;
}

const std::vector<std::string_view>* WeightNames::FindRow(
    std::initializer_list<std::string_view> kinds,
    std::string_view class_name) const {
  for (const std::vector<std::string_view>& row : rows_) {
    if (std::find(kinds.begin(), kinds.end(), row[0]) != kinds.end() &&
        Matches(row[1], class_name)) {
      return &row;
    }
  }
  return nullptr;
}

bool WeightNames::HoldsOthers(std::string_view class_name) const {
  const auto* const row = FindRow({"owns", "holds"}, class_name);
  return row != nullptr && row->front() == "holds";
}

std::string_view WeightNames::At(std::string_view place,
                                 std::string_view class_name) const {
  const auto* const row = FindRow({place}, class_name);
  return row == nullptr ? std::string_view() : row->back();
}

std::span<const std::string_view> WeightNames::Projection(
    std::string_view which) const {
  for (const std::vector<std::string_view>& row : rows_) {
    if (row[0] == which) return std::span(row).subspan(1);
  }
  return {};
}

}  // namespace onnx_tag::weights
