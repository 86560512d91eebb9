// The module map of a model, recorded from the PyTorch model (--hierarchy). It
// contains facts, while names in a file are only evidence.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onnx_tag/hierarchy.h"
#include "onnx_tag/ids.h"

namespace onnx_tag {

using WeightShape = std::vector<std::int64_t>;

// Shapes of weights as they can be compared with recorded ones: exporters
// transpose matrices,
WeightShape Sorted(std::span<const std::int64_t> dims);
// and they drop or add axes of size 1.
WeightShape WithoutOnes(WeightShape shape);

// Optional facts about a module besides its path and class.
struct RecordedModule {
  std::vector<std::string> parameters;  // its own, by attribute
  // Their shapes, in the same order; empty if not recorded.
  std::vector<WeightShape> shapes;
  std::string shared_with;  // the first path of the same object
  bool listed = false;      // false: only part of the path of another module
  bool container = false;   // has submodules and no forward
  bool has_table = false;   // a buffer of several numbers
  bool foreign = false;     // its class is not one of torch.nn
};

// One call of a module.
struct ModuleCall {
  ModuleId module;
  ModuleId caller;  // kNo: none
};

struct ModuleMap {
  std::string name;                            // of the file, for messages
  ModuleTree tree;                             // paths and classes
  IdVector<ModuleId, RecordedModule> modules;  // by module of `tree`
  // Whether the map lists every module. The sidecars of other tools list only
  // the modules that were called, and often not those of torch.nn.
  bool complete = true;
  bool has_parameters = false;  // of some modules
  // In the order in which they began: as recorded, or each module's first call.
  // Empty if the model was not run.
  std::vector<ModuleCall> calls;

  // Whether the module may have a tensor of its own. False only if the map
  // lists the parameters of modules, and none here.
  bool MayOwnTensors(ModuleId id) const;

  // Whether the module only contains modules, so that operations between them
  // belong to its parent. A Sequential calls its children and does nothing
  // else.
  bool OnlyHolds(ModuleId id) const;
};

// Reads
//   - the project's recordings, and the bare {"modules": {"a.b": "Class"}};
//   - the sidecars of ModelInsider and winml-cli: `modules` (once `hierarchy`)
//     with `class_name`, flat by path or nested in `children` with `scope`.
// Throws Error(kUsage) with line, column, what is wrong and what to do.
ModuleMap ReadModuleMap(std::string_view json);

}  // namespace onnx_tag
