// What goes into each module and what comes out of it: values of the main
// graph that cross the module's border.
#ifndef ONNX_TAG_COMMANDS_WRITE_MODULE_VALUES_H_
#define ONNX_TAG_COMMANDS_WRITE_MODULE_VALUES_H_

#include <vector>

#include "onnx_tag/tagging.h"

namespace onnx_tag {

class ModuleValues {
 public:
  // Takes time in edges and the depth of the module tree.
  ModuleValues(const Model& model, const Tagging& tagging);

  // In the order in which they are made, or first read. Shapes and masks are
  // left out where the module has other values.
  const std::vector<ValueId>& Outputs(ModuleId id) const {
    return outputs_[id];
  }
  const std::vector<ValueId>& Inputs(ModuleId id) const { return inputs_[id]; }

  // Whether a node of the main graph is in the module or below it. Values of
  // subgraphs and functions cannot be graph outputs.
  bool IsInMain(ModuleId id) const { return in_main_[Index(id)]; }
  bool IsAnywhere(ModuleId id) const { return anywhere_[Index(id)]; }

 private:
  using Lists = IdVector<ModuleId, std::vector<ValueId>>;
  void FindOutputs();
  void FindInputs();
  void PreferData(Lists& lists) const;
  ModuleId ModuleOf(NodeId node) const;

  const Model& model_;
  const Tagging& tagging_;
  Lists outputs_;
  Lists inputs_;
  std::vector<bool> in_main_;
  std::vector<bool> anywhere_;
};

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_WRITE_MODULE_VALUES_H_
