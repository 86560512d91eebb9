#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/lists.h"
#include "core/tagging/role_index.h"
#include "onnx_tag/transfer.h"
#include "uses/transfer/placing.h"

namespace onnx_tag {
namespace {

using transfer::Place;

// If two nodes are paired, their subgraphs are paired, too. Then the names
// inside the subgraphs are compared.
void FindPairs(transfer::Matching& matching) {
  transfer::PairByNames(matching);
  const Model& to = matching.versions().to;
  const Model& from = matching.versions().from;
  // Local functions by name. The main graph is not a function.
  std::unordered_map<std::string_view, GraphId> functions;
  for (const GraphId old : from.Graphs()) {
    if (old != GraphId{0} && from[old].parent_node == kNo<NodeId>) {
      functions.emplace(transfer::LabelOf(from, old), old);
    }
  }
  for (const GraphId graph : to.Graphs()) {
    if (graph == GraphId{0} || to[graph].parent_node != kNo<NodeId>) continue;
    const auto at = functions.find(transfer::LabelOf(to, graph));
    if (at == functions.end()) continue;
    matching.PairGraphs(graph, at->second, Confidence::kCertain);
  }
  while (true) {
    matching.Follow();
    const auto graphs = matching.TakeGraphs();
    if (graphs.empty() && !matching.BridgeGaps()) return;
    for (const auto& [graph, old] : graphs) {
      transfer::PairByNames(matching, graph, old);
    }
  }
}

// The role of a quantizer's helper; else the role of the old node.
Role RoleOf(const Place& place, const Tagging& tags, bool quantizer) {
  Role role;
  if (place.like != kNo<NodeId>) role = tags.roles[tags.tags[place.like].role];
  if (place.found == &TransferCounts::helpers && quantizer) {
    role.type = RoleType::kQuantization;
    role.component.clear();
  }
  return role;
}

// A tag for a found block stays one: its name is as invented as before.
bool IsFound(const Place& place, const Tagging& tags) {
  return tags.FindFound(place.module) != nullptr ||
         (place.like != kNo<NodeId> &&
          tags.tags[place.like].source == Source::kStructure);
}

// What names or outputs prove keeps its kind. Else only the graphs agree, or
// only the graphs around the node.
EvidenceKind EvidenceFor(const Place& place, const Tagging& tags) {
  if (IsFound(place, tags)) return EvidenceKind::kStructure;
  const bool matched =
      place.found != &TransferCounts::nearby && place.like != kNo<NodeId>;
  if (!matched) return EvidenceKind::kPattern;
  const EvidenceKind kind = tags.tags[place.like].evidence;
  if (place.found == &TransferCounts::by_name) return kind;
  return std::max(kind, place.confidence >= Confidence::kHigh
                            ? EvidenceKind::kAligned
                            : EvidenceKind::kPattern);
}

void CarryLine(const SourceLines& from, NodeId old, NodeId node,
               SourceLines& lines) {
  const std::optional<SourceLine> line = from.Of(old);
  if (!line) return;
  lines.Set(node, *line);
  const std::vector<SourceLine> frames = from.FramesOf(old);
  if (!frames.empty()) lines.SetFrames(node, frames);
}

void CountPlace(const Place& place, TransferCounts& counts) {
  if (place.module != kNo<ModuleId>) {
    ++(counts.*place.found);
  } else {
    ++(place.found == nullptr ? counts.no_counterpart : counts.open_in_from);
  }
}

// The calls of local functions, as mapping lists them.
void ListCallSites(const FunctionCalls& calls, Tagging& tagging) {
  for (const auto& [node, function] : calls.calls()) {
    const Tag& tag = tagging.tags[node];
    if (!tag.tagged()) continue;
    tagging.call_sites.push_back(
        {static_cast<std::uint32_t>(function), node, tag.module});
  }
  SortBy(tagging.call_sites, &CallSite::function);
}

}  // namespace

IdVector<NodeId, NodeId> FindCounterparts(const Model& from, const Model& to) {
  const transfer::Versions versions(from, to);
  transfer::Matching matching(versions);
  FindPairs(matching);
  const transfer::NameIndex names(from);
  IdVector<NodeId, NodeId> counterparts(to.node_count(), kNo<NodeId>);
  IdVector<NodeId, bool> given(from.node_count(), false);
  const auto give = [&](NodeId node, NodeId counterpart) {
    if (counterpart == kNo<NodeId> || given[counterpart]) return;
    given[counterpart] = true;
    counterparts[node] = counterpart;
  };
  for (const NodeId node : to.Nodes()) give(node, matching.Of(node));
  // Nodes that kept their name but have another operator.
  for (const NodeId node : to.Nodes()) {
    const std::string_view name = to[node].name;
    if (counterparts[node] == kNo<NodeId> && !transfer::IsCounted(name)) {
      give(node, names.Node(name));
    }
  }
  return counterparts;
}

Tagging TransferTags(const Model& from, const Tagging& tags, const Model& to,
                     TransferCounts* counts, Lineage* lineage) {
  const transfer::Versions versions(from, to);
  transfer::Matching matching(versions);
  FindPairs(matching);
  const transfer::Placing placing(matching, tags);
  if (lineage != nullptr) *lineage = FindLineage(matching, placing);

  Tagging result;
  result.modules = tags.modules;
  result.facts = tags.facts;
  result.given = tags.given;
  result.root = tags.root;
  result.family_words = tags.family_words;
  result.strategy = tags.strategy;
  result.format = tags.format;
  result.options = tags.options;
  result.dialect = tags.dialect;
  result.origins = placing.origins();
  RoleIndex roles(result);
  result.tags.resize(to.node_count());
  for (const NodeId node : to.Nodes()) {
    const Place& place = placing[node];
    if (counts != nullptr) CountPlace(place, *counts);
    if (place.like != kNo<NodeId>) {
      CarryLine(tags.lines, place.like, node, result.lines);
    }
    if (place.module == kNo<ModuleId>) continue;
    result.tags[node] = {
        .module = place.module,
        .role =
            roles.Add(RoleOf(place, tags,
                             versions.to_ops.Is(node, {OpKind::kQuantizer,
                                                       OpKind::kDequantizer}))),
        .confidence = place.confidence,
        .source = IsFound(place, tags) ? Source::kStructure : Source::kTransfer,
        .evidence = EvidenceFor(place, tags)};
  }
  result.found = tags.found;
  ListCallSites(versions.to_facts.calls, result);
  return result;
}

}  // namespace onnx_tag
