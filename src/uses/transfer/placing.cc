#include "uses/transfer/placing.h"

#include <algorithm>

#include "clues/exporters/tools/original_name.h"
#include "core/graph/neighbours.h"

namespace onnx_tag::transfer {
namespace {

// The maximum number of consecutive nodes that a tool inserts.
constexpr std::size_t kMostInserted = 4;

// The confidence next to a tag that is itself a guess.
Confidence AfterAGuess(Confidence known) {
  return known < Confidence::kHigh ? Confidence::kLow : known;
}

}  // namespace

Placing::Placing(const Matching& matching, const Tagging& tags,
                 const GraphFacts& graph)
    : matching_(matching),
      versions_(matching.versions()),
      to_(versions_.to),
      from_(versions_.from),
      tags_(tags),
      names_(from_),
      places_(to_.node_count()),
      stands_in_(from_.node_count(), false) {
  PlaceCounterparts();
  const bool strangers = AreStrangers();
  PlaceByNames();
  PlaceByParameters();
  PlaceByResults();
  if (!strangers) {
    const Evidence evidence = GatherUnnamed(graph, tags.modules);
    Climb(evidence, kInserted, &TransferCounts::helpers, Confidence::kHigh);
    PlaceInserted();
    PlaceByRegion();
    Climb(evidence, kNearby, &TransferCounts::nearby, Confidence::kLow);
  }
  FindOrigins();
}

// If very few nodes have a counterpart, the files are different models, and
// neighbours mean nothing. Any two models have a first input and a last output.
bool Placing::AreStrangers() const {
  const auto placed =
      std::count_if(places_.begin(), places_.end(),
                    [](const Place& place) { return place.found != nullptr; });
  // Quantizers insert several nodes for each existing node.
  constexpr std::size_t kMostPerKnown = 12;
  return kMostPerKnown * static_cast<std::size_t>(placed) < places_.size();
}

bool Placing::PlaceLike(NodeId to, NodeId from, FoundBy found,
                        Confidence limit) {
  if (!IsOpen(to)) return false;
  const Tag& tag = tags_.tags[from];
  // If the old node has no tag, the new node gets none.
  places_[to] = {found, tag.module, from, std::min(limit, tag.confidence)};
  stands_in_[from] = true;
  return true;
}

bool Placing::IsStandIn(NodeId from) const {
  return matching_.Taken(from) || stands_in_[from];
}

// A tool that merges two nodes may keep the name of either node. The name of
// the output is more reliable.
bool Placing::GivesTheSame(NodeId to, NodeId from) const {
  const auto outputs = to_.Outputs(to);
  const auto old = from_.Outputs(from);
  return !outputs.empty() && !old.empty() && outputs[0] != kNo<ValueId> &&
         old[0] != kNo<ValueId> && versions_.SameName(outputs[0], old[0]);
}

// The node like `to` whose result `old_reader` reads where `reader` reads
// `value`; kNo if the order of the operands does not tell.
NodeId Placing::OldProducer(NodeId to, ValueId value, NodeId reader,
                            NodeId old_reader) const {
  const auto inputs = to_.Inputs(reader);
  const auto old = from_.Inputs(old_reader);
  const bool any_order = versions_.to_ops.Is(reader, OpKind::kCommutative);
  NodeId found = kNo<NodeId>;
  for (std::size_t i = 0; i < std::min(inputs.size(), old.size()); ++i) {
    if (old[i] == kNo<ValueId> || (!any_order && inputs[i] != value)) continue;
    const NodeId producer = from_[old[i]].producer;
    if (producer == kNo<NodeId> || !versions_.SameOperator(to, producer)) {
      continue;
    }
    if (found != kNo<NodeId> && found != producer) return kNo<NodeId>;
    found = producer;
  }
  return found;
}

// The first of the old nodes that `to` may stand for, by what its consumers
// read in the old version.
NodeId Placing::EarliestProducer(NodeId to, NodeId known,
                                 const IdVector<NodeId, NodeId>& likes) const {
  NodeId first = known;
  for (const ValueId value : to_.Outputs(to)) {
    if (value == kNo<ValueId>) continue;
    for (const NodeId reader : to_.Consumers(value)) {
      if (likes[reader] == kNo<NodeId>) continue;
      const NodeId old = OldProducer(to, value, reader, likes[reader]);
      if (old != kNo<NodeId> && old < first) first = old;
    }
  }
  return first;
}

// The counterparts. A tool that merges equal nodes of several layers keeps the
// first of them, but the matching may have found another.
IdVector<NodeId, NodeId> Placing::FirstOfMerged() const {
  IdVector<NodeId, NodeId> likes(to_.node_count(), kNo<NodeId>);
  IdVector<NodeId, bool> changed(to_.node_count(), false);
  const auto readers = [](const Model& model, NodeId node) {
    std::size_t count = 0;
    for (const ValueId value : model.Outputs(node)) {
      if (value != kNo<ValueId>) count += model.Consumers(value).size();
    }
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
    ForEachReader(to, [&](NodeId reader) { merged |= changed[reader]; });
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

bool Placing::IsSetting(const Model& model, const Operators& ops, NodeId node,
                        ValueId input) {
  return Describe(ops[node]).first_setting == 1 &&
         !model.Inputs(node).empty() && FirstInput(model, node) != input;
}

NodeId Placing::OldNodeNamed(std::string_view name) const {
  if (IsCounted(name) && !matching_.trusts_counted_names()) {
    return kNo<NodeId>;
  }
  const NodeId node = names_.Node(name);
  if (node != kNo<NodeId>) return node;
  // Quantizers name a node after the value that it quantizes.
  const ValueId value = names_.Value(name);
  return value == kNo<ValueId> ? kNo<NodeId> : from_[value].producer;
}

NodeId Placing::NamedAfter(NodeId to, bool& helper) const {
  const std::string_view name = to_[to].name;
  if (name.empty()) return kNo<NodeId>;
  const NodeId same = OldNodeNamed(name);
  if (same != kNo<NodeId>) return same;
  const hierarchy::StrippedName undone = hierarchy::UndoNodeName(name);
  helper = undone.quantizer || undone.cast;
  return undone.name == name ? kNo<NodeId> : OldNodeNamed(undone.name);
}

// The old node that had the output of `to`.
NodeId Placing::GaveTheSame(NodeId to) const {
  for (const ValueId value : to_.Outputs(to)) {
    if (value == kNo<ValueId>) continue;
    const ValueId old = matching_.Of(value);
    if (old != kNo<ValueId> && from_[old].producer != kNo<NodeId>) {
      return from_[old].producer;
    }
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
    merged_.emplace_back(to, from);
  } else {
    // The other nodes that it replaces may belong to another module, above
    // all if the old node still exists.
    const bool unsure = only_form || matching_.Taken(from) ||
                        versions_.to_ops[to] == Op::kIdentity;
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
void Placing::PlaceByResults() {
  for (const NodeId to : to_.Nodes()) {
    if (!IsOpen(to)) continue;
    bool helper = false;
    if (NamedAfter(to, helper) != kNo<NodeId>) continue;  // merged
    const NodeId from = GaveTheSame(to);
    if (from != kNo<NodeId>) PlaceNamed(to, from, false, helper);
  }
  // If two consecutive Reshapes are merged, the shape of the second and the
  // name of the first remain. The node belongs to its consumer.
  std::reverse(merged_.begin(), merged_.end());
  for (const auto& [to, from] : merged_) {
    if (PlaceByConsumers(to, Confidence::kMedium)) {
      places_[to].found = &TransferCounts::fused;
      stands_in_[from] = true;
    } else {
      PlaceLike(to, from, &TransferCounts::fused, Confidence::kLow);
    }
  }
}

// Places nodes by a weight, if only one module read it in the old version.
void Placing::PlaceByParameters() {
  std::vector<NodeId> read;  // the old readers of the node's parameters
  for (const NodeId to : to_.Nodes()) {
    // A node that only passes a weight on belongs to its consumer.
    if (!IsOpen(to) || versions_.to_ops.Is(to, kPassThrough)) continue;
    NodeId like = kNo<NodeId>;
    bool one = true;
    read.clear();
    for (const ValueId input : to_.Inputs(to)) {
      if (input == kNo<ValueId> || to_[input].producer != kNo<NodeId> ||
          IsSetting(to_, versions_.to_ops, to, input)) {
        continue;
      }
      ValueId old = matching_.Of(input);
      if (old == kNo<ValueId>) {
        const std::string_view name = to_.ValueName(input);
        const hierarchy::StrippedName undone = hierarchy::UndoTensorName(name);
        if (undone.name == name || IsCounted(undone.name)) continue;
        old = names_.Value(undone.name);
      }
      if (old == kNo<ValueId>) continue;
      const auto readers = from_.Consumers(old);
      // Constants with many consumers say nothing, nor does one that a tool
      // merged with equal ones.
      if (readers.empty() || readers.size() > 2 ||
          to_.Consumers(input).size() > readers.size()) {
        continue;
      }
      for (const NodeId reader : readers) {
        if (!tags_.tags[reader].tagged() ||
            IsSetting(from_, versions_.from_ops, reader, old)) {
          continue;
        }
        one &= like == kNo<NodeId> ||
               tags_.tags[reader].module == tags_.tags[like].module;
        like = reader;
        read.push_back(reader);
      }
    }
    if (like == kNo<NodeId> || !one) continue;
    PlaceLike(to, like, &TransferCounts::fused, Confidence::kHigh);
    for (const NodeId reader : read) stands_in_[reader] = true;
  }
}

// Places nodes that were inserted between two neighbours: the counterpart of
// their consumer read the same value in the old version.
void Placing::PlaceInserted() {
  for (std::size_t i = to_.node_count(); i-- > 0;) {
    const auto to = MakeId<NodeId>(i);
    if (!IsOpen(to) || !versions_.to_ops.Is(to, kPassThrough)) continue;
    ValueId read = FirstInput(to_, to);
    for (std::size_t steps = 0; steps < kMostInserted; ++steps) {
      if (read == kNo<ValueId> || matching_.Of(read) != kNo<ValueId>) break;
      const NodeId producer = to_[read].producer;
      if (producer == kNo<NodeId> ||
          !versions_.to_ops.Is(producer, kPassThrough)) {
        break;
      }
      read = FirstInput(to_, producer);
    }
    if (read == kNo<ValueId> || matching_.Of(read) == kNo<ValueId>) continue;
    const ValueId old = matching_.Of(read);
    bool between = true;
    ForEachReader(to, [&](NodeId reader) {
      const NodeId like = places_[reader].like;
      if (like == kNo<NodeId>) {
        between = false;
        return;
      }
      const auto inputs = from_.Inputs(like);
      between &= std::find(inputs.begin(), inputs.end(), old) != inputs.end();
    });
    if (!between) continue;
    PlaceByConsumers(to, Confidence::kHigh);
  }
}

// The ladder places what the pairs do not say.
void Placing::Climb(const Evidence& evidence, StrategySet rungs, FoundBy found,
                    Confidence limit) {
  Placed placed(places_.size());
  for (const NodeId to : to_.Nodes()) {
    const Place& place = places_[to];
    if (place.module == kNo<ModuleId>) continue;
    Accept({to, place.module, place.confidence, Source::kTransfer, ""}, placed);
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
  };
  ForEachReader(to, look);
  for (const ValueId input : to_.Inputs(to)) {
    if (input != kNo<ValueId> && to_[input].producer != kNo<NodeId>) {
      look(to_[input].producer);
    }
  }
  return like;
}

bool Placing::PlaceByConsumers(NodeId to, Confidence limit) {
  ModuleId module = kNo<ModuleId>;
  NodeId like = kNo<NodeId>;
  Confidence weakest = Confidence::kCertain;
  bool one = true;
  ForEachReader(to, [&](NodeId reader) {
    const Place& place = places_[reader];
    if (place.module == kNo<ModuleId>) {
      one = false;
      return;
    }
    one &= module == kNo<ModuleId> || module == place.module;
    module = place.module;
    like = place.like;
    weakest = std::min(weakest, place.confidence);
  });
  if (!one || module == kNo<ModuleId>) return false;
  places_[to] = {&TransferCounts::helpers, module, like,
                 std::min(AfterAGuess(weakest), limit)};
  return true;
}

}  // namespace onnx_tag::transfer
