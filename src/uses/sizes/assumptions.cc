#include "uses/sizes/assumptions.h"

#include <fmt/core.h>

#include "base/letters.h"
#include "base/text.h"
#include "onnx_tag/error.h"

namespace onnx_tag::sizes {
namespace {

// Of an equality; more are not looked at.
constexpr std::size_t kMostDimensions = 64;

std::string Listed(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", name.substr(0, 60));
    if (text.size() > 400) return text + ", ...";
  }
  return text.empty() ? "none" : text;
}

}  // namespace

Assumptions::Assumptions(const Model& model, const Shapes& shapes,
                         std::span<const GivenShape> given)
    : model_(model),
      shapes_(shapes),
      formulas_(shapes.formulas()),
      numbers_(formulas_),
      known_(formulas_.symbol_count()) {
  for (const ValueId input : model_[GraphId{0}].inputs) {
    if (model_.InitializerOf(input) == nullptr) inputs_.push_back(input);
  }
  ReadInputs();
  for (const GivenShape& one : given) Give(one);
  AddDefaults();
}

// Once: a model may have as many inputs as dimensions.
void Assumptions::ReadInputs() {
  for (const ValueId input : inputs_) {
    const std::optional<Shape>& shape = shapes_.Of(input);
    for (std::size_t i = 0; shape && i < shape->size(); ++i) {
      const SymbolId symbol = formulas_.OnlySymbol((*shape)[i]);
      if (symbol == kNo<SymbolId>) continue;
      const bool first = i == 0 && shape->size() > 1;
      Place& place = known_[symbol].place;
      place = first && place != Place::kElsewhere ? Place::kFirst
                                                  : Place::kElsewhere;
    }
  }
  for (std::size_t i = 0; i < shapes_.equalities().size(); ++i) {
    const ValueFacts::Equality& equality = shapes_.equalities()[i];
    const SymbolId a = formulas_.OnlySymbol(equality.a);
    const SymbolId b = formulas_.OnlySymbol(equality.b);
    if (a != kNo<SymbolId> && b == kNo<SymbolId>) known_[a].follows = true;
    if (b != kNo<SymbolId> && a == kNo<SymbolId>) known_[b].follows = true;
    std::vector<SymbolId> symbols;
    if (!AddDimensionsOf(equality.a, symbols) ||
        !AddDimensionsOf(equality.b, symbols)) {
      continue;
    }
    for (const SymbolId symbol : symbols) {
      known_[symbol].equalities.push_back(static_cast<std::uint32_t>(i));
    }
  }
}

void Assumptions::Set(SymbolId symbol, std::int64_t number,
                      Assumption::From from) {
  numbers_.Set(symbol, number);
  known_[symbol].is_set = true;
  changed_.push_back(symbol);
  if (from != Assumption::From::kEqual ||
      known_[symbol].place != Place::kNowhere) {
    list_.push_back({formulas_[symbol].name, number, from});
  }
}

void Assumptions::Give(const GivenShape& given) {
  const SymbolId symbol = formulas_.OnlySymbol(formulas_.Find(given.name));
  // If a dimension and an input have one name, the dimension is meant.
  if (symbol != kNo<SymbolId> && given.dims.size() == 1) {
    const Symbol::Kind kind = formulas_[symbol].kind;
    if (kind == Symbol::Kind::kDimension || kind == Symbol::Kind::kData) {
      if (known_[symbol].is_set) {
        const Dim before = numbers_(formulas_.Find(given.name));
        if (before.Is(given.dims[0])) return;
        Fail(ErrorKind::kUsage, "--shape {}: {} and {} given", given.name,
             before.number(), given.dims[0]);
      }
      return Set(symbol, given.dims[0], Assumption::From::kGiven);
    }
  }
  std::vector<std::string_view> dims, inputs;
  for (const ValueId input : inputs_) {
    if (model_.ValueName(input) == given.name) return GiveInput(input, given);
    inputs.push_back(model_.ValueName(input));
  }
  if (symbol != kNo<SymbolId>) {
    Fail(ErrorKind::kUsage, "--shape {}: a dimension has one size, not {}",
         given.name, given.dims.size());
  }
  // A file may have thousands of names for what depends on its inputs.
  for (const SymbolId id : AllIds<SymbolId>(known_.size())) {
    if (known_[id].place != Place::kNowhere) dims.push_back(formulas_[id].name);
  }
  std::vector<std::string_view> all = dims;
  all.insert(all.end(), inputs.begin(), inputs.end());
  const std::string_view nearest = NearestWord(given.name, all);
  Fail(ErrorKind::kUsage,
       "--shape {}: the model has no such dimension or input{}\n"
       "  its dimensions: {}\n  its inputs: {}",
       given.name,
       nearest.empty() ? "" : fmt::format(", did you mean '{}'?", nearest),
       Listed(dims), Listed(inputs));
}

void Assumptions::GiveInput(ValueId input, const GivenShape& given) {
  const std::optional<Shape>& shape = shapes_.Of(input);
  if (!shape) return;
  if (shape->size() != given.dims.size()) {
    Fail(ErrorKind::kUsage, "--shape {}: {} given, but the input has {}",
         given.name, Count(given.dims.size(), "dimension"), shape->size());
  }
  for (std::size_t i = 0; i < shape->size(); ++i) {
    const Dim dim = (*shape)[i];
    const SymbolId symbol = formulas_.OnlySymbol(dim);
    if (dim.IsNumber() && !dim.Is(given.dims[i])) {
      Fail(ErrorKind::kUsage,
           "--shape {}: dimension {} is {} in the model, not {}", given.name, i,
           dim.number(), given.dims[i]);
    }
    if (symbol == kNo<SymbolId>) continue;
    if (known_[symbol].is_set) {
      const Dim before = numbers_(dim);
      if (before.Is(given.dims[i])) continue;
      Fail(ErrorKind::kUsage,
           "--shape {}: dimension {} is {}, and that is {} already", given.name,
           i, formulas_[symbol].name, FormulaText(formulas_, before));
    }
    Set(symbol, given.dims[i], Assumption::From::kGiven);
  }
}

// The dimensions that a formula is made of; false if there are many.
bool Assumptions::AddDimensionsOf(Dim dim, std::vector<SymbolId>& symbols) {
  std::vector<Dim> open = {dim};
  for (std::size_t steps = 0; !open.empty(); ++steps) {
    if (steps > kMostDimensions) return false;
    const Dim next = open.back();
    open.pop_back();
    if (!next.IsFormula()) continue;
    Term room;
    for (const Term& term : formulas_.Terms(next, room)) {
      for (const Factor& factor : formulas_.Factors(term.monomial)) {
        const Symbol& symbol = formulas_[factor.symbol];
        if (symbol.kind == Symbol::Kind::kDimension ||
            symbol.kind == Symbol::Kind::kData) {
          symbols.push_back(factor.symbol);
        } else {
          open.insert(open.end(), {symbol.a, symbol.b});
        }
      }
    }
  }
  return true;
}

// Dimensions by themselves that must equal what is known.
void Assumptions::Propagate() {
  while (!changed_.empty()) {
    const SymbolId set = changed_.back();
    changed_.pop_back();
    for (const std::uint32_t i : known_[set].equalities) {
      const ValueFacts::Equality& equality = shapes_.equalities()[i];
      for (const auto& [one, other] : {std::pair(equality.a, equality.b),
                                       std::pair(equality.b, equality.a)}) {
        const SymbolId symbol = formulas_.OnlySymbol(one);
        if (symbol == kNo<SymbolId> || known_[symbol].is_set ||
            formulas_[symbol].kind != Symbol::Kind::kDimension) {
          continue;
        }
        const Dim number = numbers_(other);
        if (!number.IsNumber() || number.number() < 1) continue;
        Set(symbol, number.number(), Assumption::From::kEqual);
        known_[symbol].equal = other;
      }
    }
  }
}

void Assumptions::AddDefaults() {
  Propagate();
  // First those that no equality explains: "total" follows from the others.
  for (const bool explained : {false, true}) {
    for (const ValueId input : inputs_) {
      const std::optional<Shape>& shape = shapes_.Of(input);
      if (!shape) continue;
      for (const Dim dim : *shape) {
        const SymbolId symbol = formulas_.OnlySymbol(dim);
        if (symbol == kNo<SymbolId> || known_[symbol].is_set) continue;
        if (known_[symbol].follows && !explained) continue;
        Set(symbol, IsBatch(symbol) ? 1 : kDefaultSize,
            Assumption::From::kDefault);
        Propagate();
      }
    }
  }
}

// By its name; or it is the first axis of every input that has it.
bool Assumptions::IsBatch(SymbolId symbol) const {
  const std::string name = InSmallLetters(formulas_[symbol].name);
  return name.find("batch") != std::string::npos ||
         IsOneOf(name, {"n", "b", "bs"}) ||
         known_[symbol].place == Place::kFirst;
}

std::string Assumptions::Text() const {
  std::string given, assumed;
  // In the order in which they were set: what follows from given sizes comes
  // before the first default.
  bool is_assumed = false;
  for (const Assumption& one : list_) {
    is_assumed |= one.from == Assumption::From::kDefault;
    std::string& text = is_assumed ? assumed : given;
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ",
                        QuotedName(one.name), one.number);
  }
  if (assumed.empty()) return given;
  return fmt::format("{}{}assumed {}", given, given.empty() ? "" : " and ",
                     assumed);
}

}  // namespace onnx_tag::sizes
