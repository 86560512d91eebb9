#include "uses/sizes/numbers.h"

#include <cmath>
#include <numeric>

namespace onnx_tag::sizes {
namespace {

// Floats with finer fractions are not the scales that people write; ONNX
// Runtime rounds their products.
constexpr std::int64_t kFinest = 1024;

}  // namespace

Number NumberOf(double value) {
  if (!std::isfinite(value) || std::abs(value) > 9e18) return {};
  std::int64_t under = 1;
  while (value != std::trunc(value)) {
    if (under == std::int64_t{1} << 40) return {};
    value *= 2;
    under *= 2;
  }
  if (std::abs(value) > 9e18) return {};
  return {static_cast<std::int64_t>(value), under};
}

std::optional<double> ValueOf(const Number& number) {
  if (!number.over.IsNumber() || !number.under.IsNumber()) return std::nullopt;
  return static_cast<double>(number.over.number()) /
         static_cast<double>(number.under.number());
}

Number Arithmetic::Tidied(Dim over, Dim under) const {
  if (!over.known() || !under.known() || over.IsOver() || under.IsOver()) {
    return {};
  }
  if (under.Is(1)) return {over};
  if (over.IsNumber() && under.IsNumber()) {
    const std::int64_t common = std::gcd(over.number(), under.number());
    return {over.number() / common, under.number() / common};
  }
  const Dim exact = formulas_.Quotient(over, under);
  if (exact.known()) return {exact};
  return {over, under};
}

bool Arithmetic::Align(const Number& a, const Number& b, Dim& x, Dim& y,
                       Dim& under) const {
  if (!a.known() || !b.known()) return false;
  if (a.under == b.under) {
    x = a.over;
    y = b.over;
    under = a.under;
    return true;
  }
  x = formulas_.Times(a.over, b.under);
  y = formulas_.Times(b.over, a.under);
  under = formulas_.Times(a.under, b.under);
  return x.known() && y.known() && !under.IsOver();
}

Number Arithmetic::Combined(const Number& a, const Number& b,
                            Dim (Formulas::*combine)(Dim, Dim)) const {
  Dim x, y, under;
  if (!Align(a, b, x, y, under)) return {};
  return Tidied((formulas_.*combine)(x, y), under);
}

Number Arithmetic::Times(const Number& a, const Number& b) const {
  if (!a.known() || !b.known()) return {};
  // What a size was divided by is often what multiplies it again.
  if (a.under == b.over) return Tidied(a.over, b.under);
  if (b.under == a.over) return Tidied(b.over, a.under);
  return Tidied(formulas_.Times(a.over, b.over),
                formulas_.Times(a.under, b.under));
}

Number Arithmetic::Divide(const Number& a, const Number& b) const {
  if (!a.known() || !b.known() || b.over.Is(0)) return {};
  Dim over = formulas_.Times(a.over, b.under);
  Dim under = formulas_.Times(a.under, b.over);
  if (!formulas_.IsAtLeast(under, 1)) {
    over = formulas_.Times(over, -1);
    under = formulas_.Times(under, -1);
    if (!formulas_.IsAtLeast(under, 1)) return {};
  }
  return Tidied(over, under);
}

Number Arithmetic::Modulo(const Number& a, const Number& b) const {
  const Dim x = a.whole();
  const Dim y = b.whole();
  if (!x.known() || !y.known() || y.Is(0)) return {};
  return Tidied(formulas_.Minus(x, formulas_.Times(y, formulas_.Floor(x, y))),
                1);
}

Number Arithmetic::Power(const Number& a, const Number& b) const {
  constexpr std::int64_t kMost = 8;
  const Dim times = b.whole();
  if (!times.IsNumber() || times.number() < 0 || times.number() > kMost) {
    return {};
  }
  Number power{1};
  for (std::int64_t i = 0; i < times.number(); ++i) power = Times(power, a);
  return power;
}

Number Arithmetic::Floor(const Number& a) const {
  if (!a.known() || a.under.Is(1)) return a;
  if (a.under.IsNumber() && a.under.number() > kFinest && a.over.IsFormula()) {
    // One symbol times a float.
    Term room;
    const auto terms = formulas_.Terms(a.over, room);
    if (terms.size() == 1) {
      const std::int64_t coefficient = terms[0].coefficient;
      const Dim size = formulas_.Quotient(a.over, coefficient);
      const double scale = static_cast<double>(coefficient) /
                           static_cast<double>(a.under.number());
      return {formulas_.Scaled(size, static_cast<float>(scale))};
    }
  }
  return {formulas_.Floor(a.over, a.under)};
}

Number Arithmetic::Ceil(const Number& a) const {
  if (!a.known() || a.under.Is(1)) return a;
  const Number down = Floor({formulas_.Times(a.over, -1), a.under});
  return {formulas_.Times(down.over, -1)};
}

Number Arithmetic::Truncate(const Number& a) const {
  if (!a.known() || a.under.Is(1)) return a;
  if (formulas_.IsAtLeast(a.over, 0)) return Floor(a);
  if (formulas_.IsAtLeast(formulas_.Times(a.over, -1), 0)) return Ceil(a);
  return {};
}

Number Arithmetic::Equal(const Number& a, const Number& b) const {
  Dim x, y, under;
  if (!Align(a, b, x, y, under)) return {};
  const auto equal = formulas_.AreEqual(x, y);
  return equal ? Number{*equal ? 1 : 0} : Number{};
}

Number Arithmetic::Not(const Number& a) const {
  return a.over.IsNumber() ? Number{a.over.Is(0) ? 1 : 0} : Number{};
}

Number Arithmetic::And(const Number& a, const Number& b) const {
  if (a.over.Is(0) || b.over.Is(0)) return {0};
  return a.over.IsNumber() && b.over.IsNumber() ? Number{1} : Number{};
}

Number Arithmetic::Less(const Number& a, const Number& b) const {
  Dim x, y, under;
  if (!Align(a, b, x, y, under)) return {};
  if (formulas_.IsAtLeast(formulas_.Minus(y, x), 1)) return {1};
  if (formulas_.IsAtLeast(formulas_.Minus(x, y), 0)) return {0};
  return {};
}

}  // namespace onnx_tag::sizes
