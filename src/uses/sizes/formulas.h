// Polynomials of named dimensions, with whole coefficients: `past + sequence`,
// `2·batch·sequence²`. Equal polynomials are one formula, so that comparing two
// sizes compares two numbers.
//
// What is no polynomial is a symbol of its own with a definition:
// `ceil(height/16)`, `min(sequence, 512)`. A polynomial of more than 32 terms
// becomes such a symbol, too, so that no operation takes long.
//
//   Formulas formulas;
//   const Dim rows = formulas.Times(formulas.Dimension("batch"), 12);
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/bit_cast.h"
#include "onnx_tag/interner.h"
#include "uses/sizes/dim.h"

namespace onnx_tag::sizes {

enum class SymbolId : std::uint32_t {};
enum class MonomialId : std::uint32_t {};

struct Symbol {
  enum class Kind : std::uint8_t {
    kDimension,  // the file names it, or it is an input's
    kData,       // depends on data, not only on sizes
    // Defined by a and b:
    kFloor,    // a / b, rounded down
    kMax,      // the larger one
    kMin,      // the smaller one
    kSum,      // a + b, which has too many terms
    kProduct,  // a · b, likewise
    kScaled,   // a · a float32 with the bits b, rounded down
  };
  Kind kind;
  std::string name = {};  // unique
  Dim a = {}, b = {};
  bool has_data = false;  // it depends on data, or its definition does
  bool in_file = false;   // the file has this name
  // At least and at most; nothing: no bound.
  std::optional<std::int64_t> least = {}, most = {};
};

struct Factor {
  SymbolId symbol;
  std::uint32_t power;
  bool operator==(const Factor&) const = default;
};

struct Term {
  std::int64_t coefficient;
  MonomialId monomial;
  bool operator==(const Term&) const = default;
};

class Formulas {
 public:
  static constexpr std::size_t kMostTerms = 32;
  static constexpr std::uint32_t kMostPower = 32;

  Formulas();

  // The dimension that the file names so.
  Dim Dimension(std::string_view name);
  // A dimension that has no name in the file: "x[0]".
  Dim Unnamed(std::string_view name);
  // A new one that depends on data: "nonzero_1", "nonzero_2".
  Dim Data(std::string_view kind);
  // Unknown if there is none.
  Dim Find(std::string_view name) const;

  Dim Plus(Dim a, Dim b);
  Dim Minus(Dim a, Dim b) { return Plus(a, Times(b, -1)); }
  Dim Times(Dim a, Dim b);
  template <typename... More>
  Dim Times(Dim a, Dim b, Dim c, More... more) {
    return Times(Times(a, b), c, more...);
  }
  Dim ProductOf(std::span<const Dim> dims);
  // a / b where b divides a as a polynomial; else unknown.
  Dim Quotient(Dim a, Dim b);
  // Rounded down. Unknown where b is 0.
  Dim Floor(Dim a, Dim b);
  Dim Ceil(Dim a, Dim b) { return Floor(Plus(a, Minus(b, 1)), b); }
  Dim Max(Dim a, Dim b) { return Extreme(Symbol::Kind::kMax, a, b); }
  Dim Min(Dim a, Dim b) { return Extreme(Symbol::Kind::kMin, a, b); }
  // Rounded down, as ONNX Runtime computes it in float32.
  Dim Scaled(Dim a, float number);

  // Whether it is sure. A dimension is at least 1.
  bool IsAtLeast(Dim a, std::int64_t least);
  bool IsAtLeast(Dim a, Dim b) { return IsAtLeast(Minus(a, b), 0); }
  // Nothing: it depends.
  std::optional<bool> AreEqual(Dim a, Dim b);

  // The terms of a formula, or the one term of a number in `room`; none for 0.
  // Valid until the next operation.
  std::span<const Term> Terms(Dim dim, Term& room) const;
  std::span<const Factor> Factors(MonomialId monomial) const {
    return monomials_[monomial];
  }
  const Symbol& operator[](SymbolId id) const { return symbols_[id]; }
  std::size_t symbol_count() const { return symbols_.size(); }
  // The symbol if the formula is just that; else kNo.
  SymbolId OnlySymbol(Dim dim) const;

  // Whether it depends on data, not only on dimensions.
  bool HasData(Dim dim) const;

  // The sum of terms in any order; `terms` is used up.
  Dim Sum(std::vector<Term>& terms);

 private:
  // Puts terms of one monomial together; false if 63 bits are too few.
  static bool Collect(std::vector<Term>& terms);
  friend class FormulaSum;

  // Lists of items, each list once.
  template <typename Id, typename Item>
  class Lists {
   public:
    std::span<const Item> operator[](Id id) const {
      return {items_.data() + runs_[id].first, runs_[id].count};
    }
    Id Intern(std::span<const Item> list) {
      const std::uint32_t hash = HashOf(list);
      const Id known = table_.Find(hash, [&](Id id) {
        const auto other = (*this)[id];
        return std::equal(other.begin(), other.end(), list.begin(), list.end());
      });
      if (known != kNo<Id>) return known;
      const Run run{static_cast<std::uint32_t>(items_.size()),
                    static_cast<std::uint32_t>(list.size())};
      items_.insert(items_.end(), list.begin(), list.end());
      table_.Add(hash, runs_.Add(run));
      return MakeId<Id>(runs_.size() - 1);
    }

   private:
    struct Run {
      std::uint32_t first;
      std::uint32_t count;
    };
    IdVector<Id, Run> runs_;
    std::vector<Item> items_;
    IdTable<Id> table_;
  };
  static std::uint32_t HashOf(std::span<const Factor> factors);
  static std::uint32_t HashOf(std::span<const Term> terms);

  struct Bounds {
    std::optional<std::int64_t> least, most;
  };
  enum class Action : std::uint8_t {
    kPlus,
    kTimes,
    kQuotient,
    kFloor,
    kExtreme,       // and kMax or kMin
    kDerived = 16,  // and the kind of the symbol
  };
  static Action With(Action action, Symbol::Kind kind) {
    return static_cast<Action>(static_cast<int>(action) +
                               static_cast<int>(kind));
  }

  // What `compute()` gave for these operands the first time.
  template <typename Compute>
  Dim Remember(Action action, Dim a, Dim b, const Compute& compute) {
    const Computed key{action, a, b};
    const auto found = computed_.find(key);
    if (found != computed_.end()) return found->second;
    const Dim result = compute();
    computed_.emplace(key, result);
    return result;
  }
  Dim ComputeTimes(Dim a, Dim b);
  Dim ComputeQuotient(Dim a, Dim b);
  Dim Extreme(Symbol::Kind kind, Dim a, Dim b);
  Dim FloorByNumber(Dim a, std::int64_t b);

  Dim Derived(Symbol::Kind kind, Dim a, Dim b);
  Dim AddSymbol(Symbol symbol);
  std::string NameOf(const Symbol& symbol);
  Bounds BoundsOf(const Symbol& symbol) const;
  Bounds BoundsOf(Dim dim) const;
  bool IsNatural(Dim dim, int steps);

  MonomialId Intern(std::span<const Factor> factors) {
    return monomials_.Intern(factors);
  }
  // kNo if its degree is too large.
  MonomialId TimesMonomial(MonomialId a, MonomialId b);
  // a / b; kNo if b does not divide a.
  MonomialId OverMonomial(MonomialId a, MonomialId b);
  Dim OfSymbol(SymbolId symbol);
  Dim InternTerms(std::span<const Term> terms);

  IdVector<SymbolId, Symbol> symbols_;
  std::unordered_map<std::string, Dim> names_;
  std::unordered_map<std::string, std::uint32_t> data_counts_;  // by name
  Lists<MonomialId, Factor> monomials_;
  Lists<FormulaId, Term> formulas_;
  // What was computed before, by its operands.
  struct Computed {
    Action action;
    Dim a, b;
    bool operator==(const Computed&) const = default;
  };
  struct HashComputed {
    std::size_t operator()(const Computed& computed) const;
  };
  std::unordered_map<Computed, Dim, HashComputed> computed_;
  std::size_t unnamed_ = 0;  // symbols whose definition is too long for a name
};

// The sum of many sizes, without a formula for each step.
class FormulaSum {
 public:
  explicit FormulaSum(Formulas& formulas) : formulas_(formulas) {}

  // An unknown size makes the sum unknown.
  void Add(Dim dim);
  Dim Total();

 private:
  Formulas& formulas_;
  std::vector<Term> terms_;
  std::size_t collected_ = 0;
  Dim number_ = 0;  // the part without dimensions; unknown, or over 2^63
};

// Of a kScaled symbol.
inline float ScaleOf(const Symbol& symbol) {
  return BitCast<float>(static_cast<std::int32_t>(symbol.b.number()));
}
Dim ScaledDown(std::int64_t size, float number);

// Formulas with numbers for their dimensions.
class Evaluation {
 public:
  explicit Evaluation(const Formulas& formulas) : formulas_(formulas) {}

  // A dimension without a number stays unknown, and what depends on it.
  void Set(SymbolId symbol, std::int64_t number);

  // A number, over 2^63, or unknown.
  Dim operator()(Dim dim) const;
  Dim operator()(const Term& term) const;

 private:
  Dim ValueOf(SymbolId symbol) const;
  bool IsReady(SymbolId symbol) const;
  void AddMissing(Dim dim, std::vector<SymbolId>& missing) const;
  void Define(SymbolId symbol) const;
  Dim Compute(Dim dim) const;

  const Formulas& formulas_;
  mutable std::vector<Dim> values_;        // by symbol
  mutable std::vector<bool> is_computed_;  // by symbol
  mutable std::vector<SymbolId> computed_;
  mutable std::unordered_map<FormulaId, Dim> known_;
};

// Formulas as people write them, and the names of dimensions read as formulas.

// Every digit: "2·batch·sequence² + 1"; "?" for unknown, "over 2^63".
std::string FormulaText(const Formulas& formulas, Dim dim);

// The terms that are largest for these numbers, at most so many, with short
// numbers: "1.31 M·batch·sequence + 512·batch·sequence² + 3 smaller terms".
std::string LeadingText(const Formulas& formulas, Dim dim,
                        const Evaluation& numbers, std::size_t most = 3);

// What a derived symbol stands for: "ceil(height/16)", "min(sequence, 512)".
// Its name for other symbols.
std::string DefinitionText(const Formulas& formulas, const Symbol& symbol);

// A name with operators in it, such as "cache+seq", in quotes.
std::string QuotedName(std::string_view name);

// The dimension that exporters write as text: "past + sequence", "2*batch",
// "(256//s77)", "floor(h/2)". All words in it must be dimensions that
// `formulas` knows; else the result is unknown.
Dim ParseFormula(Formulas& formulas, std::string_view text);

}  // namespace onnx_tag::sizes
