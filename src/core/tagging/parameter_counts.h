// Counts the parameters of each module: the elements of its weights, computed
// from their shapes.
#ifndef ONNX_TAG_CORE_TAGGING_PARAMETER_COUNTS_H_
#define ONNX_TAG_CORE_TAGGING_PARAMETER_COUNTS_H_

#include <cstdint>
#include <string>
#include <unordered_map>

#include "core/tagging/call_modules.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag {

struct ParameterCounts {
  IdVector<ModuleId, std::uint64_t> own;
  std::uint64_t unplaced = 0;  // of weights that no tagged node reads
  std::uint64_t all = 0;

  // The sums over each module and its submodules.
  IdVector<ModuleId, std::uint64_t> Totals(const ModuleTree& tree) const;
};

// A weight belongs to the module in its name, else to the module of the first
// node that reads it. Each weight counts once. Sums stop at kOver.
ParameterCounts CountParameters(const Model& model, const Tagging& tagging);

// The modules of weights. `model` and `tagging` must outlive it.
class WeightOwners {
 public:
  WeightOwners(const Model& model, const Tagging& tagging);

  // The module that the weight's name says, else that of the first tagged node
  // that reads it, else kNo. If that node calls a function, the part of this
  // call's module that reads the weight: tags in a body name the modules of
  // the function's first call.
  ModuleId Of(ValueId weight) const;

 private:
  std::string InsideCall(NodeId call, ValueId weight, std::string path,
                         int depth) const;

  const Model& model_;
  const Tagging& tagging_;
  const CallModules calls_;
  // The first place of a value among the inputs of a call.
  std::unordered_map<std::uint64_t, std::size_t> places_;
};

}  // namespace onnx_tag

#endif  // ONNX_TAG_CORE_TAGGING_PARAMETER_COUNTS_H_
