// The modules of weights, and the number of parameters of each module: the
// elements of its weights, computed from their shapes.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "core/graph/function_calls.h"
#include "onnx_tag/model.h"
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

// The modules of a local function's body for each of its calls: tags in it name
// those of the first call. `model` and `tagging` must outlive it.
class CallModules {
 public:
  CallModules(const Model& model, const Tagging& tagging)
      : tagging_(tagging), calls_(model) {}

  const FunctionCalls& calls() const { return calls_; }

  // The path of a body's module where the module `call` calls the function.
  std::string PathIn(FunctionId function, std::string call,
                     ModuleId module) const;
  // The same, or the nearest module around it that the tree has. kNo for
  // `call`: the module as it is tagged.
  ModuleId In(FunctionId function, ModuleId call, ModuleId module) const;
  // The module with this path, or the nearest around it.
  ModuleId Nearest(std::string path) const;

 private:
  const Tagging& tagging_;
  const FunctionCalls calls_;
};

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
