#include "onnx_tag/transfer.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "tagging/role_index.h"
#include "transfer/operators.h"
#include "transfer/placing.h"

namespace onnx_tag {
namespace {

using transfer::How;
using transfer::Place;

// Subgraphs are paired when the nodes that hold them are, and their names are
// read then.
void FindPairs(transfer::Matching& matching) {
  transfer::PairByNames(matching);
  const transfer::Outline& to = matching.to();
  const transfer::Outline& from = matching.from();
  // Local functions, by name; the main graph is no function.
  std::unordered_map<transfer::TextId, GraphId> functions;
  for (const GraphId old : from.Graphs()) {
    if (old != GraphId{0} && from[old].parent == kNo<NodeId>) {
      functions.emplace(from[old].label, old);
    }
  }
  for (const GraphId graph : to.Graphs()) {
    if (graph == GraphId{0} || to[graph].parent != kNo<NodeId>) continue;
    const auto at = functions.find(to[graph].label);
    if (at == functions.end()) continue;
    matching.PairGraphs(graph, at->second, transfer::Bond::kName);
  }
  do {
    do {
      matching.FollowUpstream();
      for (const auto& [graph, old] : matching.TakeGraphs()) {
        transfer::PairByNames(matching, graph, old);
      }
      matching.FollowDownstream();
    } while (matching.HasGraphs());
  } while (matching.PairCalls());
}

// What a helper of a quantizer is for; else the role of the old node.
Role RoleOf(const Place& place, const Tagging& tags, std::string_view op) {
  Role role;
  if (place.like != kNo<NodeId>) role = tags.roles[tags.tags[place.like].role];
  if (place.how == How::kHelper && transfer::IsQuantizer(op)) {
    role.type = RoleType::kQuantization;
    role.component.clear();
  }
  return role;
}

void CountPlace(const Place& place, TransferCounts& counts) {
  if (place.module == kNo<ModuleId>) {
    ++counts.untagged;
    return;
  }
  switch (place.how) {
    case How::kName:
      ++counts.by_name;
      break;
    case How::kStructure:
      ++counts.by_structure;
      break;
    case How::kFused:
      ++counts.fused;
      break;
    case How::kHelper:
      ++counts.helpers;
      break;
    case How::kNearby:
    case How::kNot:
      ++counts.nearby;
      break;
  }
}

// The calls of local functions, as mapping lists them.
void ListCallSites(const Model& model, Tagging& tagging) {
  if (model.functions().empty()) return;
  std::unordered_map<NameId, std::vector<std::uint32_t>> functions;
  for (std::uint32_t i = 0; i < model.functions().size(); ++i) {
    functions[model.FindName(model.functions()[i].name)].push_back(i);
  }
  for (const NodeId node : model.Nodes()) {
    if (!tagging.tags[node].tagged()) continue;
    const auto at = functions.find(model[node].op_type);
    if (at == functions.end()) continue;
    for (const std::uint32_t function : at->second) {
      if (model.functions()[function].domain != model.Domain(node)) continue;
      tagging.call_sites.push_back({function, node, tagging.tags[node].module});
    }
  }
  std::stable_sort(tagging.call_sites.begin(), tagging.call_sites.end(),
                   [](const CallSite& a, const CallSite& b) {
                     return a.function < b.function;
                   });
}

}  // namespace

Tagging TransferTags(const TransferSource& source, const Model& model,
                     TransferCounts* counts) {
  transfer::Texts texts;
  const transfer::Outline from = source.model != nullptr
                                     ? transfer::Outline(*source.model, texts)
                                     : transfer::Outline(source.nodes, texts);
  const transfer::Outline to(model, texts);
  transfer::Matching matching(from, to, texts);
  FindPairs(matching);
  const transfer::Placing placing(matching, source.tagging);

  Tagging result;
  result.modules = source.tagging.modules;
  result.facts = source.tagging.facts;
  result.root = source.tagging.root;
  result.family_words = source.tagging.family_words;
  result.strategy = source.tagging.strategy;
  result.format = source.tagging.format;
  result.options = source.tagging.options;
  result.dialect = source.tagging.dialect;
  result.origins = placing.origins();
  RoleIndex roles(result);
  result.tags.resize(model.node_count());
  for (const NodeId node : model.Nodes()) {
    const Place& place = placing[node];
    if (counts != nullptr) CountPlace(place, *counts);
    if (place.module == kNo<ModuleId>) continue;
    result.tags[node] = {
        .module = place.module,
        .role = roles.Add(RoleOf(place, source.tagging, model.OpType(node))),
        .confidence = place.confidence,
        .source = Source::kTransfer};
  }
  ListCallSites(model, result);
  return result;
}

}  // namespace onnx_tag
