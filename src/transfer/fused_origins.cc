// The further modules of nodes that were made of several.
#include <algorithm>

#include "transfer/placing.h"

namespace onnx_tag::transfer {
namespace {

// A fused node replaces a few dozen; more is not followed.
constexpr std::size_t kLargestCone = 256;

}  // namespace

// The old nodes that one new node stands for: upstream of `first`, up to what
// the new version has as well.
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
    // A node that kept its operator is fused where it swallowed another.
    if (!modules.empty() && matching_.Of(to) != kNo<NodeId>) {
      places_[to].how = How::kFused;
    }
  }
  // What the old version said of fused nodes holds for their counterparts.
  for (const NodeId to : to_.Nodes()) {
    const NodeId from = matching_.Of(to);
    if (from == kNo<NodeId>) continue;
    auto at = std::lower_bound(
        tags_.origins.begin(), tags_.origins.end(), from,
        [](const Origin& origin, NodeId node) { return origin.node < node; });
    for (; at != tags_.origins.end() && at->node == from; ++at) {
      origins_.push_back({to, at->module});
    }
  }
  std::stable_sort(
      origins_.begin(), origins_.end(),
      [](const Origin& a, const Origin& b) { return a.node < b.node; });
}

}  // namespace onnx_tag::transfer
