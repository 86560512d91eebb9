#include "uses/transfer/placing.h"

#include <algorithm>
#include <unordered_map>

#include "base/lists.h"
#include "clues/exporters/tools/original_name.h"
#include "core/graph/neighbours.h"
#include "core/graph/walk.h"

namespace onnx_tag::transfer {
namespace {

// A fused node replaces a few dozen nodes. The search for them looks at this
// many edges.
constexpr std::size_t kLargestCone = 1024;

// There are more regions only if very few old nodes have counterparts.
constexpr std::size_t kMostRegions = 16;

// Whether `input` is a setting of `node`: a shape, axes, indices. Tools merge
// such constants of all modules.
bool IsSetting(const Model& model, const Operators& ops, NodeId node,
               ValueId input) {
  return Describe(ops[node]).first_setting == 1 &&
         FirstInput(model, node) != input;
}

// The connected nodes among those that `belongs` has, by node; kNo for others.
// A shared constant does not connect two regions.
template <typename Belongs>
IdVector<NodeId, NodeId> FindRegions(const Model& model, Belongs belongs) {
  IdVector<NodeId, NodeId> regions(model.node_count(), kNo<NodeId>);
  std::vector<NodeId> open;
  for (const NodeId first : model.Nodes()) {
    const auto enter = [&](NodeId node) {
      if (regions[node] == kNo<NodeId> && belongs(node)) {
        regions[node] = first;
        open.push_back(node);
      }
      return true;
    };
    enter(first);
    while (!open.empty()) {
      const NodeId node = open.back();
      open.pop_back();
      ForEachMaker(model, node, [&](NodeId maker) {
        return model.Inputs(maker).empty() || enter(maker);
      });
      if (!model.Inputs(node).empty()) ForEachReader(model, node, enter);
    }
  }
  return regions;
}

// Whether a set of old nodes is in one module.
struct Agreement {
  NodeId node = kNo<NodeId>;
  bool mixed = false;

  void Add(const Agreement& other, const Tagging& tags) {
    if (node == kNo<NodeId>) node = other.node;
    mixed |=
        other.mixed || tags.tags[other.node].module != tags.tags[node].module;
  }
  bool IsOne() const { return node != kNo<NodeId> && !mixed; }
};

}  // namespace

Placing::Placing(const Matching& matching, const Tagging& tags)
    : matching_(matching),
      versions_(matching.versions()),
      to_(versions_.to),
      from_(versions_.from),
      tags_(tags),
      names_(from_),
      places_(to_.node_count()),
      merged_(to_.node_count(), kNo<NodeId>),
      stands_in_(from_.node_count(), false) {
  PlaceCounterparts();
  const bool strangers = AreStrangers();
  PlaceByNames();
  PlaceByParameters();
  PlaceByResults(false);
  PlaceMerged();
  if (!strangers) {
    const Evidence evidence = GatherUnnamed(versions_.to_facts, tags.modules);
    Climb(evidence, kInserted, &TransferCounts::helpers, Confidence::kHigh);
    PlaceByResults(true);
    PlaceInserted();
    PlaceByRegion();
    Climb(evidence, kNearby, &TransferCounts::nearby, Confidence::kLow);
  }
  FindOrigins();
}

template <typename Use>
void Placing::ForEachConsumer(NodeId to, Use use) const {
  for (const ValueId value : to_.Outputs(to)) {
    if (value == kNo<ValueId>) continue;
    for (const NodeId reader : to_.Consumers(value)) use(reader);
    if (to_[value].is_output) {
      const NodeId around = to_[to_[value].graph].parent_node;
      if (around != kNo<NodeId>) use(around);
    }
  }
}

// If very few nodes have a counterpart, the files are different models, and
// neighbours mean nothing. Any two models have a first input and a last output.
bool Placing::AreStrangers() const {
  const std::size_t placed = CountIn(
      places_, [](const Place& place) { return place.found != nullptr; });
  // Quantizers insert several nodes for each existing node.
  constexpr std::size_t kMostPerKnown = 12;
  return kMostPerKnown * placed < places_.size();
}

void Placing::PlaceLike(NodeId to, NodeId from, FoundBy found,
                        Confidence limit) {
  const Tag& tag = tags_.tags[from];
  // If the old node has no tag, the new node gets none.
  places_[to] = {found, tag.module, from, std::min(limit, tag.confidence),
                 limit};
  stands_in_[from] = true;
}

// A tool that merges two nodes may keep the name of either node. The name of
// the output is more reliable.
bool Placing::GivesTheSame(NodeId to, NodeId from) const {
  const ValueId output = FirstOutput(to_, to);
  const ValueId old = FirstOutput(from_, from);
  return output != kNo<ValueId> && old != kNo<ValueId> &&
         versions_.InFrom(to_[output].name) == from_[old].name;
}

// The first of the old nodes that `to` may stand for, by what its consumers
// read in the old version.
NodeId Placing::EarliestProducer(NodeId to, NodeId known,
                                 const IdVector<NodeId, NodeId>& likes) const {
  NodeId first = known;
  ForEachReader(to_, to, [&](NodeId reader) {
    if (likes[reader] == kNo<NodeId>) return true;
    const auto inputs = to_.Inputs(reader);
    const auto old = from_.Inputs(likes[reader]);
    const std::size_t most =
        std::min({inputs.size(), old.size(), kMostNeighbours});
    for (std::size_t i = 0; i < most; ++i) {
      const NodeId producer = ProducerOf(from_, old[i]);
      if (ProducerOf(to_, inputs[i]) == to && producer != kNo<NodeId> &&
          versions_.SameOperator(to, producer)) {
        first = std::min(first, producer);
      }
    }
    return true;
  });
  return first;
}

// The counterparts. A tool that merges equal nodes of several layers keeps the
// first of them, but the matching may have found another.
IdVector<NodeId, NodeId> Placing::FirstOfMerged() const {
  IdVector<NodeId, NodeId> likes(to_.node_count(), kNo<NodeId>);
  IdVector<NodeId, bool> changed(to_.node_count(), false);
  const auto readers = [](const Model& model, NodeId node) {
    std::size_t count = 0;
    ForEachReader(model, node, [&](NodeId) { return ++count > 0; });
    return count;
  };
  for (std::size_t i = to_.node_count(); i-- > 0;) {
    const auto to = MakeId<NodeId>(i);
    likes[to] = matching_.Of(to);
    if (likes[to] == kNo<NodeId> ||
        matching_.ConfidenceOf(to) == Confidence::kCertain) {
      continue;
    }
    bool merged = readers(to_, to) > readers(from_, likes[to]);
    ForEachConsumer(to, [&](NodeId reader) { merged |= changed[reader]; });
    if (!merged) continue;
    const NodeId first = EarliestProducer(to, likes[to], likes);
    changed[to] = first != likes[to];
    likes[to] = first;
  }
  return likes;
}

void Placing::PlaceCounterparts() {
  const IdVector<NodeId, NodeId> likes = FirstOfMerged();
  for (const NodeId to : to_.Nodes()) {
    const NodeId from = likes[to];
    if (from == kNo<NodeId>) continue;
    const Confidence confidence = matching_.ConfidenceOf(to);
    if (confidence == Confidence::kCertain) {
      PlaceLike(
          to, from, &TransferCounts::by_name,
          GivesTheSame(to, from) ? Confidence::kCertain : Confidence::kHigh);
    } else {
      PlaceLike(to, from, &TransferCounts::by_structure, confidence);
    }
  }
}

NodeId Placing::OldNodeNamed(std::string_view name) const {
  const NodeId node = names_.Node(name);
  if (node != kNo<NodeId>) return node;
  // Quantizers name a node after the value that it quantizes.
  return ProducerOf(from_, names_.Value(name));
}

NodeId Placing::NamedAfter(NodeId to, bool& helper) const {
  const std::string_view name = to_[to].name;
  if (name.empty()) return kNo<NodeId>;
  const NodeId same = OldNodeNamed(name);
  if (same != kNo<NodeId>) return same;
  const auto undone = hierarchy::UndoNodeName(name);
  helper = undone.quantizer || undone.cast;
  return undone.name == name ? kNo<NodeId> : OldNodeNamed(undone.name);
}

// The old node that had the output of `to`.
NodeId Placing::GaveTheSame(NodeId to) const {
  for (const ValueId value : to_.Outputs(to)) {
    if (value == kNo<ValueId>) continue;
    const NodeId from = ProducerOf(from_, matching_.Of(value));
    if (from != kNo<NodeId>) return from;
  }
  return kNo<NodeId>;
}

// Places a node with another operator like the old node with its name, or with
// the name of its output.
void Placing::PlaceNamed(NodeId to, NodeId from, bool by_name, bool helper) {
  const bool only_form = versions_.to_ops.Is(to, kPassThrough) &&
                         versions_.from_ops.Is(from, kPassThrough);
  if (helper) {
    PlaceLike(to, from, &TransferCounts::helpers, Confidence::kCertain);
  } else if (only_form && by_name) {
    merged_[to] = from;
  } else {
    // The other nodes that it replaces may belong to another module, above
    // all if the old node still exists.
    const bool unsure = only_form || matching_.Taken(from) ||
                        versions_.to_ops.Is(to, OpKind::kIdentity);
    PlaceLike(to, from, &TransferCounts::fused,
              unsure ? Confidence::kMedium : Confidence::kHigh);
  }
}

void Placing::PlaceByNames() {
  for (const NodeId to : to_.Nodes()) {
    if (!IsOpen(to)) continue;
    bool helper = false;
    const NodeId named = NamedAfter(to, helper);
    if (named != kNo<NodeId>) PlaceNamed(to, named, true, helper);
  }
}

// A node made of a product and an activation gives the result of the
// activation, but belongs to the product: parameters come before results.
void Placing::PlaceByResults(bool passing_on) {
  for (const NodeId to : to_.Nodes()) {
    if (!IsOpen(to) || merged_[to] != kNo<NodeId>) continue;
    const auto undone = hierarchy::UndoNodeName(to_[to].name);
    const NodeId from = GaveTheSame(to);
    if (from == kNo<NodeId> || matching_.PassesOn(to) != passing_on ||
        (passing_on && matching_.Taken(from))) {
      continue;
    }
    PlaceNamed(to, from, false, undone.quantizer || undone.cast);
  }
}

// If two consecutive Reshapes are merged, the shape of the second and the name
// of the first remain. The node belongs to its consumer.
void Placing::PlaceMerged() {
  for (std::size_t i = to_.node_count(); i-- > 0;) {
    const auto to = MakeId<NodeId>(i);
    if (!IsOpen(to) || merged_[to] == kNo<NodeId>) continue;
    if (PlaceByConsumers(to, &TransferCounts::fused, Confidence::kMedium)) {
      stands_in_[merged_[to]] = true;
    } else {
      PlaceLike(to, merged_[to], &TransferCounts::fused, Confidence::kLow);
    }
  }
}

bool Placing::PlaceByConsumers(NodeId to, FoundBy found, Confidence limit) {
  Place common{.found = found, .confidence = limit};
  bool one = true;
  ForEachConsumer(to, [&](NodeId reader) {
    const Place& place = places_[reader];
    one &= place.module != kNo<ModuleId> &&
           (common.module == kNo<ModuleId> || common.module == place.module);
    common.module = place.module;
    common.like = place.like;
    // Next to a guess is a guess.
    common.confidence = place.confidence < Confidence::kHigh
                            ? Confidence::kLow
                            : std::min(common.confidence, place.confidence);
  });
  if (!one || common.module == kNo<ModuleId>) return false;
  places_[to] = common;
  return true;
}

// A node that only changes the type of an old value was inserted before its
// consumers.
void Placing::PlaceInserted() {
  constexpr OpKinds kConversion = {OpKind::kIdentity, OpKind::kCast,
                                   OpKind::kQuantizer, OpKind::kDequantizer};
  for (std::size_t i = to_.node_count(); i-- > 0;) {
    const auto to = MakeId<NodeId>(i);
    const ValueId read = FirstInput(to_, to);
    if (IsOpen(to) && versions_.to_ops.Is(to, kConversion) &&
        read != kNo<ValueId> && matching_.Of(read) != kNo<ValueId>) {
      PlaceByConsumers(to, &TransferCounts::helpers, Confidence::kHigh);
    }
  }
}

ValueId Placing::OldWeight(NodeId to, ValueId input) const {
  if (input == kNo<ValueId> || to_[input].producer != kNo<NodeId> ||
      IsSetting(to_, versions_.to_ops, to, input)) {
    return kNo<ValueId>;
  }
  const ValueId old = matching_.Of(input);
  if (old != kNo<ValueId>) return old;
  const std::string_view name = to_.ValueName(input);
  const auto undone = hierarchy::UndoTensorName(name);
  return undone.name == name || IsCounted(undone.name)
             ? kNo<ValueId>
             : names_.Value(undone.name);
}

// Places nodes by a weight, if only one module read it in the old version.
void Placing::PlaceByParameters() {
  std::vector<NodeId> read;  // the old readers of the node's parameters
  for (const NodeId to : to_.Nodes()) {
    // A node that only passes a weight on belongs to its consumer.
    if (!IsOpen(to) || versions_.to_ops.Is(to, kPassThrough)) continue;
    read.clear();
    for (const ValueId input : to_.Inputs(to)) {
      const ValueId old = OldWeight(to, input);
      if (old == kNo<ValueId>) continue;
      const auto readers = from_.Consumers(old);
      // Constants with many consumers say nothing, nor does one that a tool
      // merged with equal ones.
      if (readers.size() > 2 || to_.Consumers(input).size() > readers.size()) {
        continue;
      }
      for (const NodeId reader : readers) {
        if (tags_.tags[reader].tagged() &&
            !IsSetting(from_, versions_.from_ops, reader, old)) {
          read.push_back(reader);
        }
      }
    }
    const auto other = [&](NodeId reader) {
      return tags_.tags[reader].module != tags_.tags[read[0]].module;
    };
    if (read.empty() || AnyIn(read, other)) continue;
    PlaceLike(to, read.back(), &TransferCounts::fused, Confidence::kHigh);
    for (const NodeId reader : read) stands_in_[reader] = true;
  }
}

// The ladder places what the pairs do not say.
void Placing::Climb(const Evidence& evidence, StrategySet rungs, FoundBy found,
                    Confidence limit) {
  Placed placed(places_.size());
  for (const NodeId to : to_.Nodes()) {
    const Place& place = places_[to];
    if (place.module == kNo<ModuleId>) continue;
    Accept({to, place.module, place.confidence, Source::kTransfer, ""},
           EvidenceKind::kAligned, placed);
  }
  for (const Rung& rung : RungsOf(rungs)) {
    for (const Claim& claim : onnx_tag::Climb(evidence, rung, placed)) {
      if (!IsOpen(claim.node)) continue;  // its counterpart has no tag
      places_[claim.node] = {found, claim.module,
                             LikeBeside(claim.node, claim.module),
                             std::min(claim.confidence, limit)};
    }
  }
}

// The counterpart of a neighbour in the module.
NodeId Placing::LikeBeside(NodeId to, ModuleId module) const {
  NodeId like = kNo<NodeId>;
  const auto look = [&](NodeId neighbour) {
    if (like == kNo<NodeId> && places_[neighbour].module == module) {
      like = places_[neighbour].like;
    }
    return true;
  };
  ForEachConsumer(to, look);
  ForEachMaker(to_, to, look);
  return like;
}

// Places nodes without a counterpart by the old nodes between the same
// neighbours.
void Placing::PlaceByRegion() {
  const IdVector<NodeId, NodeId> old = FindRegions(from_, [&](NodeId node) {
    return !matching_.Taken(node) && !stands_in_[node];
  });
  const IdVector<NodeId, NodeId> open =
      FindRegions(to_, [&](NodeId node) { return IsOpen(node); });
  // The modules of the old nodes of a region, by operator and in total (kNo).
  std::unordered_map<std::uint64_t, Agreement> modules;
  const auto key = [](NodeId region, NameId op) {
    return (static_cast<std::uint64_t>(region) << 32) | Index(op);
  };
  for (const NodeId node : from_.Nodes()) {
    if (old[node] == kNo<NodeId> || !tags_.tags[node].tagged()) continue;
    modules[key(old[node], from_[node].op_type)].Add({node}, tags_);
    modules[key(old[node], kNo<NameId>)].Add({node}, tags_);
  }
  const auto add = [](NodeId region, std::vector<NodeId>& regions) {
    if (region != kNo<NodeId> && regions.size() < kMostRegions &&
        !IsAmong(region, regions)) {
      regions.push_back(region);
    }
  };
  // The regions behind an old node and before it: found once, because many
  // nodes may have one neighbour.
  std::unordered_map<NodeId, std::vector<NodeId>> behind, before;
  const auto find_behind = [&](NodeId from, std::vector<NodeId>& regions) {
    for (const ValueId value : from_.Outputs(from)) {
      if (value == kNo<ValueId>) continue;
      const auto readers = from_.Consumers(value);
      if (readers.size() > kMostNeighbours) continue;
      for (const NodeId reader : readers) add(old[reader], regions);
    }
  };
  const auto find_before = [&](NodeId from, std::vector<NodeId>& regions) {
    if (from_.Inputs(from).size() > kMostNeighbours) return;
    ForEachMaker(from_, from, [&](NodeId maker) {
      add(old[maker], regions);
      return true;
    });
  };
  // The old regions between the counterparts of the neighbours.
  std::unordered_map<NodeId, std::vector<NodeId>> between;
  for (const NodeId to : to_.Nodes()) {
    if (!IsOpen(to)) continue;
    const auto link = [&](NodeId like, auto& known, const auto& find) {
      if (like == kNo<NodeId>) return true;
      const auto [at, is_new] = known.try_emplace(like);
      if (is_new) find(like, at->second);
      for (const NodeId region : at->second) add(region, between[open[to]]);
      return true;
    };
    ForEachMaker(to_, to, [&](NodeId maker) {
      return link(places_[maker].like, behind, find_behind);
    });
    ForEachConsumer(to, [&](NodeId reader) {
      link(places_[reader].like, before, find_before);
    });
  }
  const auto agree = [&](NodeId to, NameId op) {
    Agreement found;
    for (const NodeId region : between[open[to]]) {
      const auto at = modules.find(key(region, op));
      if (at != modules.end()) found.Add(at->second, tags_);
    }
    return found;
  };
  for (const NodeId to : to_.Nodes()) {
    if (open[to] == kNo<NodeId>) continue;
    const NameId op = versions_.InFrom(to_[to].op_type);
    const Agreement same = op == kNo<NameId> ? Agreement() : agree(to, op);
    const Agreement all = agree(to, kNo<NameId>);
    if (same.IsOne()) {
      PlaceLike(to, same.node, &TransferCounts::nearby, Confidence::kMedium);
    } else if (all.IsOne()) {
      PlaceLike(to, all.node, &TransferCounts::nearby, Confidence::kLow);
    }
  }
}

// Collects the other modules of the old nodes that one new node replaces: from
// `last` upstream, up to nodes that the new version also has.
void Placing::CollectCone(NodeId last, NodeId to,
                          std::vector<ModuleId>& modules) {
  const auto take = [&](NodeId from) {
    const Tag& tag = tags_.tags[from];
    if (tag.tagged() && tag.module != places_[to].module) {
      modules.push_back(tag.module);
    }
    return true;
  };
  const auto upstream = [&](NodeId from, const auto& go) {
    for (const ValueId input : from_.Inputs(from)) {
      const NodeId maker = ProducerOf(from_, input);
      const bool open = maker != kNo<NodeId> && !matching_.Taken(input) &&
                        !matching_.Taken(maker) && !from_.Inputs(maker).empty();
      if (open && !go(maker)) return;
    }
  };
  take(last);
  Walk(last, kLargestCone, upstream, take);
}

// Finds the other modules of nodes that were made of several nodes.
void Placing::FindOrigins() {
  std::vector<ModuleId> modules;
  for (const NodeId to : to_.Nodes()) {
    if (places_[to].module == kNo<ModuleId>) continue;
    modules.clear();
    for (const ValueId value : to_.Outputs(to)) {
      if (value == kNo<ValueId>) continue;
      const NodeId last = ProducerOf(from_, matching_.Of(value));
      if (last == kNo<NodeId> || last == matching_.Of(to)) continue;
      if (!matching_.Taken(last)) CollectCone(last, to, modules);
    }
    SortUnique(modules);
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
  SortBy(origins_, &Origin::node);
}

}  // namespace onnx_tag::transfer
