// Tensors that no checkpoint changes.
#include <cmath>

#include "base/lists.h"
#include "uses/weights/block_search.h"

namespace onnx_tag::weights {
namespace {

// No weight is so large.
constexpr float kMasked = 9999;
constexpr float kNear = 2e-3F;

// Whether each number is the one before plus, or times, a constant.
bool IsProgression(const Numbers& numbers, bool geometric) {
  if (numbers.count < 3) return false;
  const auto step = [&](std::uint64_t i) {
    return geometric ? double{numbers.At(i)} / double{numbers.At(i - 1)}
                     : double{numbers.At(i)} - double{numbers.At(i - 1)};
  };
  const double first = step(1);
  if (!std::isfinite(first) || first == 0 || (geometric && first == 1))
    return false;
  const double slack = geometric ? 1e-4 : 1e-4 * std::fabs(first);
  for (std::uint64_t i = 2; i < numbers.count; ++i) {
    if (!(std::fabs(step(i) - first) <= slack)) return false;
  }
  return true;
}

// Numbers 0 or 1, and others that are far below or above all weights.
bool IsMask(const Numbers& numbers) {
  bool masked = false;
  for (std::uint64_t i = 0; i < numbers.count; ++i) {
    const float number = numbers.At(i);
    if (std::fabs(number) >= kMasked) {
      masked = true;
    } else if (number != 0 && number != 1) {
      return false;
    }
  }
  return masked;
}

// Rows that turn: x[p + 1] = 2 cos(f) x[p] - x[p - 1] in every column.
bool IsRotation(const Numbers& numbers) {
  if (numbers.dims.size() < 2) return false;
  const std::uint64_t width = numbers.dims.back();
  const std::uint64_t rows =
      width == 0 ? 0 : numbers.dims[numbers.dims.size() - 2];
  if (rows < 4) return false;
  bool turns = false;  // a repeated row does not
  for (std::uint64_t base = 0; base < numbers.count; base += rows * width) {
    for (std::uint64_t c = 0; c < width; ++c) {
      const auto at = [&](std::uint64_t p) {
        const float number = numbers.At(base + p * width + c);
        return std::fabs(number) <= 1.5F ? double{number} : NAN;
      };
      // The row whose number is largest gives the angle best.
      std::uint64_t best = 1;
      for (std::uint64_t p = 2; p + 1 < rows; ++p) {
        if (std::fabs(at(p)) > std::fabs(at(best))) best = p;
      }
      const double turn = (at(best - 1) + at(best + 1)) / at(best);
      turns |= std::fabs(at(0) - at(rows - 1)) > 0.01;
      for (std::uint64_t p = 1; p + 1 < rows; ++p) {
        const double next = turn * at(p) - at(p - 1);
        const double slack = 6 * double{numbers.Slack(base + p * width + c)};
        if (!(std::fabs(next - at(p + 1)) <= kNear + slack)) return false;
      }
    }
  }
  return turns;
}

}  // namespace

std::string_view TableKind(const Numbers& numbers) {
  if (IsMask(numbers)) return "a mask";
  if (IsProgression(numbers, false) || IsProgression(numbers, true))
    return "a range";
  if (IsRotation(numbers)) return "a table of positions";
  const auto wide =
      CountIn(numbers.dims, [](std::uint64_t dim) { return dim > 1; });
  for (std::uint64_t i = 1; i < numbers.count; ++i) {
    if (numbers.At(i) != numbers.At(0)) return "";
  }
  return wide > 1 ? kOneNumber : "";
}

}  // namespace onnx_tag::weights
