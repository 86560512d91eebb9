#include "uses/sizes/evaluation.h"

#include "uses/sizes/dim.h"

namespace onnx_tag::sizes {
namespace {

using Kind = Symbol::Kind;

}  // namespace

void Evaluation::Set(SymbolId symbol, std::int64_t number) {
  values_.resize(formulas_.symbol_count());
  is_computed_.assign(formulas_.symbol_count(), false);
  values_[Index(symbol)] = number;
  known_.clear();
}

Dim Evaluation::operator()(Dim dim) const {
  if (!dim.IsFormula()) return dim;
  const auto [found, added] = known_.try_emplace(dim.formula());
  if (added) {
    const Dim value = Compute(dim);
    known_[dim.formula()] = value;
    return value;
  }
  return found->second;
}

Dim Evaluation::Compute(Dim dim) const {
  Term room;
  Wide sum = 0;
  bool over = false;
  for (const Term& term : formulas_.Terms(dim, room)) {
    const Dim product = (*this)(term);
    if (!product.known()) return kUnknownDim;
    over |= product.IsOver();
    if (!over) sum += product.number();
  }
  if (over || IsFar(sum)) return Dim::Over();
  const Dim result(static_cast<std::int64_t>(sum));
  return result.IsNumber() ? result : Dim::Over();
}

Dim Evaluation::operator()(const Term& term) const {
  // Definitions refer to earlier symbols, so each is computed once.
  values_.resize(formulas_.symbol_count());
  is_computed_.resize(formulas_.symbol_count());
  Wide product = term.coefficient;
  bool over = false;
  for (const Factor& factor : formulas_.Factors(term.monomial)) {
    const Dim value = ValueOf(factor.symbol);
    if (!value.known()) return kUnknownDim;
    if (value.IsOver()) {
      over = true;
      continue;
    }
    for (std::uint32_t i = 0; i < factor.power && !IsFar(product); ++i) {
      product = Product(product, value.number());
    }
  }
  if (over || IsFar(product)) return Dim::Over();
  const Dim result(static_cast<std::int64_t>(product));
  return result.IsNumber() ? result : Dim::Over();
}

Dim Evaluation::ValueOf(SymbolId id) const {
  const Symbol& symbol = formulas_[id];
  if (symbol.kind == Kind::kDimension || symbol.kind == Kind::kData ||
      is_computed_[Index(id)]) {
    return values_[Index(id)];
  }
  const Dim a = (*this)(symbol.a);
  const Dim b = symbol.kind == Kind::kScaled ? symbol.b : (*this)(symbol.b);
  Dim value;
  if (a.known() && b.known()) {
    if (a.IsOver() || b.IsOver()) {
      value = Dim::Over();
    } else {
      // Numbers only: the operations of Formulas on them make no symbols.
      Formulas numbers;
      switch (symbol.kind) {
        case Kind::kFloor:
          value = numbers.Floor(a, b);
          break;
        case Kind::kMax:
          value = numbers.Max(a, b);
          break;
        case Kind::kMin:
          value = numbers.Min(a, b);
          break;
        case Kind::kSum:
          value = numbers.Plus(a, b);
          break;
        case Kind::kProduct:
          value = numbers.Times(a, b);
          break;
        case Kind::kScaled:
          value = ScaledDown(a.number(), ScaleOf(symbol));
          break;
        case Kind::kDimension:
        case Kind::kData:
          break;
      }
    }
  }
  values_[Index(id)] = value;
  is_computed_[Index(id)] = true;
  return value;
}

}  // namespace onnx_tag::sizes
