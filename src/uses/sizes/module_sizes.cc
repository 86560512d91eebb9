#include "uses/sizes/module_sizes.h"

#include "core/graph/constant_weights.h"
#include "core/hierarchy/roll_up.h"
#include "core/tagging/parameter_counts.h"
#include "file/model/element_types.h"
#include "file/model/tensor_data.h"

namespace onnx_tag::sizes {
namespace {

// Adds a number to a sum, or counts it as unknown.
void AddTo(std::uint64_t& sum, std::uint64_t& unknown, Dim number) {
  if (!number.known() || (number.IsNumber() && number.number() < 0)) {
    ++unknown;
  } else {
    sum = CappedSum(sum, number.IsOver()
                             ? kOver
                             : static_cast<std::uint64_t>(number.number()));
  }
}

}  // namespace

Sums& Sums::operator+=(const Sums& other) {
  parameters = CappedSum(parameters, other.parameters);
  bytes = CappedSum(bytes, other.bytes);
  flops = CappedSum(flops, other.flops);
  unknown_flops += other.unknown_flops;
  written = CappedSum(written, other.written);
  unknown_written += other.unknown_written;
  return *this;
}

IdVector<ModuleId, Sums> ModelSizes::Totals(const ModuleTree& tree) const {
  IdVector<ModuleId, Sums> totals = own;
  RollUp(tree, totals);
  return totals;
}

ModelSizes CountSizes(const Model& model, const Tagging& tagging,
                      const Shapes& shapes, const Assumptions& assumptions) {
  const Evaluation& numbers = assumptions.numbers();
  ModelSizes sizes;
  sizes.dimensions = assumptions.Text();
  sizes.own.resize(tagging.modules.size());
  sizes.flops.resize(model.node_count());
  const WeightOwners owners(model, tagging);
  const auto place = [&](ModuleId module) -> Sums& {
    return module == kNo<ModuleId> ? sizes.untagged : sizes.own[module];
  };
  const auto add = [&](ValueId value, std::int32_t data_type,
                       std::uint64_t elements) {
    if (elements == 0) return;
    const std::uint64_t bytes = CountBytes(elements, data_type);
    const ModuleId module = owners.Of(value);
    sizes.weights.push_back({value, module, data_type, elements, bytes});
    place(module) += {.parameters = elements, .bytes = bytes};
    if (bytes == 0) return;
    std::uint64_t& sum = sizes.bytes_by_type[TypeName(data_type)];
    sum = CappedSum(sum, bytes);
  };
  for (const Initializer& tensor : model.initializers()) {
    add(tensor.value, tensor.data_type, CountElements(model.Dims(tensor)));
  }
  for (const ConstantWeight& tensor : FindConstantWeights(model)) {
    add(tensor.value, tensor.data_type, tensor.elements);
  }
  for (const NodeId node : model.Nodes()) {
    Sums& sums = place(tagging.tags[node].module);
    sizes.flops[node] = numbers(shapes.Flops(node));
    AddTo(sums.flops, sums.unknown_flops, sizes.flops[node]);
    AddTo(sums.written, sums.unknown_written, numbers(shapes.Written(node)));
  }
  sizes.all = sizes.untagged;
  for (const Sums& sums : sizes.own) sizes.all += sums;
  return sizes;
}

ModelFormulas SumFormulas(const Model& model, const Tagging& tagging,
                          Shapes& shapes) {
  struct Sum {
    FormulaSum flops, written;
  };
  Formulas& formulas = shapes.formulas();
  const ModuleTree& tree = tagging.modules;
  // The last is for nodes without a module.
  std::vector<Sum> sums(tree.size() + 1,
                        {FormulaSum(formulas), FormulaSum(formulas)});
  for (const NodeId node : model.Nodes()) {
    const ModuleId module = tagging.tags[node].module;
    Sum& sum = module == kNo<ModuleId> ? sums.back() : sums[Index(module)];
    if (shapes.Flops(node).known()) sum.flops.Add(shapes.Flops(node));
    if (shapes.Written(node).known()) sum.written.Add(shapes.Written(node));
  }
  ModelFormulas result;
  result.untagged = {sums.back().flops.Total(), sums.back().written.Total()};
  for (std::size_t i = 0; i < tree.size(); ++i) {
    result.own.Add({sums[i].flops.Total(), sums[i].written.Total()});
  }
  const auto add = [&](FormulaSums& to, const FormulaSums& from) {
    to.flops = formulas.Plus(to.flops, from.flops);
    to.written = formulas.Plus(to.written, from.written);
  };
  result.totals = result.own;
  RollUp(tree, result.totals, add);
  result.all = result.untagged;
  if (tree.size() > 0) add(result.all, result.totals[ModuleTree::kRoot]);
  return result;
}

}  // namespace onnx_tag::sizes
