#include <algorithm>

#include "uses/sizes/dim.h"

namespace onnx_tag::sizes {
namespace {

using Kind = Symbol::Kind;

// Steps of a proof that a formula is positive.
constexpr int kMostSteps = 6;

std::optional<std::int64_t> BoundOf(std::optional<Wide> wide) {
  const Dim narrow = wide ? Narrow(*wide) : kUnknownDim;
  return narrow.IsNumber() ? std::optional(narrow.number()) : std::nullopt;
}

}  // namespace

void Evaluation::Set(SymbolId symbol, std::int64_t number) {
  values_.resize(formulas_.symbol_count());
  is_computed_.resize(formulas_.symbol_count());
  // A file may have as many dimensions as nodes.
  for (const SymbolId computed : computed_) {
    is_computed_[Index(computed)] = false;
  }
  computed_.clear();
  values_[Index(symbol)] = number;
  if (!known_.empty()) known_ = {};
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
  return over ? Dim::Over() : Narrow(sum);
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
  return over || IsFar(product) ? Dim::Over() : Narrow(product);
}

bool Evaluation::IsReady(SymbolId id) const {
  const Kind kind = formulas_[id].kind;
  return kind == Kind::kDimension || kind == Kind::kData ||
         is_computed_[Index(id)];
}

// A definition refers to earlier symbols, and these to others: a chain may be
// as long as the file, so what waits is on a list and not on the stack.
Dim Evaluation::ValueOf(SymbolId id) const {
  if (IsReady(id)) return values_[Index(id)];
  std::vector<SymbolId> waiting = {id};
  while (!waiting.empty()) {
    const SymbolId next = waiting.back();
    const std::size_t count = waiting.size();
    if (!IsReady(next)) {
      const Symbol& symbol = formulas_[next];
      AddMissing(symbol.a, waiting);
      if (symbol.kind != Kind::kScaled) AddMissing(symbol.b, waiting);
      if (waiting.size() > count) continue;
      Define(next);
    }
    waiting.pop_back();
  }
  return values_[Index(id)];
}

// The symbols of `dim` that have no value yet.
void Evaluation::AddMissing(Dim dim, std::vector<SymbolId>& missing) const {
  if (!dim.IsFormula() || known_.contains(dim.formula())) return;
  Term room;
  for (const Term& term : formulas_.Terms(dim, room)) {
    for (const Factor& factor : formulas_.Factors(term.monomial)) {
      if (!IsReady(factor.symbol)) missing.push_back(factor.symbol);
    }
  }
}

// The value of a symbol whose definition has values.
void Evaluation::Define(SymbolId id) const {
  const Symbol& symbol = formulas_[id];
  const Dim a = (*this)(symbol.a);
  const Dim b = symbol.kind == Kind::kScaled ? symbol.b : (*this)(symbol.b);
  Dim value;
  if (a.IsOver() || b.IsOver()) {
    if (a.known() && b.known()) value = Dim::Over();
  } else if (a.known() && b.known()) {
    // By kind. Numbers only: the operations of Formulas on them make no
    // symbols.
    static constexpr Dim (Formulas::*kOperations[])(Dim, Dim) = {
        nullptr,        nullptr,         &Formulas::Floor, &Formulas::Max,
        &Formulas::Min, &Formulas::Plus, &Formulas::Times};
    Formulas numbers;
    value = symbol.kind == Kind::kScaled
                ? ScaledDown(a.number(), ScaleOf(symbol))
                : (numbers.*kOperations[static_cast<int>(symbol.kind)])(a, b);
  }
  values_[Index(id)] = value;
  is_computed_[Index(id)] = true;
  computed_.push_back(id);
}

// ---------------------------------------------------------------- bounds
// What is sure of a formula, whatever its dimensions are.
Formulas::Bounds Formulas::BoundsOf(const Symbol& symbol) const {
  const Bounds a = BoundsOf(symbol.a);
  const Bounds b = BoundsOf(symbol.b);
  Bounds bounds;
  switch (symbol.kind) {
    case Kind::kFloor:
      if (symbol.b.IsNumber()) {
        const std::int64_t by = symbol.b.number();
        if (a.least) bounds.least = FloorOf(*a.least, by);
        if (a.most) bounds.most = FloorOf(*a.most, by);
      } else if (a.least && *a.least >= 0 && b.least && *b.least >= 1) {
        bounds.least = 0;
        if (a.most) bounds.most = FloorOf(*a.most, *b.least);
      }
      break;
    case Kind::kMax:
      // No bound is less than any.
      bounds.least = std::max(a.least, b.least);
      if (a.most && b.most) bounds.most = std::max(a.most, b.most);
      break;
    case Kind::kMin:
      bounds.most = a.most && b.most ? std::min(a.most, b.most)
                                     : std::max(a.most, b.most);
      bounds.least = std::min(a.least, b.least);
      break;
    case Kind::kSum:
      if (a.least && b.least) {
        bounds.least = BoundOf(Wide{*a.least} + *b.least);
      }
      break;
    case Kind::kProduct:
      if (a.least && *a.least >= 0 && b.least && *b.least >= 0) {
        bounds.least = BoundOf(Wide{*a.least} * *b.least);
      }
      break;
    case Kind::kScaled:
      if (a.least && *a.least >= 0 && ScaleOf(symbol) >= 0) bounds.least = 0;
      break;
    case Kind::kDimension:
    case Kind::kData:
      break;
  }
  return bounds;
}

Formulas::Bounds Formulas::BoundsOf(Dim dim) const {
  if (dim.IsNumber()) return {dim.number(), dim.number()};
  if (!dim.IsFormula()) return {};
  Term room;
  std::optional<Wide> least = 0;
  std::optional<Wide> most = 0;
  for (const Term& term : Terms(dim, room)) {
    std::optional<Wide> low = 1;
    std::optional<Wide> high = 1;
    for (const Factor& factor : Factors(term.monomial)) {
      const Symbol& symbol = symbols_[factor.symbol];
      if (!symbol.least || *symbol.least < 0) return {};
      for (std::uint32_t i = 0; i < factor.power; ++i) {
        if (low) *low = std::min(Product(*low, *symbol.least), kFar - 1);
        if (high) {
          if (symbol.most) {
            *high = Product(*high, *symbol.most);
            if (IsFar(*high)) high.reset();
          } else {
            high.reset();
          }
        }
      }
    }
    const bool positive = term.coefficient > 0;
    const std::optional<Wide>& down = positive ? low : high;
    const std::optional<Wide>& up = positive ? high : low;
    const auto add = [&](std::optional<Wide>& sum,
                         const std::optional<Wide>& factor) {
      if (!sum || !factor) return sum.reset();
      const Wide part = Product(*factor, term.coefficient);
      if (IsFar(part)) return sum.reset();
      *sum += part;
    };
    add(least, down);
    add(most, up);
  }
  return {BoundOf(least), BoundOf(most)};
}

bool Formulas::IsAtLeast(Dim a, std::int64_t least) {
  return IsNatural(Minus(a, least), kMostSteps);
}

// Replaces one symbol after the other by a bound, until only dimensions are
// left.
bool Formulas::IsNatural(Dim dim, int steps) {
  if (!dim.known() || dim.IsOver()) return false;
  const Bounds bounds = BoundsOf(dim);
  if (bounds.least && *bounds.least >= 0) return true;
  if (dim.IsNumber() || steps == 0) return false;
  Term room;
  for (const Term& term : Terms(dim, room)) {
    const auto factors = Factors(term.monomial);
    if (factors.size() != 1 || factors[0].power != 1) continue;
    const Symbol& symbol = symbols_[factors[0].symbol];
    const Kind kind = symbol.kind;
    const Dim a = symbol.a;
    const Dim b = symbol.b;
    const std::int64_t times = term.coefficient;
    const SymbolId id = factors[0].symbol;
    // The other terms, and `bound` in the place of the symbol.
    const auto with = [&](Dim bound, Dim scale) {
      const Dim others = Minus(dim, Times(OfSymbol(id), times));
      return IsNatural(Plus(Times(others, scale), Times(bound, times)),
                       steps - 1);
    };
    if (kind == Kind::kFloor && b.IsNumber()) {
      // floor(a/b) is at most a/b and at least (a - b + 1)/b.
      return with(times < 0 ? a : Plus(Minus(a, b), 1), b);
    }
    if ((kind == Kind::kMin && times < 0) ||
        (kind == Kind::kMax && times > 0)) {
      return with(a, 1) || with(b, 1);
    }
  }
  return false;
}

std::optional<bool> Formulas::AreEqual(Dim a, Dim b) {
  if (!a.known() || !b.known() || a.IsOver() || b.IsOver()) return std::nullopt;
  if (a == b) return true;
  if (a.IsNumber() && b.IsNumber()) return false;
  const Dim difference = Minus(a, b);
  if (difference.IsNumber()) return false;
  if (IsAtLeast(difference, 1) || IsAtLeast(Times(difference, -1), 1)) {
    return false;
  }
  return std::nullopt;
}

}  // namespace onnx_tag::sizes
