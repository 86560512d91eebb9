#include "tagging/parameter_counts.h"

#include <span>

namespace onnx_tag {
namespace {

// Larger than any memory. A larger shape is an error or an attack.
constexpr std::uint64_t kMost = std::uint64_t{1} << 48;

std::uint64_t Elements(std::span<const std::int64_t> dims) {
  std::uint64_t count = 1;
  for (const std::int64_t dim : dims) {
    if (dim < 0) return 0;
    const auto size = static_cast<std::uint64_t>(dim);
    if (size != 0 && count > kMost / size) return 0;
    count *= size;
  }
  return count;
}

// "encoder.layer.0.weight" belongs to encoder.layer.0 if that is a module.
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
    const std::uint64_t elements = Elements(model.Dims(weight));
    if (elements == 0) continue;
    counts.all += elements;
    ModuleId owner = ByName(tagging.modules, model.ValueName(weight.value));
    if (owner == kNo<ModuleId>) owner = ByReader(model, tagging, weight.value);
    (owner == kNo<ModuleId> ? counts.unplaced : counts.own[owner]) += elements;
  }
  return counts;
}

}  // namespace onnx_tag
