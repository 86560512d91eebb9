// What a model's modules cost: parameters, bytes by type, operations, what they
// write; as formulas, and as numbers for some dimensions.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "file/model/element_types.h"
#include "onnx_tag/tagging.h"
#include "uses/sizes/assumptions.h"
#include "uses/sizes/shapes.h"

namespace onnx_tag::sizes {

struct Weight {
  ValueId value;
  ModuleId module;  // kNo: no tagged node reads it
  std::int32_t data_type;
  std::uint64_t elements;
  std::uint64_t bytes;
};

using BytesByType = std::map<std::string_view, std::uint64_t>;

using onnx_tag::CappedSum;
using onnx_tag::kOver;

// A size as a count, kOver at most; nothing if it is unknown.
inline std::optional<std::uint64_t> CountOf(Dim size) {
  if (size.IsOver()) return kOver;
  if (!size.IsNumber() || size.number() < 0) return std::nullopt;
  return static_cast<std::uint64_t>(size.number());
}

struct Sums {
  std::uint64_t parameters = 0;
  std::uint64_t bytes = 0;
  std::uint64_t flops = 0;
  std::uint64_t unknown_flops = 0;  // nodes whose count is unknown
  std::uint64_t written = 0;        // bytes of results

  Sums& operator+=(const Sums& other);
};

// A node without a count is left out; `Sums` says how many there are.
struct FormulaSums {
  Dim flops = 0;
  Dim written = 0;
};

struct ModelSizes {
  std::vector<Weight> weights;
  IdVector<NodeId, Dim> flops;   // a number, over 2^63, or unknown
  IdVector<ModuleId, Sums> own;  // by module
  Sums untagged;
  Sums all;
  BytesByType bytes_by_type;
  std::string dimensions;  // "sequence=512 and assumed batch=1": the numbers
                           // are for these

  // Adds up what is below each module.
  IdVector<ModuleId, Sums> Totals(const ModuleTree& tree) const;
};

struct ModelFormulas {
  IdVector<ModuleId, FormulaSums> own;
  IdVector<ModuleId, FormulaSums> totals;
  FormulaSums untagged;
  FormulaSums all;
};

// What a model's costs are the sum of: a node in a module that runs it, or a
// weight in its module, with the first node that reads it.
struct Cost {
  NodeId node;      // kNo: nobody reads the weight
  ModuleId module;  // kNo: none
  Sums sums;
};
void ForEachCost(const Model& model, const Tagging& tagging, Shapes& shapes,
                 const Assumptions& assumptions,
                 const std::vector<Weight>& weights,
                 const std::function<void(const Cost&)>& use);

// Nodes of a function's body cost something in the modules of each call.
ModelSizes CountSizes(const Model& model, const Tagging& tagging,
                      Shapes& shapes, const Assumptions& assumptions);

ModelFormulas SumFormulas(const Model& model, const Tagging& tagging,
                          Shapes& shapes);

}  // namespace onnx_tag::sizes
