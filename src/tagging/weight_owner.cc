#include "tagging/weight_owner.h"

#include <string_view>

namespace onnx_tag {
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
