// What is known of all values of a model, and the formulas they use.
#pragma once

#include <memory>
#include <optional>
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
  explicit ValueFacts(const Model& model);

  const Formulas& formulas() const { return formulas_; }
  Formulas& formulas() { return formulas_; }

  const std::optional<Shape>& ShapeOf(ValueId value) const {
    return shapes_[Index(value)];
  }
  std::int32_t TypeOf(ValueId value) const { return types_[Index(value)]; }
  // Null where they are not known.
  const Numbers* NumbersOf(ValueId value) const {
    const std::uint32_t at = numbers_at_[Index(value)];
    return at == kNone ? nullptr : &numbers_[at];
  }
  // Null if it is no sequence.
  const Sequence* SequenceOf(ValueId value) const;
  Fact FactOf(ValueId value) const;

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
  static constexpr std::uint32_t kNone = 0xffffffff;

  const Model& model_;
  Formulas formulas_;
  std::vector<std::optional<Shape>> shapes_;  // by value
  std::vector<std::int32_t> types_;           // by value
  std::vector<std::uint32_t> numbers_at_;     // by value
  std::vector<Numbers> numbers_;
  std::unordered_map<std::uint32_t, std::shared_ptr<const Sequence>> sequences_;
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
