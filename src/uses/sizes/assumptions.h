// Numbers for a model's dimensions: those that the user gave, and for the rest
// a batch of 1 and 128 of everything else.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "uses/sizes/formulas.h"
#include "uses/sizes/shapes.h"

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
  // What it must equal, for a symbol whose number comes from there; else
  // unknown.
  Dim EqualOf(SymbolId symbol) const { return known_[symbol].equal; }
  // "sequence=512 and assumed batch=1"; empty if there are none.
  std::string Text() const;

 private:
  // Where a symbol is in the shapes of inputs.
  enum class Place : std::uint8_t {
    kNowhere,
    kFirst,  // always the first axis of several
    kElsewhere,
  };
  // What is known of a symbol.
  struct Known {
    Place place = Place::kNowhere;
    bool is_set = false;
    bool follows = false;  // it must equal a formula
    Dim equal;
    std::vector<std::uint32_t> equalities;  // with it
  };

  void ReadInputs();
  void Give(const GivenShape& given);
  void GiveInput(ValueId input, const GivenShape& given);
  void Set(SymbolId symbol, std::int64_t number, Assumption::From from);
  bool AddDimensionsOf(Dim dim, std::vector<SymbolId>& symbols);
  void Propagate();
  void AddDefaults();
  bool IsBatch(SymbolId symbol) const;

  const Model& model_;
  const Shapes& shapes_;
  const Formulas& formulas_;
  std::vector<ValueId> inputs_;  // of the main graph that are no weights
  Evaluation numbers_;
  std::vector<Assumption> list_;
  IdVector<SymbolId, Known> known_;
  std::vector<SymbolId> changed_;  // since Propagate looked
};

}  // namespace onnx_tag::sizes
