// The modules of a model as somebody recorded them who had the model: facts,
// where names are only evidence. The file given with --hierarchy.
#ifndef ONNX_TAG_HIERARCHY_MODULE_MAP_H_
#define ONNX_TAG_HIERARCHY_MODULE_MAP_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "onnx_tag/hierarchy.h"

namespace onnx_tag {

// What a recording may say of a module beside its path and class.
struct RecordedModule {
  std::string qualified;                // "transformers...BertLayer"
  std::vector<std::string> parameters;  // its own, by attribute
  std::uint32_t calls = 0;
  bool calls_known = false;
  bool listed = false;     // false: only implied by a path below it
  bool container = false;  // holds modules and runs nothing
};

struct ModuleMap {
  std::string name;                            // of the file, for messages
  ModuleTree tree;                             // paths and classes
  IdVector<ModuleId, RecordedModule> modules;  // by module of `tree`
  // Whether every module is in it. The sidecars of other tools list what was
  // called, and often without the classes of torch.nn.
  bool complete = true;

  // Whether it only holds modules: what happens between them is the doing of
  // the module around. A Sequential calls what it holds, and does no more.
  bool OnlyHolds(ModuleId id) const;
};

// Reads
//   - the project's recordings, and the bare {"modules": {"a.b": "Class"}};
//   - the sidecars of ModelInsider and winml-cli: `modules` (once `hierarchy`)
//     with `class_name`, flat by path or nested in `children` with `scope`.
// Throws Error(kUsage) that says line, column, what is wrong and what to do.
ModuleMap ReadModuleMap(std::string_view json);

}  // namespace onnx_tag

#endif  // ONNX_TAG_HIERARCHY_MODULE_MAP_H_
