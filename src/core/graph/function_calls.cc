#include "core/graph/function_calls.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "file/model/field_kinds.h"
#include "file/model/onnx_fields.h"

namespace onnx_tag {
namespace {

std::string_view WithoutDefaultDomain(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view() : domain;
}

}  // namespace

FunctionCalls::FunctionCalls(const Model& model) {
  if (model.functions().empty()) return;
  FindOwners(model);
  FindCalls(model);
  SortByCaller(model);
}

void FunctionCalls::FindOwners(const Model& model) {
  owner_.resize(model.graph_count(), kNo<FunctionId>);
  bodies_.resize(model.functions().size());
  first_call_.resize(model.functions().size(), kNo<NodeId>);
  // A graph is read before the graphs inside it.
  for (const GraphId graph : model.Graphs()) {
    if (model[graph].kind == GraphKind::kFunction) {
      owner_[graph] = MakeId<FunctionId>(model[graph].function);
    } else if (model[graph].kind == GraphKind::kSubgraph) {
      owner_[graph] = owner_[model[graph].parent];
    }
  }
  for (const NodeId node : model.Nodes()) {
    const FunctionId owner = owner_[model[node].graph];
    if (owner != kNo<FunctionId>) bodies_[owner].push_back(node);
  }
}

void FunctionCalls::FindCalls(const Model& model) {
  // Of equal ones the first is called.
  using Key = std::tuple<std::string_view, std::string_view, std::string_view>;
  std::map<Key, FunctionId> by_name;
  std::set<std::pair<std::string_view, std::string_view>> names;
  for (std::size_t i = 0; i < size(); ++i) {
    const Function& function = model.functions()[i];
    const std::string_view domain = WithoutDefaultDomain(function.domain);
    by_name.emplace(Key(domain, function.name, function.overload),
                    MakeId<FunctionId>(i));
    names.emplace(domain, function.name);
  }
  for (const NodeId node : model.Nodes()) {
    if (!names.contains({model.Domain(node), model.OpType(node)})) continue;
    // The model leaves overloads out: only calls need them.
    const std::string_view overload =
        model::LastOf(model.NodeBytes(node), onnx::NodeProto::kOverload);
    const auto found =
        by_name.find({model.Domain(node), model.OpType(node), overload});
    if (found == by_name.end()) continue;
    const FunctionId function = found->second;
    calls_.push_back({.node = node, .function = function});
    // A call from inside explains nothing.
    NodeId& first = first_call_[function];
    if (first == kNo<NodeId> && owner_[model[node].graph] != function) {
      first = node;
    }
  }
}

FunctionId FunctionCalls::Of(NodeId node) const {
  const auto at = std::lower_bound(
      calls_.begin(), calls_.end(), node,
      [](const Call& call, NodeId wanted) { return call.node < wanted; });
  return at == calls_.end() || at->node != node ? kNo<FunctionId>
                                                : at->function;
}

void FunctionCalls::SortByCaller(const Model& model) {
  enum class State : std::uint8_t { kOpen, kOnTheWay, kDone };
  IdVector<FunctionId, State> state(size(), State::kOpen);
  std::vector<FunctionId> way;
  for (const FunctionId start : AllIds<FunctionId>(size())) {
    // Up to the main graph, or to a function whose place is known. Each
    // function has one first caller, so all ways together are linear.
    FunctionId at = start;
    while (at != kNo<FunctionId> && state[at] == State::kOpen &&
           first_call_[at] != kNo<NodeId>) {
      state[at] = State::kOnTheWay;
      way.push_back(at);
      at = owner_[model[first_call_[at]].graph];
    }
    const bool rooted = at == kNo<FunctionId> || state[at] == State::kDone;
    for (; !way.empty(); way.pop_back()) {
      if (!rooted) continue;
      state[way.back()] = State::kDone;
      order_.push_back(way.back());
    }
  }
}

}  // namespace onnx_tag
