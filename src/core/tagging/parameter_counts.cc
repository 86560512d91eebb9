#include "core/tagging/parameter_counts.h"

#include <algorithm>
#include <string_view>
#include <utility>

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
  const WeightOwners owners(model, tagging);
  const auto add = [&](ValueId weight, std::uint64_t elements) {
    if (elements == 0) return;
    counts.all += elements;
    const ModuleId owner = owners.Of(weight);
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

// The first tagged node that reads the value; kNo if there is none.
NodeId FirstReader(const Model& model, const Tagging& tagging, ValueId value) {
  for (const NodeId reader : model.Consumers(value)) {
    if (tagging.tags[reader].tagged()) return reader;
  }
  return kNo<NodeId>;
}

// Functions may call each other in a circle.
constexpr int kMostCalls = 64;

}  // namespace

WeightOwners::WeightOwners(const Model& model, const Tagging& tagging)
    : model_(model), tagging_(tagging), calls_(model) {
  for (const FunctionCalls::Call& call : calls_.calls()) {
    called_.emplace(call.node, call.function);
  }
}

ModuleId WeightOwners::Of(ValueId weight) const {
  const ModuleTree& tree = tagging_.modules;
  const ModuleId named = ByName(tree, model_.ValueName(weight));
  if (named != kNo<ModuleId>) return named;
  const NodeId reader = FirstReader(model_, tagging_, weight);
  if (reader == kNo<NodeId>) return kNo<ModuleId>;
  const ModuleId module = tagging_.tags[reader].module;
  if (!called_.contains(reader)) return module;
  std::string path = InsideCall(reader, weight, tree.Path(module), 0);
  while (tree.Find(path) == kNo<ModuleId>) {
    const std::size_t dot = path.rfind('.');
    path.resize(dot == std::string::npos ? 0 : dot);
  }
  return tree.Find(path);
}

// `path`: the module of the call.
std::string WeightOwners::InsideCall(NodeId call, ValueId weight,
                                     std::string path, int depth) const {
  const auto called = called_.find(call);
  if (called == called_.end() || depth > kMostCalls) return path;
  const std::vector<ValueId>& formals =
      model_[model_.functions()[Index(called->second)].body].inputs;
  const auto inputs = model_.Inputs(call);
  const auto place = static_cast<std::size_t>(
      std::find(inputs.begin(), inputs.end(), weight) - inputs.begin());
  if (place >= formals.size() || formals[place] == kNo<ValueId>) return path;
  const NodeId reader = FirstReader(model_, tagging_, formals[place]);
  const NodeId first = calls_.FirstCall(called->second);
  if (reader == kNo<NodeId> || first == kNo<NodeId> ||
      !tagging_.tags[first].tagged()) {
    return path;
  }
  const ModuleTree& tree = tagging_.modules;
  const std::string around = tree.Path(tagging_.tags[first].module);
  const std::string inside = tree.Path(tagging_.tags[reader].module);
  if (around.empty() && !inside.empty()) {
    path += (path.empty() ? "" : ".") + inside;
  } else if (inside.size() > around.size() && inside.starts_with(around) &&
             inside[around.size()] == '.') {
    path += inside.substr(around.size());
  }
  return InsideCall(reader, formals[place], std::move(path), depth + 1);
}

}  // namespace onnx_tag
