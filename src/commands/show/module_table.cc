#include "commands/show/module_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

namespace onnx_tag {
namespace {

constexpr std::size_t kCells = 8;

// From the weakest, as Confidence counts.
constexpr std::array<std::string_view, 4> kShades = {"░", "▒", "▓", "█"};
constexpr std::array<std::string_view, 4> kColors = {"31", "33", "36", "32"};

// Cells of each level: in proportion, and one at least for what is there.
std::array<std::size_t, 4> CellsOf(const RowNumbers& numbers) {
  std::array<std::size_t, 4> cells = {};
  std::uint64_t left = 0;
  for (const std::uint64_t count : numbers.by_confidence) left += count;
  std::size_t free = kCells;
  // Rarest first, so that rounding is at the cost of what fills the bar.
  std::array<std::size_t, 4> order = {0, 1, 2, 3};
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) {
    return numbers.by_confidence[a] < numbers.by_confidence[b];
  });
  for (const std::size_t level : order) {
    const std::uint64_t count = numbers.by_confidence[level];
    if (count == 0) continue;
    const auto share = static_cast<std::size_t>((2 * count * free + left) /
                                                (2 * left));  // rounded
    cells[level] = std::clamp<std::size_t>(share, 1, free);
    free -= cells[level];
    left -= count;
  }
  return cells;
}

}  // namespace

std::string ShareText(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "-";
  return fmt::format("{:.1f}%", 100.0 * static_cast<double>(part) /
                                    static_cast<double>(whole));
}

NumberColumns::NumberColumns(const RowNumbers& all, bool color)
    : all_(all),
      color_(color),
      column_(std::max<std::size_t>(std::to_string(all.nodes).size(), 5)),
      width_(column_ + 7 + (all.parameters > 0 ? 8 : 0) +
             (all.flops > 0 ? 8 : 0) + 2 + kCells + 2) {}

std::string NumberColumns::Header() const {
  return fmt::format("{1:>{0}}{2:>7}{3}{4}  {5:<{6}}  ", column_, "nodes",
                     "share", all_.parameters > 0 ? "  params" : "",
                     all_.flops > 0 ? "   FLOPs" : "", "sure", kCells);
}

std::string NumberColumns::Row(const RowNumbers& numbers) const {
  const auto share = [](std::uint64_t part, std::uint64_t whole) {
    if (whole == 0) return std::string();
    return part == 0 ? std::string(8, ' ')
                     : fmt::format("{:>8}", ShareText(part, whole));
  };
  return fmt::format("{1:>{0}}{2:>7}{3}{4}  {5}  ", column_, numbers.nodes,
                     ShareText(numbers.nodes, all_.nodes),
                     share(numbers.parameters, all_.parameters),
                     share(numbers.flops, all_.flops), Bar(numbers));
}

std::string NumberColumns::Bar(const RowNumbers& numbers) const {
  const std::array<std::size_t, 4> cells = CellsOf(numbers);
  std::string bar;
  std::size_t used = 0;
  for (std::size_t level = 4; level-- > 0;) {
    if (cells[level] == 0) continue;
    if (color_) bar += fmt::format("\x1b[{}m", kColors[level]);
    for (std::size_t i = 0; i < cells[level]; ++i) bar += kShades[level];
    if (color_) bar += "\x1b[0m";
    used += cells[level];
  }
  return bar + std::string(kCells - used, ' ');
}

std::string NumberColumns::Legend() const {
  return "█ certain  ▓ high  ▒ medium  ░ low";
}

}  // namespace onnx_tag
