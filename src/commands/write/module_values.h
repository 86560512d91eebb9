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

  // Where the nodes of the module and of those below it are. Only values of the
  // main graph can be graph outputs.
  struct Places {
    bool main = false;
    bool subgraph = false;
    bool function = false;
  };
  const Places& PlacesOf(ModuleId id) const { return places_[id]; }

 private:
  using Lists = IdVector<ModuleId, std::vector<ValueId>>;
  void FindPlaces();
  void FindOutputs();
  void FindInputs();
  void PreferData(Lists& lists) const;
  ModuleId ModuleOf(NodeId node) const;

  const Model& model_;
  const Tagging& tagging_;
  Lists outputs_;
  Lists inputs_;
  IdVector<ModuleId, Places> places_;
};

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_WRITE_MODULE_VALUES_H_
