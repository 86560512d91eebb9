#include "app/commands/read/model_sizes.h"

#include <fmt/core.h>

#include <array>
#include <unordered_map>

#include "app/render/render.h"
#include "base/text.h"
#include "core/tagging/words.h"
#include "uses/sizes/formulas.h"

namespace onnx_tag {
namespace {

// In the order of sizes::Assumption::From.
constexpr std::array<std::string_view, 3> kFromNames = {"given", "default",
                                                        "equal"};

}  // namespace

std::vector<bool> SymbolsIn(const sizes::Formulas& formulas,
                            std::vector<sizes::Dim> dims,
                            const sizes::Assumptions* equals) {
  std::vector<bool> used(formulas.symbol_count());
  while (!dims.empty()) {
    const sizes::Dim at = dims.back();
    dims.pop_back();
    if (!at.IsFormula()) continue;
    sizes::Term room;
    for (const sizes::Term& term : formulas.Terms(at, room)) {
      for (const sizes::Factor& factor : formulas.Factors(term.monomial)) {
        if (used[Index(factor.symbol)]) continue;
        used[Index(factor.symbol)] = true;
        const sizes::Symbol& symbol = formulas[factor.symbol];
        dims.insert(dims.end(), {symbol.a, symbol.b});
        if (equals != nullptr) dims.push_back(equals->EqualOf(factor.symbol));
      }
    }
  }
  return used;
}

std::optional<sizes::ModelSizes> SizesOf(
    const TaggedModel& model, std::span<const sizes::GivenShape> shapes) {
  if (model.file() == nullptr) return std::nullopt;
  return model.file()->Map([&](const Model& file) {
    sizes::Shapes inferred(file, shapes);
    return sizes::CountSizes(file, model.tagging(), inferred,
                             sizes::Assumptions(file, inferred, shapes));
  });
}

ModelCosts::ModelCosts(const TaggedModel& model,
                       std::span<const sizes::GivenShape> given)
    : shapes(model.model(), given),
      formulas(sizes::SumFormulas(model.model(), model.tagging(), shapes)),
      assumptions(model.model(), shapes, given),
      sizes(sizes::CountSizes(model.model(), model.tagging(), shapes,
                              assumptions)) {}

std::unique_ptr<ModelCosts> CostsOf(const TaggedModel& model,
                                    std::span<const sizes::GivenShape> given) {
  if (model.file() == nullptr) return nullptr;
  return std::make_unique<ModelCosts>(model, given);
}

bool FlopsKnown(const sizes::ModelSizes& sizes) {
  return 20 * sizes.all.unknown_flops <= sizes.flops.size();
}

std::string AmountText(std::uint64_t number, Unit unit) {
  return unit == Unit::kBytes ? BytesText(number) : Compact(number);
}

std::string WeightsText(const sizes::ModelSizes& sizes) {
  std::string text = BytesText(sizes.all.bytes);
  if (sizes.bytes_by_type.size() < 2) return text;
  const auto of_type = [](const auto& row) {
    return fmt::format("{} {}", row.first, BytesText(row.second));
  };
  return text +
         fmt::format(" ({})", Join(Mapped(sizes.bytes_by_type, of_type)));
}

std::string FlopsText(const sizes::ModelSizes& sizes) {
  const std::uint64_t unknown = sizes.all.unknown_flops;
  if (!FlopsKnown(sizes)) {
    return fmt::format("unknown for {} of {}: give input shapes with --shape",
                       WithThousands(unknown),
                       Count(sizes.flops.size(), "node"));
  }
  std::string text = AmountText(sizes.all.flops);
  if (!sizes.dimensions.empty()) {
    text += Message(" for {}", Short{sizes.dimensions, 200});
  }
  if (unknown > 0) text += ", unknown for " + Count(unknown, "node");
  return text;
}

std::string FormulaText(const ModelCosts& costs, sizes::Dim dim) {
  if (!dim.IsFormula()) return "";
  const std::string text = sizes::LeadingText(costs.shapes.formulas(), dim,
                                              costs.assumptions.numbers());
  return Message("{}", Short{text, 300});
}

Datum FormulaValue(const sizes::Formulas& formulas, sizes::Dim dim) {
  if (!dim.known() || dim.IsOver()) return {};
  sizes::Term room;
  Datum::List terms;
  for (const sizes::Term& term : formulas.Terms(dim, room)) {
    Datum powers = Datum::Object({});
    for (const sizes::Factor& factor : formulas.Factors(term.monomial)) {
      powers.Set(formulas[factor.symbol].name, factor.power);
    }
    terms.push_back(Datum::List{term.coefficient, std::move(powers)});
  }
  return Datum::Object({{"terms", std::move(terms)}});
}

Datum DimensionsValue(const ModelCosts& costs) {
  const sizes::Formulas& formulas = costs.shapes.formulas();
  const sizes::Evaluation& numbers = costs.assumptions.numbers();
  std::unordered_map<std::string_view, std::string_view> from;
  for (const sizes::Assumption& one : costs.assumptions.list()) {
    from[one.name] = EnumToWord(kFromNames, one.from);
  }
  std::vector<sizes::Dim> dims = {costs.formulas.all.flops,
                                  costs.formulas.all.written};
  for (const auto* list : {&costs.formulas.totals, &costs.formulas.own}) {
    for (const sizes::FormulaSums& sums : *list) {
      dims.insert(dims.end(), {sums.flops, sums.written});
    }
  }
  const std::vector<bool> used = SymbolsIn(formulas, std::move(dims));
  Datum dimensions = Datum::Object({});
  for (std::size_t i = 0; i < formulas.symbol_count(); ++i) {
    const auto id = MakeId<sizes::SymbolId>(i);
    const sizes::Symbol& symbol = formulas[id];
    const auto given = from.find(symbol.name);
    if (!used[i] && given == from.end()) continue;
    const sizes::Dim number = numbers(formulas.Find(symbol.name));
    const bool derived = symbol.kind != sizes::Symbol::Kind::kDimension &&
                         symbol.kind != sizes::Symbol::Kind::kData;
    dimensions.Set(
        symbol.name,
        Datum::Object(
            {{"size", number.IsNumber() ? Datum(number.number()) : Datum()},
             {"from", given != from.end() ? given->second
                      : derived           ? "definition"
                      : number.known()    ? "equal"
                                          : "data"},
             {"definition", derived
                                ? Datum(sizes::DefinitionText(formulas, symbol))
                                : Datum()}}));
  }
  return dimensions;
}

Datum::Members SizeMembers(const sizes::ModelSizes* sizes) {
  if (sizes == nullptr) return {};
  Datum by_type = Datum::Object({});
  for (const auto& [type, bytes] : sizes->bytes_by_type) {
    by_type.Set(std::string(type), bytes);
  }
  return {{"bytes", sizes->all.bytes},
          {"bytes_by_type", by_type},
          {"flops", sizes->all.flops},
          {"unknown_flops", sizes->all.unknown_flops}};
}

}  // namespace onnx_tag
