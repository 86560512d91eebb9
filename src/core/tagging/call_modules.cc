#include "core/tagging/call_modules.h"

#include <utility>

namespace onnx_tag {

std::string CallModules::PathIn(FunctionId function, std::string call,
                                ModuleId module) const {
  const NodeId first = calls_.FirstCall(function);
  if (first == kNo<NodeId> || !tagging_.tags[first].tagged()) return call;
  const ModuleTree& tree = tagging_.modules;
  const std::string around = tree.Path(tagging_.tags[first].module);
  const std::string inside = tree.Path(module);
  if (around.empty() && !inside.empty()) {
    call += (call.empty() ? "" : ".") + inside;
  } else if (inside.size() > around.size() && inside.starts_with(around) &&
             inside[around.size()] == '.') {
    call += inside.substr(around.size());
  }
  return call;
}

ModuleId CallModules::In(FunctionId function, ModuleId call,
                         ModuleId module) const {
  if (call == kNo<ModuleId> || module == kNo<ModuleId>) return module;
  const NodeId first = calls_.FirstCall(function);
  if (first == kNo<NodeId> || tagging_.tags[first].module == call) {
    return module;
  }
  return Nearest(PathIn(function, tagging_.modules.Path(call), module));
}

ModuleId CallModules::Nearest(std::string path) const {
  const ModuleTree& tree = tagging_.modules;
  while (tree.Find(path) == kNo<ModuleId>) {
    const std::size_t dot = path.rfind('.');
    path.resize(dot == std::string::npos ? 0 : dot);
  }
  return tree.Find(path);
}

}  // namespace onnx_tag
