// Formulas as people write them, and the names of dimensions read as formulas.
#ifndef ONNX_TAG_USES_SIZES_FORMULA_TEXT_H_
#define ONNX_TAG_USES_SIZES_FORMULA_TEXT_H_

#include <string>
#include <string_view>

#include "uses/sizes/evaluation.h"
#include "uses/sizes/formulas.h"

namespace onnx_tag::sizes {

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

#endif  // ONNX_TAG_USES_SIZES_FORMULA_TEXT_H_
