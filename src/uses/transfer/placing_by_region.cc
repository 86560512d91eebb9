// Places nodes without a counterpart by the old nodes between the same
// neighbours.
#include <algorithm>
#include <unordered_map>

#include "uses/transfer/placing.h"

namespace onnx_tag::transfer {
namespace {

// There are more regions only if very few old nodes have counterparts.
constexpr std::size_t kMostRegions = 16;

// A value with more consumers than this says little about each of them, and so
// does a node with more inputs about their producers.
constexpr std::size_t kMostNeighbours = 64;

// Connected components of the nodes that are not yet placed.
class Regions {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  template <typename Belongs>
  Regions(const Model& model, Belongs belongs)
      : parent_(model.node_count(), kNone) {
    for (const NodeId node : model.Nodes()) {
      if (belongs(node)) {
        parent_[Index(node)] = static_cast<std::uint32_t>(node);
      }
    }
    for (const NodeId node : model.Nodes()) {
      if (parent_[Index(node)] == kNone) continue;
      for (const ValueId input : model.Inputs(node)) {
        if (input == kNo<ValueId>) continue;
        const NodeId producer = model.Producer(input);
        // A shared constant does not connect two regions.
        if (producer == kNo<NodeId> || parent_[Index(producer)] == kNone ||
            model.Inputs(producer).empty()) {
          continue;
        }
        parent_[Find(static_cast<std::uint32_t>(node))] =
            Find(static_cast<std::uint32_t>(producer));
      }
    }
    for (const NodeId node : model.Nodes()) {
      if (parent_[Index(node)] != kNone) {
        parent_[Index(node)] = Find(static_cast<std::uint32_t>(node));
      }
    }
  }
  std::uint32_t Of(NodeId node) const { return parent_[Index(node)]; }

 private:
  std::uint32_t Find(std::uint32_t at) {
    while (parent_[at] != at) {
      parent_[at] = parent_[parent_[at]];
      at = parent_[at];
    }
    return at;
  }
  std::vector<std::uint32_t> parent_;
};

// Whether a set of old nodes is in one module.
struct Agreement {
  NodeId node = kNo<NodeId>;
  bool mixed = false;

  void Add(NodeId other, const Tagging& tags) {
    if (node == kNo<NodeId>) node = other;
    mixed |= tags.tags[other].module != tags.tags[node].module;
  }
  void Add(const Agreement& other, const Tagging& tags) {
    if (other.node == kNo<NodeId>) return;
    mixed |= other.mixed;
    Add(other.node, tags);
  }
  bool IsOne() const { return node != kNo<NodeId> && !mixed; }
};

template <typename Use>
void ForEachOldReader(const Model& old, NodeId from, Use use) {
  for (const ValueId value : old.Outputs(from)) {
    if (value == kNo<ValueId>) continue;
    const auto readers = old.Consumers(value);
    if (readers.size() > kMostNeighbours) continue;
    for (const NodeId reader : readers) use(reader);
  }
}

}  // namespace

void Placing::PlaceByRegion() {
  const Regions old(from_, [&](NodeId node) { return !IsStandIn(node); });
  const Regions open(to_, [&](NodeId node) { return IsOpen(node); });
  // The modules of the old nodes of a region, by operator and in total.
  std::unordered_map<std::uint64_t, Agreement> by_operator;
  std::unordered_map<std::uint32_t, Agreement> of_region;
  const auto key = [](std::uint32_t region, NameId op) {
    return (static_cast<std::uint64_t>(region) << 32) | Index(op);
  };
  for (const NodeId node : from_.Nodes()) {
    if (old.Of(node) == Regions::kNone || !tags_.tags[node].tagged()) continue;
    by_operator[key(old.Of(node), versions_.InTo(from_[node].op_type))].Add(
        node, tags_);
    of_region[old.Of(node)].Add(node, tags_);
  }
  // The old regions between the counterparts of the neighbours.
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> between;
  const auto link = [&](NodeId to, NodeId from) {
    const std::uint32_t region = old.Of(from);
    if (region == Regions::kNone) return;
    std::vector<std::uint32_t>& regions = between[open.Of(to)];
    if (std::find(regions.begin(), regions.end(), region) == regions.end() &&
        regions.size() < kMostRegions) {
      regions.push_back(region);
    }
  };
  for (const NodeId to : to_.Nodes()) {
    if (!IsOpen(to)) continue;
    for (const ValueId input : to_.Inputs(to)) {
      if (input == kNo<ValueId> || to_[input].producer == kNo<NodeId>) continue;
      const NodeId like = places_[to_[input].producer].like;
      if (like != kNo<NodeId>)
        ForEachOldReader(from_, like, [&](NodeId reader) { link(to, reader); });
    }
    ForEachReader(to, [&](NodeId reader) {
      const NodeId like = places_[reader].like;
      if (like == kNo<NodeId>) return;
      const auto inputs = from_.Inputs(like);
      if (inputs.size() > kMostNeighbours) return;
      for (const ValueId input : inputs) {
        if (input == kNo<ValueId>) continue;
        const NodeId producer = from_[input].producer;
        if (producer != kNo<NodeId>) link(to, producer);
      }
    });
  }
  struct Found {
    NodeId to;
    NodeId from;
    Confidence confidence;
  };
  std::vector<Found> found;
  for (const NodeId to : to_.Nodes()) {
    if (!IsOpen(to)) continue;
    const auto regions = between.find(open.Of(to));
    if (regions == between.end()) continue;
    Agreement same_operator;
    Agreement all;
    for (const std::uint32_t region : regions->second) {
      const auto at = by_operator.find(key(region, to_[to].op_type));
      if (at != by_operator.end()) same_operator.Add(at->second, tags_);
      const auto whole = of_region.find(region);
      if (whole != of_region.end()) all.Add(whole->second, tags_);
    }
    if (same_operator.IsOne()) {
      found.push_back({to, same_operator.node, Confidence::kMedium});
    } else if (all.IsOne()) {
      found.push_back({to, all.node, Confidence::kLow});
    }
  }
  for (const Found& one : found) {
    PlaceLike(one.to, one.from, &TransferCounts::nearby, one.confidence);
  }
}

}  // namespace onnx_tag::transfer
