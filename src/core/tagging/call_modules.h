// The modules of a local function's body for each of its calls.
#ifndef ONNX_TAG_CORE_TAGGING_CALL_MODULES_H_
#define ONNX_TAG_CORE_TAGGING_CALL_MODULES_H_

#include <string>

#include "core/graph/function_calls.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag {

// Tags in a body name the modules of the function's first call. `model` and
// `tagging` must outlive it.
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

}  // namespace onnx_tag

#endif  // ONNX_TAG_CORE_TAGGING_CALL_MODULES_H_
