// A size: a number, a formula of named dimensions, or unknown. Eight bytes;
// what a formula says is in the `Formulas` that made it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "onnx_tag/ids.h"

namespace onnx_tag::sizes {

enum class FormulaId : std::uint32_t {};

class Dim {
 public:
  constexpr Dim() = default;  // unknown
  // A number far below any size is taken for unknown.
  constexpr Dim(std::int64_t number)  // NOLINT: a number is a size
      : bits_(number < kLeast ? kUnknownBits : number) {}
  static constexpr Dim Of(FormulaId formula) {
    Dim dim;
    dim.bits_ = kFormulas + static_cast<std::int64_t>(Index(formula));
    return dim;
  }
  static constexpr Dim OfBits(std::int64_t bits) {
    Dim dim;
    dim.bits_ = bits;
    return dim;
  }
  // A number that 63 bits do not hold.
  static constexpr Dim Over() {
    Dim dim;
    dim.bits_ = kOverBits;
    return dim;
  }

  constexpr bool known() const { return bits_ != kUnknownBits; }
  constexpr bool IsNumber() const { return bits_ >= kLeast; }
  constexpr bool IsOver() const { return bits_ == kOverBits; }
  constexpr bool IsFormula() const {
    return bits_ >= kFormulas && bits_ < kLeast;
  }
  constexpr bool Is(std::int64_t number) const { return bits_ == number; }
  constexpr std::int64_t number() const { return bits_; }
  constexpr FormulaId formula() const {
    return MakeId<FormulaId>(static_cast<std::size_t>(bits_ - kFormulas));
  }
  constexpr bool operator==(const Dim&) const = default;
  // For tables; says nothing about which size is larger.
  constexpr std::int64_t bits() const { return bits_; }

 private:
  static constexpr std::int64_t kUnknownBits =
      std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t kOverBits = kUnknownBits + 1;
  static constexpr std::int64_t kFormulas = kUnknownBits + 2;
  static constexpr std::int64_t kLeast = kFormulas + (std::int64_t{1} << 32);

  std::int64_t bits_ = kUnknownBits;
};

inline constexpr Dim kUnknownDim{};

using Shape = std::vector<Dim>;

// Numbers of 128 bits: the product of two numbers of 64 bits is exact.
__extension__ using Wide = __int128;

constexpr Wide kFar = Wide{1} << 63;
constexpr bool IsFar(Wide number) { return number >= kFar || number <= -kFar; }

// Of numbers that are not far. Nothing can overflow, and the sanitizer's check
// would need a function that libgcc does not have.
__attribute__((no_sanitize("signed-integer-overflow"))) constexpr Wide Product(
    Wide a, Wide b) {
  return a * b;
}

// The number as a size, if 63 bits hold it.
constexpr Dim Narrow(Wide number) {
  const Dim dim(static_cast<std::int64_t>(number));
  return dim.IsNumber() && dim.number() == number ? dim : Dim::Over();
}

constexpr std::int64_t FloorOf(std::int64_t a, std::int64_t b) {  // b > 0
  return a / b - (a % b < 0 ? 1 : 0);
}

}  // namespace onnx_tag::sizes
