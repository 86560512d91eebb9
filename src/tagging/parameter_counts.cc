#include "tagging/parameter_counts.h"

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
  for (const Initializer& weight : model.initializers()) {
    const std::uint64_t elements = CountElements(model.Dims(weight));
    if (elements == 0) continue;
    counts.all += elements;
    const ModuleId owner = OwnerOf(model, tagging, weight.value);
    (owner == kNo<ModuleId> ? counts.unplaced : counts.own[owner]) += elements;
  }
  return counts;
}

}  // namespace onnx_tag
