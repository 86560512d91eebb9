#include "transfer/versions.h"

#include <algorithm>

namespace onnx_tag::transfer {
namespace {

// Which output of its producer a value is.
std::ptrdiff_t OutputOf(const Model& model, ValueId value) {
  const NodeId producer = model.Producer(value);
  if (producer == kNo<NodeId>) return 0;
  const auto outputs = model.Outputs(producer);
  return std::find(outputs.begin(), outputs.end(), value) - outputs.begin();
}

}  // namespace

Versions::Versions(const Model& old_version, const Model& new_version)
    : from(old_version),
      to(new_version),
      from_ops(old_version),
      to_ops(new_version),
      in_to_(old_version.name_count(), kNo<NameId>) {
  for (const NameId name : AllIds<NameId>(from.name_count())) {
    in_to_[name] = to.FindName(from.Name(name));
  }
}

bool Versions::SameOutput(ValueId new_value, ValueId old) const {
  return OutputOf(to, new_value) == OutputOf(from, old);
}

Versions::Shapes Versions::CompareShapes(ValueId new_value, ValueId old) const {
  const Initializer* const a = to.InitializerOf(new_value);
  const Initializer* const b = from.InitializerOf(old);
  if (a == nullptr || b == nullptr) return Shapes::kUnknown;
  const auto dims = to.Dims(*a);
  const auto old_dims = from.Dims(*b);
  return std::equal(dims.begin(), dims.end(), old_dims.begin(), old_dims.end())
             ? Shapes::kSame
             : Shapes::kDifferent;
}

std::string_view LabelOf(const Model& model, GraphId graph) {
  return model[graph].kind == GraphKind::kFunction
             ? model.functions()[model[graph].function].name
             : model[graph].attribute;
}

}  // namespace onnx_tag::transfer
