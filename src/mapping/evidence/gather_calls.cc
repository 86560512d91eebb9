// Finds the nodes of the modules in the user's hierarchy, from the order in
// which they were called.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "clues/projection/project.h"
#include "mapping/evidence/evidence.h"
#include "mapping/evidence/file_modules.h"

namespace onnx_tag {
namespace {

class Calls {
 public:
  Calls(const KnownModules& known, const ModuleTree& modules,
        hierarchy::Dialect dialect)
      : known_(known), map_(*known.map), modules_(modules) {
    using hierarchy::Dialect;
    by_caller_ =
        dialect == Dialect::kDynamo || dialect == Dialect::kDynamoStripped;
    for (const ModuleId id : AllIds<ModuleId>(map_.tree.size())) {
      const std::string& first = map_.modules[id].shared_with;
      if (!first.empty()) {
        names_[{map_.tree.Find(first), map_.tree.Parent(id)}] = id;
      }
    }
  }

  std::vector<CalledModule> Make() {
    std::map<ModuleId, std::size_t> last;  // the running call of a module
    for (const ModuleCall& call : map_.calls) {
      CalledModule item;
      const ModuleId name = NameOf(call);
      if (known_.in_file[name] != kNo<ModuleId>) {
        item.module = modules_.Path(known_.in_file[name]);
      }
      item.kind = map_.tree.Class(call.module);
      item.only_calls = map_.OnlyHolds(call.module);
      for (const auto& shape : map_.modules[call.module].shapes) {
        if (!shape.empty()) item.weights.push_back(shape);
      }
      const auto caller = last.find(call.caller);
      if (call.caller != kNo<ModuleId> && caller != last.end()) {
        item.caller = caller->second;
        CalledModule& around = calls_[item.caller];
        // Another one than the next item breaks the turn.
        around.in_turn =
            (around.in_turn || !around.calls_others) &&
            (around.only_calls ||
             map_.tree.Atom(name) == std::to_string(items_[item.caller]++));
        around.calls_others = true;
      }
      last[call.module] = calls_.size();
      calls_.push_back(std::move(item));
    }
    return std::move(calls_);
  }

 private:
  // An object with several names: dynamo uses the name by which it was called,
  // TorchScript the first.
  ModuleId NameOf(const ModuleCall& call) const {
    if (!by_caller_) return call.module;
    const auto name = names_.find({call.module, call.caller});
    return name == names_.end() ? call.module : name->second;
  }

  const KnownModules& known_;
  const ModuleMap& map_;
  const ModuleTree& modules_;
  bool by_caller_ = false;
  // By object and parent: the other names.
  std::map<std::pair<ModuleId, ModuleId>, ModuleId> names_;
  std::vector<CalledModule> calls_;
  std::map<std::size_t, int> items_;  // by call: how many items it has called
};

}  // namespace

Claims GatherCalls(const GraphFacts& graph, const ExporterFacts& exporter,
                   const ScopeFacts& scopes, const ParameterFacts& parameters,
                   const MetadataFacts& metadata, const KnownModules& known,
                   ModuleTree& modules) {
  Claims claims;
  if (known.map == nullptr || known.map->calls.empty()) return claims;
  const std::vector<CalledModule> calls =
      Calls(known, modules, exporter.dialect).Make();
  const FileModules file(graph.model, scopes, parameters, metadata, modules);
  for (const ProjectedNode& node :
       ProjectCalls(graph, calls, file.of_node()).nodes) {
    claims.push_back({node.node, modules.Add(node.module), node.confidence,
                      Source::kHierarchy, node.because});
  }
  return claims;
}

}  // namespace onnx_tag
