#include "sizes/module_sizes.h"

#include "graph/constant_weights.h"
#include "model/element_count.h"
#include "sizes/element_types.h"
#include "sizes/flops.h"
#include "tagging/weight_owner.h"

namespace onnx_tag::sizes {

Sums& Sums::operator+=(const Sums& other) {
  parameters += other.parameters;
  bytes += other.bytes;
  flops += other.flops;
  unknown_flops += other.unknown_flops;
  return *this;
}

IdVector<ModuleId, Sums> ModelSizes::Totals(const ModuleTree& tree) const {
  IdVector<ModuleId, Sums> totals = own;
  // A module's id is greater than its parent's.
  for (std::size_t i = tree.size(); i-- > 1;) {
    const ModuleId id = MakeId<ModuleId>(i);
    totals[tree.Parent(id)] += totals[id];
  }
  return totals;
}

ModelSizes CountSizes(const Model& model, const Tagging& tagging,
                      const Shapes& shapes) {
  ModelSizes sizes;
  sizes.own.resize(tagging.modules.size());
  sizes.flops = CountFlops(model, shapes);
  const auto place = [&](ModuleId module) -> Sums& {
    return module == kNo<ModuleId> ? sizes.untagged : sizes.own[module];
  };
  const auto add = [&](ValueId value, std::int32_t data_type,
                       std::uint64_t elements) {
    if (elements == 0) return;
    const std::uint64_t bytes = CountBytes(elements, data_type);
    const ModuleId module = OwnerOf(model, tagging, value);
    sizes.weights.push_back({value, module, data_type, elements, bytes});
    place(module) += {.parameters = elements, .bytes = bytes};
    if (bytes > 0) sizes.bytes_by_type[TypeName(data_type)] += bytes;
  };
  for (const Initializer& tensor : model.initializers()) {
    add(tensor.value, tensor.data_type, CountElements(model.Dims(tensor)));
  }
  for (const ConstantWeight& tensor : FindConstantWeights(model)) {
    add(tensor.value, tensor.data_type, tensor.elements);
  }
  for (const NodeId node : model.Nodes()) {
    const std::int64_t flops = sizes.flops[node];
    Sums& sums = place(tagging.tags[node].module);
    if (flops == kUnknownFlops) {
      ++sums.unknown_flops;
    } else {
      sums.flops += static_cast<std::uint64_t>(flops);
    }
  }
  sizes.all = sizes.untagged;
  for (const Sums& sums : sizes.own) sizes.all += sums;
  return sizes;
}

}  // namespace onnx_tag::sizes
