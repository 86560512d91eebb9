// Numbers for a model's dimensions: those that the user gave, and for the rest
// a batch of 1 and 128 of everything else.
#ifndef ONNX_TAG_SIZES_ASSUMPTIONS_H_
#define ONNX_TAG_SIZES_ASSUMPTIONS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sizes/evaluation.h"
#include "sizes/shapes.h"

namespace onnx_tag::sizes {

struct Assumption {
  enum class From : std::uint8_t {
    kGiven,
    kDefault,
    kEqual,  // it must be equal to a size that is known
  };
  std::string name;
  std::int64_t number;
  From from;
};

class Assumptions {
 public:
  static constexpr std::int64_t kDefaultSize = 128;

  // Throws Error(kUsage) where a name is neither a dimension nor an input of
  // the model, or does not fit it. Both must outlive it.
  Assumptions(const Model& model, const Shapes& shapes,
              std::span<const GivenShape> given = {});

  const Evaluation& numbers() const { return numbers_; }
  // Of the dimensions of inputs, and of others that were given, in their order.
  const std::vector<Assumption>& list() const { return list_; }
  // "sequence=512 and assumed batch=1"; empty if there are none.
  std::string Text() const;

 private:
  void Give(const GivenShape& given);
  void GiveInput(ValueId input, const GivenShape& given);
  void Set(SymbolId symbol, std::int64_t number, Assumption::From from);
  void Propagate();
  void AddDefaults();
  bool IsOfInput(SymbolId symbol) const;
  bool IsBatch(SymbolId symbol) const;

  const Model& model_;
  const Shapes& shapes_;
  const Formulas& formulas_;
  Evaluation numbers_;
  std::vector<Assumption> list_;
  std::vector<bool> is_set_;  // by symbol
};

}  // namespace onnx_tag::sizes

#endif  // ONNX_TAG_SIZES_ASSUMPTIONS_H_
