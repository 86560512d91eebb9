#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include "onnx_tag/transfer.h"
#include "tagging/role_index.h"
#include "transfer/operators.h"
#include "transfer/placing.h"

namespace onnx_tag {
namespace {

using transfer::Place;

// If two nodes are paired, their subgraphs are paired, too. Then the names
// inside the subgraphs are compared.
void FindPairs(transfer::Matching& matching) {
  transfer::PairByNames(matching);
  const transfer::Outline& to = matching.to();
  const transfer::Outline& from = matching.from();
  // Local functions by name. The main graph is not a function.
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
    matching.PairGraphs(graph, at->second, Confidence::kCertain);
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

transfer::Outline OutlineOf(const Version& version, transfer::Texts& texts) {
  return version.model != nullptr
             ? transfer::Outline(*version.model, texts)
             : transfer::Outline(version.nodes, version.inputs, version.outputs,
                                 texts);
}

// The role of a quantizer's helper; else the role of the old node.
Role RoleOf(const Place& place, const Tagging& tags, std::string_view op) {
  Role role;
  if (place.like != kNo<NodeId>) role = tags.roles[tags.tags[place.like].role];
  if (place.found == &TransferCounts::helpers && transfer::IsQuantizer(op)) {
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

IdVector<NodeId, NodeId> FindCounterparts(const Version& from,
                                          const Version& to) {
  transfer::Texts texts;
  const transfer::Outline old = OutlineOf(from, texts);
  const transfer::Outline outline = OutlineOf(to, texts);
  transfer::Matching matching(old, outline, texts);
  FindPairs(matching);
  const transfer::NamesOf names(old, texts);
  IdVector<NodeId, NodeId> counterparts(outline.node_count(), kNo<NodeId>);
  IdVector<NodeId, bool> given(old.node_count(), false);
  const auto give = [&](NodeId node, NodeId counterpart) {
    if (counterpart == kNo<NodeId> || given[counterpart]) return;
    given[counterpart] = true;
    counterparts[node] = counterpart;
  };
  for (const NodeId node : outline.Nodes()) give(node, matching.Of(node));
  // Nodes that kept their name but have another operator.
  for (const NodeId node : outline.Nodes()) {
    const std::string_view name = texts[outline[node].name];
    if (counterparts[node] == kNo<NodeId> && !transfer::IsCounted(name)) {
      give(node, names.Node(name));
    }
  }
  return counterparts;
}

Tagging TransferTags(const Version& version, const Tagging& tags,
                     const Model& model, TransferCounts* counts) {
  transfer::Texts texts;
  const transfer::Outline from = OutlineOf(version, texts);
  const transfer::Outline to(model, texts);
  transfer::Matching matching(from, to, texts);
  FindPairs(matching);
  const transfer::Placing placing(matching, tags, model);

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
  result.tags.resize(model.node_count());
  for (const NodeId node : model.Nodes()) {
    const Place& place = placing[node];
    if (counts != nullptr) CountPlace(place, *counts);
    if (place.like != kNo<NodeId>) {
      CarryLine(tags.lines, place.like, node, result.lines);
    }
    if (place.module == kNo<ModuleId>) continue;
    result.tags[node] = {
        .module = place.module,
        .role = roles.Add(RoleOf(place, tags, model.OpType(node))),
        .confidence = place.confidence,
        .source =
            IsFound(place, tags) ? Source::kStructure : Source::kTransfer};
  }
  result.found = tags.found;
  ListCallSites(model, result);
  return result;
}

}  // namespace onnx_tag
