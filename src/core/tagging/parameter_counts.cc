#include "core/tagging/parameter_counts.h"

#include <string_view>
#include <utility>

#include "core/graph/constant_weights.h"
#include "core/graph/operators.h"
#include "core/hierarchy/roll_up.h"
#include "file/model/attributes.h"
#include "file/model/element_types.h"
#include "file/model/tensor_data.h"

namespace onnx_tag {

IdVector<ModuleId, std::uint64_t> ParameterCounts::Totals(
    const ModuleTree& tree) const {
  IdVector<ModuleId, std::uint64_t> totals = own;
  totals.resize(tree.size());
  RollUp(tree, totals, [](std::uint64_t& to, std::uint64_t from) {
    to = CappedSum(to, from);
  });
  return totals;
}

ParameterCounts CountParameters(const Model& model, const Tagging& tagging) {
  ParameterCounts counts;
  counts.own.resize(tagging.modules.size());
  const WeightOwners owners(model, tagging);
  const auto add = [&](ValueId weight, std::uint64_t elements) {
    if (elements == 0) return;
    counts.all = CappedSum(counts.all, elements);
    const ModuleId owner = owners.Of(weight);
    std::uint64_t& sum =
        owner == kNo<ModuleId> ? counts.unplaced : counts.own[owner];
    sum = CappedSum(sum, elements);
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

std::uint64_t PairOf(NodeId node, ValueId value) {
  return (static_cast<std::uint64_t>(Index(node)) << 32) | Index(value);
}

// Functions may call each other in a circle.
constexpr int kMostCalls = 64;

}  // namespace

WeightOwners::WeightOwners(const Model& model, const Tagging& tagging)
    : model_(model), tagging_(tagging), calls_(model, tagging) {
  for (const FunctionCalls::Call& call : calls_.calls().calls()) {
    const auto inputs = model.Inputs(call.node);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      places_.emplace(PairOf(call.node, inputs[i]), i);
    }
  }
}

ModuleId WeightOwners::Of(ValueId weight) const {
  const ModuleTree& tree = tagging_.modules;
  const ModuleId named = ByName(tree, model_.ValueName(weight));
  if (named != kNo<ModuleId>) return named;
  const NodeId reader = FirstReader(model_, tagging_, weight);
  if (reader == kNo<NodeId>) return kNo<ModuleId>;
  const ModuleId module = tagging_.tags[reader].module;
  if (calls_.calls().Of(reader) == kNo<FunctionId>) return module;
  return calls_.Nearest(InsideCall(reader, weight, tree.Path(module), 0));
}

// `path`: the module of the call.
std::string WeightOwners::InsideCall(NodeId call, ValueId weight,
                                     std::string path, int depth) const {
  const FunctionId called = calls_.calls().Of(call);
  const auto place = places_.find(PairOf(call, weight));
  if (place == places_.end() || depth > kMostCalls) return path;
  const std::vector<ValueId>& formals =
      model_[model_.functions()[Index(called)].body].inputs;
  if (place->second >= formals.size() ||
      formals[place->second] == kNo<ValueId>) {
    return path;
  }
  const NodeId reader = FirstReader(model_, tagging_, formals[place->second]);
  if (reader == kNo<NodeId>) return path;
  path = calls_.PathIn(called, std::move(path), tagging_.tags[reader].module);
  return InsideCall(reader, formals[place->second], std::move(path), depth + 1);
}

std::string CallModules::PathIn(FunctionId function, std::string call,
                                ModuleId module) const {
  const NodeId first = calls_.FirstCall(function);
  if (first == kNo<NodeId> || !tagging_.tags[first].tagged()) return call;
  const ModuleTree& tree = tagging_.modules;
  const std::string around = tree.Path(tagging_.tags[first].module);
  const std::string inside = tree.Path(module);
  if (around.empty() && !inside.empty()) {
    call += (call.empty() ? "" : ".") + inside;
  } else if (inside.size() > around.size() && inside.starts_with(around) &&
             inside[around.size()] == '.') {
    call += inside.substr(around.size());
  }
  return call;
}

ModuleId CallModules::In(FunctionId function, ModuleId call,
                         ModuleId module) const {
  if (call == kNo<ModuleId> || module == kNo<ModuleId>) return module;
  const NodeId first = calls_.FirstCall(function);
  if (first == kNo<NodeId> || tagging_.tags[first].module == call) {
    return module;
  }
  return Nearest(PathIn(function, tagging_.modules.Path(call), module));
}

ModuleId CallModules::Nearest(std::string path) const {
  const ModuleTree& tree = tagging_.modules;
  while (tree.Find(path) == kNo<ModuleId>) {
    const std::size_t dot = path.rfind('.');
    path.resize(dot == std::string::npos ? 0 : dot);
  }
  return tree.Find(path);
}

}  // namespace onnx_tag
