#include "commands/read/model_sizes.h"

#include <fmt/core.h>

#include <array>

#include "base/text.h"

namespace onnx_tag {
namespace {

// 23041234567 is "23.0 G".
std::string Compact(std::uint64_t number) {
  constexpr std::array<std::string_view, 6> kUnits = {"",  "k", "M",
                                                      "G", "T", "P"};
  if (number < 1000) return std::to_string(number);
  auto value = static_cast<double>(number);
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  const int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", value, decimals, kUnits[unit]);
}

std::string BytesText(std::uint64_t number) {
  return Compact(number) + (number < 1000 ? " B" : "B");
}

}  // namespace

std::optional<sizes::ModelSizes> SizesOf(
    const TaggedModel& model, std::span<const sizes::GivenShape> shapes) {
  if (model.model() == nullptr) return std::nullopt;
  const sizes::Shapes inferred(*model.model(), shapes);
  return sizes::CountSizes(
      *model.model(), model.tagging(), inferred,
      sizes::Assumptions(*model.model(), inferred, shapes));
}

bool FlopsKnown(const sizes::ModelSizes& sizes) {
  return 20 * sizes.all.unknown_flops <= sizes.flops.size();
}

std::string WeightsText(const sizes::ModelSizes& sizes) {
  std::string text = BytesText(sizes.all.bytes);
  if (sizes.bytes_by_type.size() < 2) return text;
  std::string types;
  for (const auto& [type, bytes] : sizes.bytes_by_type) {
    types += fmt::format("{}{} {}", types.empty() ? "" : ", ", type,
                         BytesText(bytes));
  }
  return text + fmt::format(" ({})", types);
}

std::string FlopsText(const sizes::ModelSizes& sizes) {
  const std::uint64_t unknown = sizes.all.unknown_flops;
  if (!FlopsKnown(sizes)) {
    return fmt::format("unknown for {} of {}: give input shapes with --shape",
                       WithThousands(unknown),
                       Count(sizes.flops.size(), "node"));
  }
  std::string text =
      sizes.all.flops >= sizes::kOver ? "over 2^63" : Compact(sizes.all.flops);
  if (!sizes.dimensions.empty()) {
    text += " for " + Printable(sizes.dimensions, 200);
  }
  if (unknown > 0) text += ", unknown for " + Count(unknown, "node");
  return text;
}

Datum::Members SizeMembers(const std::optional<sizes::ModelSizes>& sizes) {
  if (!sizes) return {};
  Datum by_type = Datum::Object({});
  for (const auto& [type, bytes] : sizes->bytes_by_type) {
    by_type.Set(std::string(type), bytes);
  }
  return {{"bytes", sizes->all.bytes},
          {"bytes_by_type", by_type},
          {"flops", sizes->all.flops},
          {"unknown_flops", sizes->all.unknown_flops}};
}

}  // namespace onnx_tag
