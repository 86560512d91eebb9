#include "commands/write/module_values.h"

#include <algorithm>
#include <utility>

#include "edit/part.h"
#include "graph/data_values.h"

namespace onnx_tag {

ModuleValues::ModuleValues(const Model& model, const Tagging& tagging)
    : model_(model),
      tagging_(tagging),
      outputs_(tagging.modules.size()),
      inputs_(tagging.modules.size()),
      places_(tagging.modules.size()) {
  FindPlaces();
  FindOutputs();
  FindInputs();
  PreferData(outputs_);
  PreferData(inputs_);
}

void ModuleValues::FindPlaces() {
  for (const NodeId node : model_.Nodes()) {
    if (!tagging_.tags[node].tagged()) continue;
    Places& places = places_[tagging_.tags[node].module];
    const Graph* graph = &model_[model_[node].graph];
    bool inside = false;
    while (graph->kind == GraphKind::kSubgraph) {
      inside = true;
      graph = &model_[graph->parent];
    }
    places.function |= graph->kind == GraphKind::kFunction;
    places.subgraph |= inside;
    places.main |= graph->kind == GraphKind::kMain && !inside;
  }
  // A module's id is greater than its parent's.
  for (std::size_t i = places_.size(); i-- > 1;) {
    const auto id = MakeId<ModuleId>(i);
    Places& around = places_[tagging_.modules.Parent(id)];
    around.main |= places_[id].main;
    around.subgraph |= places_[id].subgraph;
    around.function |= places_[id].function;
  }
}

ModuleId ModuleValues::ModuleOf(NodeId node) const {
  return tagging_.tags[node].tagged() ? tagging_.tags[node].module
                                      : ModuleTree::kRoot;
}

// A value leaves every module from its maker's up to the first that holds all
// of its readers, too.
void ModuleValues::FindOutputs() {
  const ModuleTree& tree = tagging_.modules;
  for (const NodeId node : model_[GraphId{0}].nodes) {
    if (!tagging_.tags[node].tagged()) continue;
    const ModuleId maker = tagging_.tags[node].module;
    for (const ValueId value : model_.Outputs(node)) {
      if (value == kNo<ValueId>) continue;
      ModuleId around = maker;
      for (const NodeId reader : model_.Consumers(value)) {
        around = tree.CommonAncestor(around, ModuleOf(reader));
      }
      const bool returned = model_[value].is_output;
      for (ModuleId id = maker; id != kNo<ModuleId>; id = tree.Parent(id)) {
        if (!returned && tree.Depth(id) <= tree.Depth(around)) break;
        outputs_[id].push_back(value);
      }
    }
  }
}

void ModuleValues::FindInputs() {
  const ModuleTree& tree = tagging_.modules;
  for (const NodeId node : model_[GraphId{0}].nodes) {
    if (!tagging_.tags[node].tagged()) continue;
    const ModuleId reader = tagging_.tags[node].module;
    for (const ValueId value : edit::ReadsOf(model_, node)) {
      if (model_.InitializerOf(value) != nullptr) continue;
      const NodeId maker = model_.Producer(value);
      const ModuleId around =
          maker == kNo<NodeId> ? ModuleTree::kRoot
                               : tree.CommonAncestor(reader, ModuleOf(maker));
      for (ModuleId id = reader; tree.Depth(id) > tree.Depth(around);
           id = tree.Parent(id)) {
        inputs_[id].push_back(value);
      }
    }
  }
  // Each once, where it is first read. A module may have as many inputs as the
  // file has nodes: they are marked, not searched.
  IdVector<ValueId, ModuleId> listed(model_.value_count(), kNo<ModuleId>);
  for (const ModuleId id : AllIds<ModuleId>(inputs_.size())) {
    std::erase_if(inputs_[id], [&](ValueId value) {
      return std::exchange(listed[value], id) == id;
    });
  }
}

void ModuleValues::PreferData(Lists& lists) const {
  const DataValues data(model_);
  for (std::vector<ValueId>& list : lists) {
    const auto is_data = [&](ValueId value) { return data.Contains(value); };
    if (std::none_of(list.begin(), list.end(), is_data)) continue;
    list.erase(std::remove_if(list.begin(), list.end(),
                              [&](ValueId value) { return !is_data(value); }),
               list.end());
  }
}

}  // namespace onnx_tag
