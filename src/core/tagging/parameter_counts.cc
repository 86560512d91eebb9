#include "core/tagging/parameter_counts.h"

#include <string_view>

#include "core/graph/constant_weights.h"
#include "core/hierarchy/roll_up.h"
#include "file/model/tensor_data.h"

namespace onnx_tag {

IdVector<ModuleId, std::uint64_t> ParameterCounts::Totals(
    const ModuleTree& tree) const {
  IdVector<ModuleId, std::uint64_t> totals = own;
  totals.resize(tree.size());
  RollUp(tree, totals);
  return totals;
}

ParameterCounts CountParameters(const Model& model, const Tagging& tagging) {
  ParameterCounts counts;
  counts.own.resize(tagging.modules.size());
  const auto add = [&](ValueId weight, std::uint64_t elements) {
    if (elements == 0) return;
    counts.all += elements;
    const ModuleId owner = OwnerOf(model, tagging, weight);
    (owner == kNo<ModuleId> ? counts.unplaced : counts.own[owner]) += elements;
  };
  for (const Initializer& weight : model.initializers()) {
    add(weight.value, CountElements(model.Dims(weight)));
  }
  for (const ConstantWeight& weight : FindConstantWeights(model)) {
    add(weight.value, weight.elements);
  }
  return counts;
}

namespace {

// "encoder.layer.0.weight" is of encoder.layer.0 where that is a module.
ModuleId ByName(const ModuleTree& tree, std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? kNo<ModuleId>
                                       : tree.Find(name.substr(0, dot));
}

ModuleId ByReader(const Model& model, const Tagging& tagging, ValueId value) {
  for (const NodeId reader : model.Consumers(value)) {
    const Tag& tag = tagging.tags[reader];
    if (tag.tagged()) return tag.module;
  }
  return kNo<ModuleId>;
}

}  // namespace

ModuleId OwnerOf(const Model& model, const Tagging& tagging, ValueId weight) {
  const ModuleId named = ByName(tagging.modules, model.ValueName(weight));
  return named != kNo<ModuleId> ? named : ByReader(model, tagging, weight);
}

}  // namespace onnx_tag
