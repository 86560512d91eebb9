// Tested by tests/uses/sizes/formulas_test.cc.
#include <fmt/core.h>

#include <algorithm>

#include "base/letters.h"
#include "base/lists.h"
#include "base/parse_number.h"
#include "base/text.h"
#include "uses/sizes/formulas.h"

namespace onnx_tag::sizes {
namespace {

using Kind = Symbol::Kind;

bool IsWordChar(char c) {
  return IsLetter(c) || IsDigit(c) || c == '_' || c == '.' || c == '[' ||
         c == ']' || c == ':' || c == '/' ||
         static_cast<unsigned char>(c) > 127;
}

std::string PowerText(std::uint32_t power) {
  if (power == 1) return {};
  if (power == 2) return "²";
  if (power == 3) return "³";
  return fmt::format("^{}", power);
}

std::string SymbolText(const Symbol& symbol) {
  // Definitions have parentheses of their own.
  return symbol.kind == Kind::kDimension ? QuotedName(symbol.name)
                                         : symbol.name;
}

std::string Digits(std::uint64_t number) { return std::to_string(number); }

std::string SumText(const Formulas& formulas, std::vector<Term> terms,
                    std::string (*text_of)(std::uint64_t) = Digits) {
  const auto degree = [&](const Term& term) {
    std::uint32_t sum = 0;
    for (const Factor& factor : formulas.Factors(term.monomial)) {
      sum += factor.power;
    }
    return sum == 0 ? ~0U : sum;  // a number comes last
  };
  SortBy(terms, degree);
  std::string text;
  for (const Term& term : terms) {
    const auto factors = formulas.Factors(term.monomial);
    const bool negative = term.coefficient < 0;
    if (!text.empty()) text += negative ? " - " : " + ";
    if (text.empty() && negative) text += "-";
    const auto bits = static_cast<std::uint64_t>(term.coefficient);
    const std::uint64_t size = negative ? 0 - bits : bits;
    std::string product;
    if (size != 1 || factors.empty()) product = text_of(size);
    for (const Factor& factor : factors) {
      if (!product.empty()) product += "·";
      product += SymbolText(formulas[factor.symbol]) + PowerText(factor.power);
    }
    text += product;
  }
  return text;
}

// In parentheses if it is a sum.
std::string OperandText(const Formulas& formulas, std::vector<Term> terms) {
  const bool sum = terms.size() > 1;
  std::string text = SumText(formulas, std::move(terms));
  return sum ? "(" + text + ")" : text;
}

std::vector<Term> TermsOf(const Formulas& formulas, Dim dim) {
  Term room;
  const auto terms = formulas.Terms(dim, room);
  return {terms.begin(), terms.end()};
}

std::string OperandText(const Formulas& formulas, Dim dim) {
  return dim.IsFormula() ? OperandText(formulas, TermsOf(formulas, dim))
                         : FormulaText(formulas, dim);
}

// Reads sums, products, divisions and floor(): what exporters write.
class Parser {
 public:
  Parser(Formulas& formulas, std::string_view text)
      : formulas_(formulas), text_(text) {}

  Dim Whole() {
    const Dim dim = ReadSum(0);
    Skip();
    return text_.empty() ? dim : kUnknownDim;
  }

 private:
  static constexpr int kMostDepth = 32;

  void Skip() {
    while (!text_.empty() && text_.front() == ' ') text_.remove_prefix(1);
  }
  bool Take(std::string_view token) {
    Skip();
    if (!text_.starts_with(token)) return false;
    text_.remove_prefix(token.size());
    return true;
  }
  Dim ReadSum(int depth) {
    Dim sum = ReadProduct(depth);
    for (;;) {
      if (Take("+")) {
        sum = formulas_.Plus(sum, ReadProduct(depth));
      } else if (Take("-")) {
        sum = formulas_.Minus(sum, ReadProduct(depth));
      } else {
        return sum;
      }
    }
  }
  Dim ReadProduct(int depth) {
    Dim product = ReadFactor(depth);
    for (;;) {
      if (Take("//") || (in_floor_ > 0 && Take("/"))) {
        product = formulas_.Floor(product, ReadFactor(depth));
      } else if (Take("*")) {
        product = formulas_.Times(product, ReadFactor(depth));
      } else {
        return product;
      }
    }
  }
  Dim ReadFactor(int depth) {
    if (depth > kMostDepth) return kUnknownDim;
    if (Take("-")) return formulas_.Times(ReadFactor(depth + 1), -1);
    if (Take("(")) {
      const Dim inside = ReadSum(depth + 1);
      return Take(")") ? inside : kUnknownDim;
    }
    if (Take("floor(")) {
      ++in_floor_;
      const Dim inside = ReadSum(depth + 1);
      --in_floor_;
      return Take(")") ? inside : kUnknownDim;
    }
    Skip();
    std::size_t size = 0;
    while (size < text_.size() && IsWordChar(text_[size]) &&
           text_[size] != '/') {
      ++size;
    }
    const std::string_view word = text_.substr(0, size);
    text_.remove_prefix(size);
    if (word.empty()) return kUnknownDim;
    if (IsDigit(word.front())) {
      const auto number = ParseWhole<std::int64_t>(word);
      return number ? Dim(*number) : kUnknownDim;
    }
    return formulas_.Find(word);
  }

  Formulas& formulas_;
  std::string_view text_;
  int in_floor_ = 0;
};

}  // namespace

std::string QuotedName(std::string_view name) {
  if (AllIn(name, IsWordChar)) {
    return std::string(name);
  }
  return fmt::format("\"{}\"", name);
}

std::string FormulaText(const Formulas& formulas, Dim dim) {
  if (!dim.known()) return "?";
  if (dim.IsOver()) return "over 2^63";
  if (dim.IsNumber()) return std::to_string(dim.number());
  return SumText(formulas, TermsOf(formulas, dim));
}

std::string LeadingText(const Formulas& formulas, Dim dim,
                        const Evaluation& numbers, std::size_t most) {
  if (!dim.IsFormula()) {
    return dim.IsNumber() && dim.number() >= 0
               ? Compact(static_cast<std::uint64_t>(dim.number()))
               : FormulaText(formulas, dim);
  }
  // What has no number, or too large a one, comes first.
  struct Sized {
    Term term;
    std::uint64_t size;
  };
  std::vector<Sized> sized;
  for (const Term& term : TermsOf(formulas, dim)) {
    const Dim number = numbers(term);
    const auto bits = static_cast<std::uint64_t>(number.number());
    sized.push_back({term, !number.IsNumber()    ? ~std::uint64_t{0}
                           : number.number() < 0 ? 0 - bits
                                                 : bits});
  }
  std::stable_sort(
      sized.begin(), sized.end(),
      [](const Sized& a, const Sized& b) { return a.size > b.size; });
  std::vector<Term> leading;
  for (const Sized& one : sized) {
    // Less than a hundredth of the largest says nothing.
    const bool small = one.size < sized.front().size / 100;
    if (leading.size() < most && !small) leading.push_back(one.term);
  }
  std::string text = SumText(formulas, leading, Compact);
  if (sized.size() > leading.size()) {
    text += " + " + Count(sized.size() - leading.size(), "smaller term");
  }
  return text;
}

std::string DefinitionText(const Formulas& formulas, const Symbol& symbol) {
  const Kind kind = symbol.kind;
  if (kind == Kind::kDimension || kind == Kind::kData) return symbol.name;
  if (kind == Kind::kMax || kind == Kind::kMin || kind == Kind::kSum) {
    return fmt::format("{}({}{}{})",
                       kind == Kind::kMax   ? "max"
                       : kind == Kind::kMin ? "min"
                                            : "",
                       FormulaText(formulas, symbol.a),
                       kind == Kind::kSum ? " + " : ", ",
                       FormulaText(formulas, symbol.b));
  }
  const std::string a = OperandText(formulas, symbol.a);
  if (kind == Kind::kScaled) {
    return fmt::format("floor({:.6g}·{})", ScaleOf(symbol), a);
  }
  if (kind == Kind::kProduct) {
    return fmt::format("({}·{})", a, OperandText(formulas, symbol.b));
  }
  if (symbol.b.IsNumber()) {
    // floor((x + b - 1)/b) is ceil(x/b).
    std::vector<Term> terms = TermsOf(formulas, symbol.a);
    const auto constant =
        std::find_if(terms.begin(), terms.end(), [&](const Term& term) {
          return formulas.Factors(term.monomial).empty() &&
                 term.coefficient == symbol.b.number() - 1;
        });
    if (constant != terms.end()) {
      terms.erase(constant);
      return fmt::format("ceil({}/{})", OperandText(formulas, std::move(terms)),
                         symbol.b.number());
    }
  }
  return fmt::format("floor({}/{})", a, OperandText(formulas, symbol.b));
}

Dim ParseFormula(Formulas& formulas, std::string_view text) {
  // Longer ones come from no exporter.
  constexpr std::size_t kLongest = 1000;
  return text.size() > kLongest ? kUnknownDim : Parser(formulas, text).Whole();
}

}  // namespace onnx_tag::sizes
