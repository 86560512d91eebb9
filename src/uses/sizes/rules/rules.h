// The rules that src/data/operators.txt names for operators: how the shapes,
// types and costs of a node follow from what it reads. shape=gemm is
// shape::Gemm.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generated/size_rules.h"
#include "uses/sizes/rules/node_view.h"

namespace onnx_tag::sizes {

using ShapeRule = Facts (*)(const NodeView&);
using TypeRule = std::int32_t (*)(const NodeView&);
using CostRule = Dim (*)(const NodeView&);
using Combine = Number (Arithmetic::*)(const Number&, const Number&) const;
using Convert = Number (Arithmetic::*)(const Number&) const;

// Null where the operator has none.
struct Rules {
  ShapeRule shape = nullptr;
  TypeRule type = nullptr;
  CostRule cost = nullptr;
  Combine combine = nullptr;
  Convert convert = nullptr;
};
const Rules& RulesOf(Op op);

// What the node gives, with types; less than all outputs where nothing is
// known of the others.
Facts Infer(const NodeView& node);

// The element type of the first output; 0: unknown.
std::int32_t FirstType(const NodeView& node);

// How many floating-point operations a node does, from the shapes it reads and
// gives. One multiply-add is two. docs/guide/sizes.md has the rule of each
// operator. For one run of the node; unknown where a shape or a rule is
// missing.
Dim CountFlops(const NodeView& node);

// ---- Sizes that the shapes of the results and the cost of a node both need.

// The sizes of an attention.
struct AttentionSizes {
  Dim batch;
  Dim heads;      // of the query
  Dim key_heads;  // of keys and values
  Dim length;     // of the query
  Dim total;      // keys, those of earlier runs included
  Dim key_size;   // of a head
  Dim value_size;
  bool packed;  // heads and sizes are one axis
};

// Nothing where the inputs are unknown.
std::optional<AttentionSizes> AttentionSizesOf(const NodeView& node);

// An Einsum's equation: of each operand and of the result a letter for each
// axis.
struct EinsumTerms {
  static constexpr char kEllipsis = '.';  // stands for "...", once in a term

  std::vector<std::string> operands;
  std::string result;
};

// Nothing where it is no equation.
std::optional<EinsumTerms> ReadEinsum(std::string_view equation);

// The sizes of an Einsum's letters.
struct EinsumSizes {
  Shape result;
  Dim volume;  // the product of the sizes of all letters
};

// Nothing where an input is unknown or the equation is none.
std::optional<EinsumSizes> EinsumSizesOf(const NodeView& node);

}  // namespace onnx_tag::sizes
