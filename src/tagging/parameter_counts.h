// How many parameters each module has: elements of its weights, by their
// shapes alone.
#ifndef ONNX_TAG_TAGGING_PARAMETER_COUNTS_H_
#define ONNX_TAG_TAGGING_PARAMETER_COUNTS_H_

#include <cstdint>

#include "onnx_tag/tagging.h"

namespace onnx_tag {

struct ParameterCounts {
  IdVector<ModuleId, std::uint64_t> own;
  std::uint64_t unplaced = 0;  // of weights that no tagged node reads
  std::uint64_t all = 0;

  // Adds up what is below each module.
  IdVector<ModuleId, std::uint64_t> Totals(const ModuleTree& tree) const;
};

// A weight belongs to the module its name says, else to that of the first node
// that reads it; each is counted once. Shapes nobody can have count as nothing.
ParameterCounts CountParameters(const Model& model, const Tagging& tagging);

}  // namespace onnx_tag

#endif  // ONNX_TAG_TAGGING_PARAMETER_COUNTS_H_
