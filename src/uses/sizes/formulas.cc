// Tested by tests/uses/sizes/formulas_test.cc.
#include "uses/sizes/formulas.h"

#include <fmt/core.h>

#include <cmath>
#include <numeric>

#include "base/hash.h"

namespace onnx_tag::sizes {
namespace {

using Kind = Symbol::Kind;

constexpr MonomialId kOne{0};  // of a number

// Longer definitions get a short name.
constexpr std::size_t kLongestName = 48;

}  // namespace

std::uint32_t Formulas::HashOf(std::span<const Factor> factors) {
  std::uint64_t hash = 0;
  for (const Factor& factor : factors) {
    hash =
        HashMix(hash, std::uint64_t{Index(factor.symbol)} << 32 | factor.power);
  }
  return static_cast<std::uint32_t>(hash);
}

std::uint32_t Formulas::HashOf(std::span<const Term> terms) {
  std::uint64_t hash = 0;
  for (const Term& term : terms) {
    hash = HashMix(hash, static_cast<std::uint64_t>(term.coefficient));
    hash = HashMix(hash, Index(term.monomial));
  }
  return static_cast<std::uint32_t>(hash);
}

std::size_t Formulas::HashComputed::operator()(const Computed& computed) const {
  return HashMix(HashMix(static_cast<std::uint64_t>(computed.a.bits()),
                         static_cast<std::uint64_t>(computed.b.bits())),
                 static_cast<std::uint64_t>(computed.action));
}

Formulas::Formulas() { Intern({}); }

Dim Formulas::Dimension(std::string_view name) {
  const Dim known = Find(name);
  if (known.known()) return known;
  return AddSymbol({.kind = Kind::kDimension,
                    .name = std::string(name),
                    .in_file = true,
                    .least = 1});
}

Dim Formulas::Unnamed(std::string_view name) {
  std::string unique(name);
  if (names_.contains(unique)) {
    unique += "'";
    std::uint32_t& count = data_counts_[unique];
    while (names_.contains(unique)) {
      unique = fmt::format("{}'{}", name, ++count);
    }
  }
  return AddSymbol(
      {.kind = Kind::kDimension, .name = std::move(unique), .least = 1});
}

Dim Formulas::Data(std::string_view kind) {
  std::uint32_t& count = data_counts_[std::string(kind)];
  std::string name;
  do {
    name = fmt::format("{}_{}", kind, ++count);
  } while (names_.contains(name));
  return AddSymbol({.kind = Kind::kData,
                    .name = std::move(name),
                    .has_data = true,
                    .least = 0});
}

Dim Formulas::Find(std::string_view name) const {
  const auto found = names_.find(std::string(name));
  return found == names_.end() ? kUnknownDim : found->second;
}

Dim Formulas::AddSymbol(Symbol symbol) {
  const SymbolId id = symbols_.Add(std::move(symbol));
  const Dim dim = OfSymbol(id);
  names_.emplace(symbols_[id].name, dim);
  return dim;
}

Dim Formulas::Derived(Kind kind, Dim a, Dim b) {
  return Remember(With(Action::kDerived, kind), a, b, [&] {
    Symbol symbol{.kind = kind, .a = a, .b = b};
    symbol.name = NameOf(symbol);
    const Bounds bounds = BoundsOf(symbol);
    symbol.least = bounds.least;
    symbol.most = bounds.most;
    symbol.has_data = HasData(a) || (kind != Kind::kScaled && HasData(b));
    return AddSymbol(std::move(symbol));
  });
}

std::string Formulas::NameOf(const Symbol& symbol) {
  std::string name = DefinitionText(*this, symbol);
  if (name.size() > kLongestName || names_.contains(name)) {
    do {
      name = fmt::format("d{}", ++unnamed_);
    } while (names_.contains(name));
  }
  return name;
}

std::span<const Term> Formulas::Terms(Dim dim, Term& room) const {
  if (dim.IsFormula()) return formulas_[dim.formula()];
  if (!dim.IsNumber() || dim.Is(0)) return {};
  room = {dim.number(), kOne};
  return {&room, 1};
}

SymbolId Formulas::OnlySymbol(Dim dim) const {
  if (!dim.IsFormula()) return kNo<SymbolId>;
  Term room;
  const auto terms = Terms(dim, room);
  if (terms.size() != 1 || terms[0].coefficient != 1) return kNo<SymbolId>;
  const auto factors = Factors(terms[0].monomial);
  return factors.size() == 1 && factors[0].power == 1 ? factors[0].symbol
                                                      : kNo<SymbolId>;
}

bool Formulas::HasData(Dim dim) const {
  Term room;
  for (const Term& term : Terms(dim, room)) {
    for (const Factor& factor : Factors(term.monomial)) {
      if (symbols_[factor.symbol].has_data) return true;
    }
  }
  return false;
}

Dim Formulas::Plus(Dim a, Dim b) {
  if (!a.known() || !b.known()) return kUnknownDim;
  if (a.IsOver() || b.IsOver()) return Dim::Over();
  if (a.IsNumber() && b.IsNumber())
    return Narrow(Wide{a.number()} + b.number());
  if (a.Is(0)) return b;
  if (b.Is(0)) return a;
  if (b.bits() < a.bits()) std::swap(a, b);
  return Remember(Action::kPlus, a, b, [&] {
    Term room_a, room_b;
    const auto left = Terms(a, room_a);
    const auto right = Terms(b, room_b);
    std::vector<Term> sum(left.begin(), left.end());
    sum.insert(sum.end(), right.begin(), right.end());
    return Sum(sum);
  });
}

bool Formulas::Collect(std::vector<Term>& terms) {
  std::sort(terms.begin(), terms.end(), [](const Term& x, const Term& y) {
    return x.monomial < y.monomial;
  });
  std::size_t size = 0;
  for (std::size_t i = 0; i < terms.size();) {
    const MonomialId monomial = terms[i].monomial;
    Wide coefficient = 0;
    for (; i < terms.size() && terms[i].monomial == monomial; ++i) {
      coefficient += terms[i].coefficient;
    }
    const Dim narrow = Narrow(coefficient);
    if (narrow.IsOver()) return false;
    if (!narrow.Is(0)) terms[size++] = {narrow.number(), monomial};
  }
  terms.resize(size);
  return true;
}

Dim Formulas::Sum(std::vector<Term>& terms) {
  if (!Collect(terms)) return Dim::Over();
  if (terms.size() <= kMostTerms) return InternTerms(terms);
  // A chain of symbols: the last terms, and what comes before them.
  Dim rest = 0;
  while (!terms.empty()) {
    const std::size_t part = std::min(terms.size(), kMostTerms - 1);
    const Dim sum = InternTerms(std::span(terms).last(part));
    terms.resize(terms.size() - part);
    rest = rest.Is(0) ? sum : Derived(Kind::kSum, sum, rest);
  }
  return rest;
}

void FormulaSum::Add(Dim dim) {
  if (!dim.IsFormula()) {
    number_ = formulas_.Plus(number_, dim);
    return;
  }
  Term room;
  const auto terms = formulas_.Terms(dim, room);
  terms_.insert(terms_.end(), terms.begin(), terms.end());
  if (terms_.size() < 4 * Formulas::kMostTerms + 2 * collected_) return;
  if (!Formulas::Collect(terms_)) number_ = Dim::Over();
  collected_ = terms_.size();
}

Dim FormulaSum::Total() {
  const Dim sum = formulas_.Sum(terms_);
  return number_.known() ? formulas_.Plus(sum, number_) : number_;
}

Dim Formulas::Times(Dim a, Dim b) {
  if (a.Is(0) || b.Is(0)) return 0;
  if (!a.known() || !b.known()) return kUnknownDim;
  if (a.IsOver() || b.IsOver()) return Dim::Over();
  if (a.IsNumber() && b.IsNumber())
    return Narrow(Wide{a.number()} * b.number());
  if (a.Is(1)) return b;
  if (b.Is(1)) return a;
  if (b.bits() < a.bits()) std::swap(a, b);
  return Remember(Action::kTimes, a, b, [&] { return ComputeTimes(a, b); });
}

Dim Formulas::ProductOf(std::span<const Dim> dims) {
  Dim product = 1;
  for (const Dim dim : dims) product = Times(product, dim);
  return product;
}

Dim Formulas::ComputeTimes(Dim a, Dim b) {
  Term room_a, room_b;
  const auto left = Terms(a, room_a);
  const auto right = Terms(b, room_b);
  std::vector<Term> product;
  for (const Term& x : left) {
    for (const Term& y : right) {
      const MonomialId monomial = TimesMonomial(x.monomial, y.monomial);
      if (monomial == kNo<MonomialId>) return Derived(Kind::kProduct, a, b);
      const Dim coefficient = Narrow(Wide{x.coefficient} * y.coefficient);
      if (coefficient.IsOver()) return coefficient;
      product.push_back({coefficient.number(), monomial});
    }
  }
  if (!Collect(product)) return Dim::Over();
  return product.size() > kMostTerms ? Derived(Kind::kProduct, a, b)
                                     : InternTerms(product);
}

Dim Formulas::Quotient(Dim a, Dim b) {
  if (!a.known() || !b.known() || a.IsOver() || b.IsOver() || b.Is(0)) {
    return kUnknownDim;
  }
  if (a.Is(0) || b.Is(1)) return a;
  if (a == b) return 1;
  if (a.IsNumber() && b.IsNumber()) {
    return a.number() % b.number() == 0 ? Dim(a.number() / b.number())
                                        : kUnknownDim;
  }
  if (a.IsNumber()) return kUnknownDim;
  return Remember(Action::kQuotient, a, b,
                  [&] { return ComputeQuotient(a, b); });
}

// Long division: the leading term of the rest, by the leading term of the
// divisor. Monomials are ordered so that a product of greater ones is greater.
Dim Formulas::ComputeQuotient(Dim a, Dim b) {
  const auto is_less = [this](const Term& x, const Term& y) {
    const auto left = Factors(x.monomial);
    const auto right = Factors(y.monomial);
    for (std::size_t i = 0; i < left.size() && i < right.size(); ++i) {
      // An earlier symbol counts more, then a higher power.
      if (left[i].symbol != right[i].symbol) {
        return left[i].symbol > right[i].symbol;
      }
      if (left[i].power != right[i].power) {
        return left[i].power < right[i].power;
      }
    }
    return left.size() < right.size();
  };
  Term room;
  const auto divisor_terms = Terms(b, room);
  const Term leading =
      *std::max_element(divisor_terms.begin(), divisor_terms.end(), is_less);
  Dim rest = a;
  Dim quotient = 0;
  for (std::size_t step = 0; step < kMostTerms; ++step) {
    if (rest.Is(0)) return quotient;
    if (!rest.IsNumber() && !rest.IsFormula()) return kUnknownDim;
    Term rest_room;
    const auto terms = Terms(rest, rest_room);
    const Term top = *std::max_element(terms.begin(), terms.end(), is_less);
    const MonomialId monomial = OverMonomial(top.monomial, leading.monomial);
    if (monomial == kNo<MonomialId> ||
        top.coefficient % leading.coefficient != 0) {
      return kUnknownDim;
    }
    const Term part{top.coefficient / leading.coefficient, monomial};
    const Dim factor = InternTerms({&part, 1});
    quotient = Plus(quotient, factor);
    rest = Minus(rest, Times(factor, b));
  }
  return kUnknownDim;
}

Dim Formulas::Floor(Dim a, Dim b) {
  if (!a.known() || !b.known() || b.Is(0)) return kUnknownDim;
  if (a.IsOver() || b.IsOver()) return a.IsOver() ? Dim::Over() : kUnknownDim;
  if (b.IsNumber() && b.number() < 0) {
    return Floor(Times(a, -1), Times(b, -1));
  }
  if (a.IsNumber() && b.IsNumber()) return FloorOf(a.number(), b.number());
  if (a == b) return 1;
  if (b.Is(1) || a.Is(0)) return a;
  return Remember(Action::kFloor, a, b, [&] {
    if (b.IsNumber()) return FloorByNumber(a, b.number());
    const Dim exact = Quotient(a, b);
    if (exact.known()) return exact;
    if (IsAtLeast(a, 0) && IsAtLeast(Minus(b, a), 1)) return Dim(0);
    return Derived(Kind::kFloor, a, b);
  });
}

// b > 1. Whole multiples of b leave the symbol, so that equal sizes get equal
// formulas: floor((h - 1)/2) + 1 and floor((h + 1)/2).
Dim Formulas::FloorByNumber(Dim a, std::int64_t b) {
  Term room;
  std::vector<Term> whole, rest;
  std::int64_t constant = 0;
  std::int64_t common = b;
  for (const Term& term : Terms(a, room)) {
    const std::int64_t times = FloorOf(term.coefficient, b);
    const std::int64_t remainder = term.coefficient - times * b;
    if (times != 0) whole.push_back({times, term.monomial});
    if (term.monomial == kOne) {
      constant = remainder;
    } else if (remainder != 0) {
      rest.push_back({remainder, term.monomial});
      common = std::gcd(common, remainder);
    }
  }
  const Dim out = Sum(whole);
  if (rest.empty()) return out;
  for (Term& term : rest) term.coefficient /= common;
  b /= common;
  constant /= common;
  const Dim inside = Plus(Sum(rest), constant);
  if (b == 1) return Plus(out, inside);
  const SymbolId only = OnlySymbol(Minus(inside, constant));
  if (only != kNo<SymbolId>) {
    const Symbol& symbol = symbols_[only];
    if (symbol.kind == Kind::kFloor && symbol.b.IsNumber()) {
      // floor((floor(x/m) + c)/b) is floor((x + c·m)/(m·b)).
      const Dim whole_size = symbol.a;
      const Dim step = symbol.b;
      const Dim by = Times(step, b);
      if (by.IsNumber()) {
        const Dim shifted = Plus(whole_size, Times(step, constant));
        return Plus(out, Floor(shifted, by));
      }
    }
  }
  const Bounds bounds = BoundsOf(inside);
  if (bounds.least && bounds.most &&
      FloorOf(*bounds.least, b) == FloorOf(*bounds.most, b)) {
    return Plus(out, FloorOf(*bounds.least, b));
  }
  return Plus(out, Derived(Kind::kFloor, inside, b));
}

Dim Formulas::Extreme(Kind kind, Dim a, Dim b) {
  const bool max = kind == Kind::kMax;
  if (a == b) return a;
  if (!a.known() || !b.known()) return kUnknownDim;
  if (a.IsOver() || b.IsOver()) return max == a.IsOver() ? a : b;
  if (a.IsNumber() && b.IsNumber()) {
    return max == (a.number() > b.number()) ? a : b;
  }
  if (b.bits() < a.bits()) std::swap(a, b);
  return Remember(With(Action::kExtreme, kind), a, b, [&] {
    if (IsAtLeast(a, b)) return max ? a : b;
    if (IsAtLeast(b, a)) return max ? b : a;
    return Derived(kind, a, b);
  });
}

Dim Formulas::Scaled(Dim a, float number) {
  if (!a.known() || a.IsOver() || !std::isfinite(number)) return kUnknownDim;
  if (a.IsNumber()) return ScaledDown(a.number(), number);
  return Derived(Kind::kScaled, a, BitCast<std::int32_t>(number));
}

Dim ScaledDown(std::int64_t size, float number) {
  const float scaled = std::floor(static_cast<float>(size) * number);
  return std::abs(scaled) < 9e18F ? Dim(static_cast<std::int64_t>(scaled))
                                  : Dim::Over();
}

MonomialId Formulas::TimesMonomial(MonomialId a, MonomialId b) {
  if (a == kOne) return b;
  if (b == kOne) return a;
  const auto left = Factors(a);
  const auto right = Factors(b);
  std::vector<Factor> factors;
  std::uint32_t degree = 0;
  for (std::size_t i = 0, j = 0; i < left.size() || j < right.size();) {
    Factor factor;
    if (j == right.size() ||
        (i < left.size() && left[i].symbol < right[j].symbol)) {
      factor = left[i++];
    } else if (i == left.size() || right[j].symbol < left[i].symbol) {
      factor = right[j++];
    } else {
      factor = {left[i].symbol, left[i].power + right[j].power};
      ++i;
      ++j;
    }
    degree += factor.power;
    factors.push_back(factor);
  }
  return degree > kMostPower ? kNo<MonomialId> : Intern(factors);
}

MonomialId Formulas::OverMonomial(MonomialId a, MonomialId b) {
  if (b == kOne) return a;
  const auto left = Factors(a);
  const auto right = Factors(b);
  std::vector<Factor> factors;
  std::size_t j = 0;
  for (Factor factor : left) {
    if (j < right.size() && right[j].symbol == factor.symbol) {
      if (right[j].power > factor.power) return kNo<MonomialId>;
      factor.power -= right[j++].power;
    }
    if (factor.power > 0) factors.push_back(factor);
  }
  return j < right.size() ? kNo<MonomialId> : Intern(factors);
}

Dim Formulas::OfSymbol(SymbolId symbol) {
  const Factor factor{symbol, 1};
  const Term term{1, Intern({&factor, 1})};
  return InternTerms({&term, 1});
}

Dim Formulas::InternTerms(std::span<const Term> terms) {
  if (terms.empty()) return 0;
  return terms.size() == 1 && terms[0].monomial == kOne
             ? Dim(terms[0].coefficient)
             : Dim::Of(formulas_.Intern(terms));
}

}  // namespace onnx_tag::sizes
