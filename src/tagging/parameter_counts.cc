#include "tagging/parameter_counts.h"

#include "graph/constant_weights.h"
#include "model/element_count.h"
#include "tagging/weight_owner.h"

namespace onnx_tag {

IdVector<ModuleId, std::uint64_t> ParameterCounts::Totals(
    const ModuleTree& tree) const {
  IdVector<ModuleId, std::uint64_t> totals = own;
  totals.resize(tree.size());
  // A module's id is greater than its parent's.
  for (std::size_t i = tree.size(); i-- > 1;) {
    const ModuleId id = MakeId<ModuleId>(i);
    totals[tree.Parent(id)] += totals[id];
  }
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

}  // namespace onnx_tag
