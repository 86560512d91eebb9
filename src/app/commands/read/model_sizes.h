// The sizes of a command's model, and their text.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/commands/read/tagged_model.h"
#include "app/render/result.h"
#include "uses/sizes/module_sizes.h"

namespace onnx_tag {

// No value if the tags came from a sidecar without its model. Throws
// Error(kUsage) if a shape matches no input of the model.
std::optional<sizes::ModelSizes> SizesOf(
    const TaggedModel& model, std::span<const sizes::GivenShape> shapes);

// The same with the formulas that the numbers come from.
struct ModelCosts {
  ModelCosts(const TaggedModel& model,
             std::span<const sizes::GivenShape> given);

  sizes::Shapes shapes;
  const sizes::ModelFormulas formulas;
  const sizes::Assumptions assumptions;
  const sizes::ModelSizes sizes;
};

// Null if the tags came from a sidecar without its model.
std::unique_ptr<ModelCosts> CostsOf(const TaggedModel& model,
                                    std::span<const sizes::GivenShape> given);

// At least 19 of 20 nodes have a count. Shares of a smaller part of the model
// would mislead.
bool FlopsKnown(const sizes::ModelSizes& sizes);

// "1.31 M", "1.31 MB"; "over 2^63"
std::string AmountText(std::uint64_t number, Unit unit = Unit::kPlain);

// "17.5 MB (float32 17.4 MB, int64 12.0 kB)"
std::string WeightsText(const sizes::ModelSizes& sizes);

// "23.0 G, unknown for 12 nodes"
std::string FlopsText(const sizes::ModelSizes& sizes);

// "1.31 M·batch·sequence + 512·batch·sequence²", safe to print; "" if it is a
// number.
std::string FormulaText(const ModelCosts& costs, sizes::Dim dim);

// `{"terms": [[1310720, {"batch": 1, "sequence": 1}]]}`; null if it is unknown
// or over 2^63.
Datum FormulaValue(const sizes::Formulas& formulas, sizes::Dim dim);

// By symbol: whether it is in these formulas, or in the definition of one that
// is; with `equals`, also in what one is assumed to equal.
std::vector<bool> SymbolsIn(const sizes::Formulas& formulas,
                            std::vector<sizes::Dim> dims,
                            const sizes::Assumptions* equals = nullptr);

// What the symbols of the formulas are: for each its number, where that comes
// from, and the definition of a derived one.
Datum DimensionsValue(const ModelCosts& costs);

// `bytes`, `bytes_by_type`, `flops` and `unknown_flops`; nothing without sizes.
Datum::Members SizeMembers(const sizes::ModelSizes* sizes);

}  // namespace onnx_tag
