// Finds the other modules of nodes that were made of several nodes.
#include <algorithm>

#include "uses/transfer/placing.h"

namespace onnx_tag::transfer {
namespace {

// A fused node replaces a few dozen nodes. The search stops at this number.
constexpr std::size_t kLargestCone = 256;

}  // namespace

// Collects the old nodes that one new node replaces: upstream of `first`, up to
// nodes that the new version also has.
void Placing::CollectCone(NodeId first, NodeId to,
                          std::vector<ModuleId>& modules) {
  std::vector<NodeId> cone = {first};
  for (std::size_t i = 0; i < cone.size() && i < kLargestCone; ++i) {
    const Tag& tag = tags_.tags[cone[i]];
    if (tag.tagged() && tag.module != places_[to].module) {
      modules.push_back(tag.module);
    }
    for (const ValueId input : from_.Inputs(cone[i])) {
      if (input == kNo<ValueId> || matching_.Taken(input)) continue;
      const NodeId producer = from_[input].producer;
      if (producer == kNo<NodeId> || matching_.Taken(producer)) continue;
      if (from_.Inputs(producer).empty()) continue;
      if (std::find(cone.begin(), cone.end(), producer) == cone.end()) {
        cone.push_back(producer);
      }
    }
  }
}

void Placing::FindOrigins() {
  std::vector<ModuleId> modules;
  for (const NodeId to : to_.Nodes()) {
    if (places_[to].module == kNo<ModuleId>) continue;
    modules.clear();
    for (const ValueId value : to_.Outputs(to)) {
      if (value == kNo<ValueId> || matching_.Of(value) == kNo<ValueId>) {
        continue;
      }
      const NodeId last = from_[matching_.Of(value)].producer;
      if (last == kNo<NodeId> || last == matching_.Of(to)) continue;
      if (!matching_.Taken(last)) CollectCone(last, to, modules);
    }
    std::sort(modules.begin(), modules.end());
    modules.erase(std::unique(modules.begin(), modules.end()), modules.end());
    for (const ModuleId module : modules) origins_.push_back({to, module});
    // A node that kept its operator is fused if it also replaced another node.
    if (!modules.empty() && matching_.Of(to) != kNo<NodeId>) {
      places_[to].found = &TransferCounts::fused;
    }
  }
  // The origins of fused nodes of the old version also apply to their
  // counterparts.
  for (const NodeId to : to_.Nodes()) {
    const NodeId from = matching_.Of(to);
    if (from == kNo<NodeId>) continue;
    for (const Origin& origin : tags_.OriginsOf(from)) {
      origins_.push_back({to, origin.module});
    }
  }
  std::stable_sort(
      origins_.begin(), origins_.end(),
      [](const Origin& a, const Origin& b) { return a.node < b.node; });
}

}  // namespace onnx_tag::transfer
