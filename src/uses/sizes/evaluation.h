// Formulas with numbers for their dimensions.
#ifndef ONNX_TAG_USES_SIZES_EVALUATION_H_
#define ONNX_TAG_USES_SIZES_EVALUATION_H_

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "uses/sizes/formulas.h"

namespace onnx_tag::sizes {

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
  Dim Compute(Dim dim) const;

  const Formulas& formulas_;
  mutable std::vector<Dim> values_;        // by symbol
  mutable std::vector<bool> is_computed_;  // by symbol
  mutable std::vector<SymbolId> computed_;
  mutable std::unordered_map<FormulaId, Dim> known_;
};

}  // namespace onnx_tag::sizes

#endif  // ONNX_TAG_USES_SIZES_EVALUATION_H_
