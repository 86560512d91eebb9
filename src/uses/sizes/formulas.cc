// Tested by tests/uses/sizes/formulas_test.cc.
#include "uses/sizes/formulas.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/hash.h"
#include "uses/sizes/dim.h"
#include "uses/sizes/formula_text.h"

namespace onnx_tag::sizes {
namespace {

using Kind = Symbol::Kind;

constexpr MonomialId kOne{0};  // of a number

Dim Narrow(Wide number) {
  const Dim dim(static_cast<std::int64_t>(number));
  return dim.IsNumber() && dim.number() == number ? dim : Dim::Over();
}

std::int64_t FloorOf(std::int64_t a, std::int64_t b) {  // b > 0
  const std::int64_t down = a / b;
  return down - (a % b < 0 ? 1 : 0);
}

// Longer definitions get a short name.
constexpr std::size_t kLongestName = 48;

// Steps of a proof that a formula is positive.
constexpr int kMostSteps = 6;

std::uint32_t HashOf(std::span<const Factor> factors) {
  std::uint64_t hash = 0;
  for (const Factor& factor : factors) {
    hash = HashMix(hash, Index(factor.symbol) << 32 | factor.power);
  }
  return static_cast<std::uint32_t>(hash);
}

std::uint32_t HashOf(std::span<const Term> terms) {
  std::uint64_t hash = 0;
  for (const Term& term : terms) {
    hash = HashMix(hash, static_cast<std::uint64_t>(term.coefficient));
    hash = HashMix(hash, Index(term.monomial));
  }
  return static_cast<std::uint32_t>(hash);
}

}  // namespace

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
                    .a = {},
                    .b = {},
                    .in_file = true,
                    .least = 1,
                    .most = {}});
}

Dim Formulas::Unnamed(std::string_view name) {
  std::string unique(name);
  while (names_.contains(unique)) unique += "'";
  return AddSymbol({.kind = Kind::kDimension,
                    .name = std::move(unique),
                    .a = {},
                    .b = {},
                    .least = 1,
                    .most = {}});
}

Dim Formulas::Data(std::string_view kind) {
  std::uint32_t& count = data_counts_[std::string(kind)];
  std::string name;
  do {
    name = fmt::format("{}_{}", kind, ++count);
  } while (names_.contains(name));
  return AddSymbol({.kind = Kind::kData,
                    .name = std::move(name),
                    .a = {},
                    .b = {},
                    .has_data = true,
                    .least = 0,
                    .most = {}});
}

Dim Formulas::Find(std::string_view name) const {
  const auto found = names_.find(std::string(name));
  return found == names_.end() ? kUnknownDim : found->second;
}

Dim Formulas::AddSymbol(Symbol symbol) {
  const SymbolId id = symbols_.Add(std::move(symbol));
  const Factor factor{id, 1};
  const Term term{1, Intern({&factor, 1})};
  const Dim dim = InternTerms({&term, 1});
  names_.emplace(symbols_[id].name, dim);
  return dim;
}

Dim Formulas::Derived(Kind kind, Dim a, Dim b) {
  const Computed key{static_cast<Action>(static_cast<int>(Action::kDerived) +
                                         static_cast<int>(kind)),
                     a, b};
  const auto found = computed_.find(key);
  if (found != computed_.end()) return found->second;
  Symbol symbol{
      .kind = kind, .name = {}, .a = a, .b = b, .least = {}, .most = {}};
  symbol.name = NameOf(symbol);
  const Bounds bounds = BoundsOf(symbol);
  symbol.least = bounds.least;
  symbol.most = bounds.most;
  symbol.has_data = HasData(a) || (kind != Kind::kScaled && HasData(b));
  const Dim result = AddSymbol(std::move(symbol));
  computed_.emplace(key, result);
  return result;
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
  if (dim.IsFormula()) {
    const Run run = formulas_[dim.formula()];
    return {terms_.data() + run.first, run.count};
  }
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

Dim Formulas::Remember(Action action, Dim a, Dim b,
                       Dim (Formulas::*compute)(Dim, Dim)) {
  const Computed key{action, a, b};
  const auto found = computed_.find(key);
  if (found != computed_.end()) return found->second;
  const Dim result = (this->*compute)(a, b);
  computed_.emplace(key, result);
  return result;
}

Dim Formulas::Plus(Dim a, Dim b) {
  if (!a.known() || !b.known()) return kUnknownDim;
  if (a.IsOver() || b.IsOver()) return Dim::Over();
  if (a.IsNumber() && b.IsNumber())
    return Narrow(Wide{a.number()} + b.number());
  if (a.Is(0)) return b;
  if (b.Is(0)) return a;
  if (b.bits() < a.bits()) std::swap(a, b);
  return Remember(Action::kPlus, a, b, &Formulas::ComputePlus);
}

Dim Formulas::ComputePlus(Dim a, Dim b) {
  Term room_a, room_b;
  const auto left = Terms(a, room_a);
  const auto right = Terms(b, room_b);
  std::vector<Term> sum(left.begin(), left.end());
  sum.insert(sum.end(), right.begin(), right.end());
  return Sum(sum);
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
  return Remember(Action::kTimes, a, b, &Formulas::ComputeTimes);
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
  return Remember(Action::kQuotient, a, b, &Formulas::ComputeQuotient);
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
  return Remember(Action::kFloor, a, b, &Formulas::ComputeFloor);
}

Dim Formulas::ComputeFloor(Dim a, Dim b) {
  if (b.IsNumber()) return FloorByNumber(a, b.number());
  const Dim exact = Quotient(a, b);
  if (exact.known()) return exact;
  if (IsAtLeast(a, 0) && IsAtLeast(Minus(b, a), 1)) return 0;
  return Derived(Kind::kFloor, a, b);
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

Dim Formulas::Max(Dim a, Dim b) {
  if (a == b) return a;
  if (!a.known() || !b.known()) return kUnknownDim;
  if (a.IsOver() || b.IsOver()) return Dim::Over();
  if (a.IsNumber() && b.IsNumber()) return std::max(a.number(), b.number());
  if (b.bits() < a.bits()) std::swap(a, b);
  return Remember(Action::kMax, a, b, &Formulas::ComputeMax);
}

Dim Formulas::ComputeMax(Dim a, Dim b) {
  if (IsAtLeast(a, b)) return a;
  if (IsAtLeast(b, a)) return b;
  return Derived(Kind::kMax, a, b);
}

Dim Formulas::Min(Dim a, Dim b) {
  if (a == b) return a;
  if (!a.known() || !b.known()) return kUnknownDim;
  if (a.IsOver() || b.IsOver()) return a.IsOver() ? b : a;
  if (a.IsNumber() && b.IsNumber()) return std::min(a.number(), b.number());
  if (b.bits() < a.bits()) std::swap(a, b);
  return Remember(Action::kMin, a, b, &Formulas::ComputeMin);
}

Dim Formulas::ComputeMin(Dim a, Dim b) {
  if (IsAtLeast(a, b)) return b;
  if (IsAtLeast(b, a)) return a;
  return Derived(Kind::kMin, a, b);
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
      if (a.least) bounds.least = a.least;
      if (b.least)
        bounds.least = std::max(*b.least, a.least.value_or(*b.least));
      if (a.most && b.most) bounds.most = std::max(*a.most, *b.most);
      break;
    case Kind::kMin:
      if (a.most) bounds.most = a.most;
      if (b.most) bounds.most = std::min(*b.most, a.most.value_or(*b.most));
      if (a.least && b.least) bounds.least = std::min(*a.least, *b.least);
      break;
    case Kind::kSum:
      if (a.least && b.least) {
        const Dim least = Narrow(Wide{*a.least} + *b.least);
        if (least.IsNumber()) bounds.least = least.number();
      }
      break;
    case Kind::kProduct:
      if (a.least && *a.least >= 0 && b.least && *b.least >= 0) {
        const Dim least = Narrow(Wide{*a.least} * *b.least);
        if (least.IsNumber()) bounds.least = least.number();
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
  Bounds bounds;
  const auto keep = [](std::optional<Wide> number) {
    std::optional<std::int64_t> kept;
    if (number && Narrow(*number).IsNumber()) kept = Narrow(*number).number();
    return kept;
  };
  bounds.least = keep(least);
  bounds.most = keep(most);
  return bounds;
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

MonomialId Formulas::Intern(std::span<const Factor> factors) {
  const std::uint32_t hash = HashOf(factors);
  const MonomialId known = monomial_table_.Find(hash, [&](MonomialId id) {
    const auto others = Factors(id);
    return std::equal(others.begin(), others.end(), factors.begin(),
                      factors.end());
  });
  if (known != kNo<MonomialId>) return known;
  const Run run{static_cast<std::uint32_t>(factors_.size()),
                static_cast<std::uint32_t>(factors.size())};
  factors_.insert(factors_.end(), factors.begin(), factors.end());
  const MonomialId id = monomials_.Add(run);
  monomial_table_.Add(hash, id);
  return id;
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
  if (terms.size() == 1 && terms[0].monomial == kOne) {
    return terms[0].coefficient;
  }
  const std::uint32_t hash = HashOf(terms);
  FormulaId id = formula_table_.Find(hash, [&](FormulaId known) {
    Term room;
    const auto others = Terms(Dim::Of(known), room);
    return std::equal(others.begin(), others.end(), terms.begin(), terms.end());
  });
  if (id == kNo<FormulaId>) {
    const Run run{static_cast<std::uint32_t>(terms_.size()),
                  static_cast<std::uint32_t>(terms.size())};
    terms_.insert(terms_.end(), terms.begin(), terms.end());
    id = formulas_.Add(run);
    formula_table_.Add(hash, id);
  }
  return Dim::Of(id);
}

}  // namespace onnx_tag::sizes
