#include "sizes/assumptions.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "onnx_tag/error.h"
#include "sizes/formula_text.h"

namespace onnx_tag::sizes {
namespace {

constexpr GraphId kMain{0};

std::string Lower(std::string_view text) {
  std::string lower;
  for (const char c : text) {
    lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return lower;
}

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
      is_set_(formulas_.symbol_count()) {
  for (const GivenShape& one : given) Give(one);
  AddDefaults();
}

void Assumptions::Set(SymbolId symbol, std::int64_t number,
                      Assumption::From from) {
  numbers_.Set(symbol, number);
  is_set_[Index(symbol)] = true;
  if (from != Assumption::From::kEqual || IsOfInput(symbol)) {
    list_.push_back({formulas_[symbol].name, number, from});
  }
}

bool Assumptions::IsOfInput(SymbolId symbol) const {
  for (const ValueId input : model_[kMain].inputs) {
    const std::optional<Shape>& shape = shapes_.Of(input);
    if (!shape || model_.InitializerOf(input) != nullptr) continue;
    for (const Dim dim : *shape) {
      if (formulas_.OnlySymbol(dim) == symbol) return true;
    }
  }
  return false;
}

void Assumptions::Give(const GivenShape& given) {
  const SymbolId symbol = formulas_.OnlySymbol(formulas_.Find(given.name));
  // If a dimension and an input have one name, the dimension is meant.
  if (symbol != kNo<SymbolId> && given.dims.size() == 1) {
    const Symbol::Kind kind = formulas_[symbol].kind;
    if (kind == Symbol::Kind::kDimension || kind == Symbol::Kind::kData) {
      return Set(symbol, given.dims[0], Assumption::From::kGiven);
    }
  }
  std::vector<std::string_view> dims, inputs;
  for (const ValueId input : model_[kMain].inputs) {
    if (model_.InitializerOf(input) != nullptr) continue;
    if (model_.ValueName(input) == given.name) return GiveInput(input, given);
    inputs.push_back(model_.ValueName(input));
  }
  for (std::size_t i = 0; i < formulas_.symbol_count(); ++i) {
    const Symbol& one = formulas_[MakeId<SymbolId>(i)];
    if (one.kind == Symbol::Kind::kDimension) dims.push_back(one.name);
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
    if (is_set_[Index(symbol)]) {
      const Dim before = numbers_(dim);
      if (before.Is(given.dims[i])) continue;
      Fail(ErrorKind::kUsage,
           "--shape {}: dimension {} is {}, and that is {} already", given.name,
           i, formulas_[symbol].name, FormulaText(formulas_, before));
    }
    Set(symbol, given.dims[i], Assumption::From::kGiven);
  }
}

// A dimension by itself that must equal what is known.
void Assumptions::Propagate() {
  bool found = true;
  while (found) {
    found = false;
    for (const ValueFacts::Equality& equality : shapes_.equalities()) {
      for (const auto& [one, other] : {std::pair(equality.a, equality.b),
                                       std::pair(equality.b, equality.a)}) {
        const SymbolId symbol = formulas_.OnlySymbol(one);
        if (symbol == kNo<SymbolId> || is_set_[Index(symbol)] ||
            formulas_[symbol].kind != Symbol::Kind::kDimension) {
          continue;
        }
        const Dim number = numbers_(other);
        if (!number.IsNumber() || number.number() < 1) continue;
        Set(symbol, number.number(), Assumption::From::kEqual);
        found = true;
      }
    }
  }
}

void Assumptions::AddDefaults() {
  Propagate();
  // First those that no equality explains: "total" follows from the others.
  for (const bool explained : {false, true}) {
    for (const ValueId input : model_[kMain].inputs) {
      if (model_.InitializerOf(input) != nullptr) continue;
      const std::optional<Shape>& shape = shapes_.Of(input);
      if (!shape) continue;
      for (const Dim dim : *shape) {
        const SymbolId symbol = formulas_.OnlySymbol(dim);
        if (symbol == kNo<SymbolId> || is_set_[Index(symbol)]) continue;
        const bool follows = std::any_of(
            shapes_.equalities().begin(), shapes_.equalities().end(),
            [&](const ValueFacts::Equality& equality) {
              return (equality.a == dim &&
                      formulas_.OnlySymbol(equality.b) == kNo<SymbolId>) ||
                     (equality.b == dim &&
                      formulas_.OnlySymbol(equality.a) == kNo<SymbolId>);
            });
        if (follows && !explained) continue;
        Set(symbol, IsBatch(symbol) ? 1 : kDefaultSize,
            Assumption::From::kDefault);
        Propagate();
      }
    }
  }
}

// By its name; or it is the first axis of every input that has it.
bool Assumptions::IsBatch(SymbolId symbol) const {
  const std::string name = Lower(formulas_[symbol].name);
  if (name.find("batch") != std::string::npos || name == "n" || name == "b" ||
      name == "bs") {
    return true;
  }
  bool first = false;
  for (const ValueId input : model_[kMain].inputs) {
    const std::optional<Shape>& shape = shapes_.Of(input);
    if (!shape || model_.InitializerOf(input) != nullptr) continue;
    for (std::size_t i = 0; i < shape->size(); ++i) {
      if (formulas_.OnlySymbol((*shape)[i]) != symbol) continue;
      if (i > 0 || shape->size() == 1) return false;
      first = true;
    }
  }
  return first;
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
