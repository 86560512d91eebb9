// The elements of small tensors that shapes are computed with: sizes, and
// quotients of sizes.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "uses/sizes/formulas.h"

namespace onnx_tag::sizes {

// over / under; under is positive. Unknown if `over` is.
struct Number {
  Dim over;
  Dim under = 1;

  bool known() const { return over.known() && !over.IsOver(); }
  // Nothing if it is no whole number.
  Dim whole() const { return under.Is(1) ? over : kUnknownDim; }
  bool operator==(const Number&) const = default;
};

// Of an int64, int32 or bool tensor, or of floats that binary fractions hold.
Number NumberOf(double value);
// Nothing if it depends on dimensions.
std::optional<double> ValueOf(const Number& number);

// The elements of a tensor in their order; or one, which all elements equal.
struct Numbers {
  std::vector<Number> elements;
  bool uniform = false;  // the number of elements is not known, or large

  bool operator==(const Numbers&) const = default;
};

inline Numbers NumbersOf(std::vector<Number> elements) {
  return {std::move(elements), false};
}
// Of a scalar.
inline Numbers OneNumber(const Number& number) { return NumbersOf({number}); }

// A shape has far fewer.
inline constexpr std::size_t kMostElements = 64;
// A shape of longer rank, or a sequence of more tensors whose shapes are told
// apart, is an attack.
inline constexpr std::size_t kMostRank = 64;
inline constexpr std::size_t kMostItems = 64;

class Arithmetic {
 public:
  explicit Arithmetic(Formulas& formulas) : formulas_(formulas) {}

  Number Plus(const Number& a, const Number& b) const {
    return Combined(a, b, &Formulas::Plus);
  }
  Number Minus(const Number& a, const Number& b) const {
    return Combined(a, b, &Formulas::Minus);
  }
  Number Times(const Number& a, const Number& b) const;
  Number Divide(const Number& a, const Number& b) const;
  Number Modulo(const Number& a, const Number& b) const;
  Number Power(const Number& a, const Number& b) const;
  Number Max(const Number& a, const Number& b) const {
    return Combined(a, b, &Formulas::Max);
  }
  Number Min(const Number& a, const Number& b) const {
    return Combined(a, b, &Formulas::Min);
  }
  Number Negative(const Number& a) const { return Minus({0}, a); }
  Number Absolute(const Number& a) const { return Max(a, Negative(a)); }
  Number Positive(const Number& a) const { return Max(a, {0}); }
  Number Floor(const Number& a) const;
  Number Ceil(const Number& a) const;
  Number Truncate(const Number& a) const;  // towards zero
  // 1 or 0, or unknown.
  Number Equal(const Number& a, const Number& b) const;
  Number Less(const Number& a, const Number& b) const;
  Number Greater(const Number& a, const Number& b) const { return Less(b, a); }
  Number LessOrEqual(const Number& a, const Number& b) const {
    return Not(Less(b, a));
  }
  Number GreaterOrEqual(const Number& a, const Number& b) const {
    return Not(Less(a, b));
  }
  Number Not(const Number& a) const;
  Number And(const Number& a, const Number& b) const;
  Number Or(const Number& a, const Number& b) const {
    return Not(And(Not(a), Not(b)));
  }

 private:
  Number Tidied(Dim over, Dim under) const;
  // Both over one denominator; false where that is not possible.
  bool Align(const Number& a, const Number& b, Dim& x, Dim& y,
             Dim& under) const;
  Number Combined(const Number& a, const Number& b,
                  Dim (Formulas::*combine)(Dim, Dim)) const;

  Formulas& formulas_;
};

// A sequence of tensors, or an optional tensor.
struct Sequence {
  std::optional<Shape> element;  // as far as all have it in common
  Dim length;
  std::vector<Shape> items;  // all of them, or none

  static std::shared_ptr<const Sequence> Of(std::optional<Shape> element,
                                            Dim length) {
    return std::make_shared<Sequence>(
        Sequence{.element = std::move(element), .length = length, .items = {}});
  }
};

// What is known of a value.
struct Fact {
  // No value: not even the rank is known. A dimension may be unknown.
  std::optional<Shape> shape = {};
  std::optional<Numbers> numbers = {};
  // A number of TensorProto.DataType, of a sequence that of its elements; 0:
  // unknown.
  std::int32_t type = 0;
  std::shared_ptr<const Sequence> sequence = {};
};
using Facts = std::vector<Fact>;  // by output

}  // namespace onnx_tag::sizes
