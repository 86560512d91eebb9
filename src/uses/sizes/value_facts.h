// What is known of all values of a model, and the formulas they use.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "onnx_tag/bytes.h"
#include "onnx_tag/model.h"
#include "uses/sizes/formulas.h"
#include "uses/sizes/numbers.h"

namespace onnx_tag::sizes {

class ValueFacts {
 public:
  explicit ValueFacts(const Model& model)
      : model_(model), facts_(model.value_count()) {}

  const Formulas& formulas() const { return formulas_; }
  Formulas& formulas() { return formulas_; }

  // Nothing is known of kNo.
  const Fact& operator[](ValueId value) const {
    return value == kNo<ValueId> ? kNothing : facts_[value];
  }
  // Replaces all that was known.
  void Set(ValueId value, Fact fact);

  // A dimension that only running the model tells. `call` tells apart the
  // calls of a function.
  Dim OwnDim(NodeId node, std::size_t slot, std::size_t axis);
  void SetCall(std::uint32_t call) { call_ = call; }
  std::uint32_t call() const { return call_; }

  // Two sizes that must be equal when the model runs, or one of them 1.
  struct Equality {
    Dim a, b;
  };
  void NoteEqual(Dim a, Dim b);
  const std::vector<Equality>& equalities() const { return equalities_; }

 private:
  inline static const Fact kNothing{};

  const Model& model_;
  Formulas formulas_;
  IdVector<ValueId, Fact> facts_;
  std::unordered_map<std::uint64_t, Dim> own_;
  std::vector<Equality> equalities_;
  std::unordered_set<std::uint64_t> noted_;
  std::uint32_t call_ = 0;
};

// What the file records about a value's type.

// A dimension that is neither number nor name is unknown. `type` is an encoded
// TypeProto.
Fact ReadRecorded(Formulas& formulas, Bytes type);

// Makes the plain names of dimensions known, so that a formula of them in
// another place is read as one.
void LearnNames(Formulas& formulas, Bytes type);

}  // namespace onnx_tag::sizes
