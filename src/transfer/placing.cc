#include "transfer/placing.h"

#include <algorithm>

#include "exporters/tools/original_name.h"
#include "transfer/operators.h"

namespace onnx_tag::transfer {
namespace {

// The maximum number of consecutive nodes that a tool inserts.
constexpr std::size_t kMostInserted = 4;

// The confidence next to a tag that is itself a guess.
Confidence AfterAGuess(Confidence known) {
  return known < Confidence::kHigh ? Confidence::kLow : known;
}

}  // namespace

Placing::Placing(const Matching& matching, const Tagging& tags)
    : matching_(matching),
      to_(matching.to()),
      from_(matching.from()),
      texts_(matching.texts()),
      tags_(tags),
      names_(from_, texts_),
      places_(to_.node_count()),
      stands_in_(from_.node_count(), false) {
  PlaceCounterparts();
  const bool strangers = AreStrangers();
  PlaceByNames();
  PlaceByParameters();
  PlaceByResults();
  PlaceQuantized();
  if (!strangers) {
    PlaceGemmReshapes();
    PlaceInserted();
    PlaceByRegion();
    PlaceHelpers();
    PlaceNearby();
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

bool Placing::PlaceIn(NodeId to, ModuleId module, FoundBy found,
                      Confidence confidence) {
  if (!IsOpen(to)) return false;
  places_[to] = {found, module, kNo<NodeId>, confidence};
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
         old[0] != kNo<ValueId> && to_[outputs[0]].name == from_[old[0]].name;
}

// The node like `to` whose result `old_reader` reads where `reader` reads
// `value`; kNo if the order of the operands does not tell.
NodeId Placing::OldProducer(NodeId to, ValueId value, NodeId reader,
                            NodeId old_reader) const {
  const auto inputs = to_.Inputs(reader);
  const auto old = from_.Inputs(old_reader);
  const bool any_order = IsCommutative(texts_[to_[reader].op]);
  NodeId found = kNo<NodeId>;
  for (std::size_t i = 0; i < std::min(inputs.size(), old.size()); ++i) {
    if (old[i] == kNo<ValueId> || (!any_order && inputs[i] != value)) continue;
    const NodeId producer = from_[old[i]].producer;
    if (producer == kNo<NodeId> || from_[producer].op != to_[to].op) continue;
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
  const auto readers = [](const Outline& outline, NodeId node) {
    std::size_t count = 0;
    for (const ValueId value : outline.Outputs(node)) {
      if (value != kNo<ValueId>) count += outline.Consumers(value).size();
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

bool Placing::IsSetting(const Outline& outline, NodeId node,
                        ValueId input) const {
  const auto inputs = outline.Inputs(node);
  return TakesSettings(texts_[outline[node].op]) && !inputs.empty() &&
         inputs[0] != input;
}

NodeId Placing::OldNodeNamed(std::string_view name) const {
  if (IsCounted(name)) return kNo<NodeId>;
  const NodeId node = names_.Node(name);
  if (node != kNo<NodeId>) return node;
  // Quantizers name a node after the value that it quantizes.
  const ValueId value = names_.Value(name);
  return value == kNo<ValueId> ? kNo<NodeId> : from_[value].producer;
}

NodeId Placing::NamedAfter(NodeId to, bool& helper) const {
  const std::string_view name = texts_[to_[to].name];
  if (name.empty()) return kNo<NodeId>;
  const NodeId same = OldNodeNamed(name);
  if (same != kNo<NodeId>) return same;
  const hierarchy::Undone undone = hierarchy::UndoNodeName(name);
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
  const bool only_form = IsPassThrough(texts_[to_[to].op]) &&
                         IsPassThrough(texts_[from_[from].op]);
  if (helper) {
    PlaceLike(to, from, &TransferCounts::helpers, Confidence::kCertain);
  } else if (only_form && by_name) {
    merged_.emplace_back(to, from);
  } else {
    // The other nodes that it replaces may belong to another module, above
    // all if the old node still exists.
    const bool unsure =
        only_form || matching_.Taken(from) || texts_[to_[to].op] == "Identity";
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
    if (!IsOpen(to) || IsPassThrough(texts_[to_[to].op])) continue;
    NodeId like = kNo<NodeId>;
    bool one = true;
    read.clear();
    for (const ValueId input : to_.Inputs(to)) {
      if (input == kNo<ValueId> || to_[input].producer != kNo<NodeId> ||
          IsSetting(to_, to, input)) {
        continue;
      }
      ValueId old = matching_.Of(input);
      if (old == kNo<ValueId>) {
        const std::string_view name = texts_[to_[input].name];
        const hierarchy::Undone undone = hierarchy::UndoTensorName(name);
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
        if (!tags_.tags[reader].tagged() || IsSetting(from_, reader, old)) {
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

// A Gemm that was a MatMul with a bias stands between two Reshapes.
void Placing::PlaceGemmReshapes() {
  const auto join = [&](NodeId node, NodeId gemm) {
    if (node == kNo<NodeId> || texts_[to_[node].op] != "Reshape") return;
    PlaceLike(node, places_[gemm].like, &TransferCounts::helpers,
              std::min(places_[gemm].confidence, Confidence::kHigh));
  };
  for (const NodeId to : to_.Nodes()) {
    const NodeId like = places_[to].like;
    if (like == kNo<NodeId> || texts_[to_[to].op] != "Gemm" ||
        texts_[from_[like].op] == "Gemm" || to_.Inputs(to).empty() ||
        to_.Outputs(to).empty()) {
      continue;
    }
    const ValueId data = to_.Inputs(to)[0];
    const ValueId result = to_.Outputs(to)[0];
    if (data != kNo<ValueId> && to_.Consumers(data).size() == 1) {
      join(to_[data].producer, to);
    }
    if (result != kNo<ValueId> && to_.Consumers(result).size() == 1) {
      join(to_.Consumers(result)[0], to);
    }
  }
}

// Places the nodes of a quantized product together.
void Placing::PlaceQuantized() {
  for (const QuantizedProduct& product : matching_.quantized()) {
    NodeId known = kNo<NodeId>;
    for (const NodeId node : {product.product, product.result}) {
      if (known == kNo<NodeId> && places_[node].like != kNo<NodeId>) {
        known = node;
      }
    }
    if (known == kNo<NodeId>) continue;
    const Place place = places_[known];
    const auto join = [&](NodeId node, FoundBy found) {
      PlaceLike(node, place.like, found,
                std::min(place.confidence, Confidence::kHigh));
    };
    join(product.product, &TransferCounts::fused);
    join(product.result, &TransferCounts::fused);
    // A bias that the old product did not add has its own counterpart.
    if (product.bias != kNo<NodeId> && from_.Inputs(place.like).size() > 2) {
      join(product.bias, &TransferCounts::fused);
    }
    for (const NodeId helper : product.helpers)
      join(helper, &TransferCounts::helpers);
  }
}

// Places nodes that were inserted between two neighbours: the counterpart of
// their consumer read the same value in the old version.
void Placing::PlaceInserted() {
  for (std::size_t i = to_.node_count(); i-- > 0;) {
    const auto to = MakeId<NodeId>(i);
    if (!IsOpen(to) || !IsPassThrough(texts_[to_[to].op])) continue;
    ValueId read = to_.Inputs(to).empty() ? kNo<ValueId> : to_.Inputs(to)[0];
    for (std::size_t steps = 0; steps < kMostInserted; ++steps) {
      if (read == kNo<ValueId> || matching_.Of(read) != kNo<ValueId>) break;
      const NodeId producer = to_[read].producer;
      if (producer == kNo<NodeId> || !IsPassThrough(texts_[to_[producer].op])) {
        break;
      }
      read =
          to_.Inputs(producer).empty() ? kNo<ValueId> : to_.Inputs(producer)[0];
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
    if (!PlaceByConsumers(to, Confidence::kHigh)) PlaceByProducers(to);
  }
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

bool Placing::PlaceByProducers(NodeId to) {
  ModuleId module = kNo<ModuleId>;
  NodeId like = kNo<NodeId>;
  Confidence weakest = Confidence::kCertain;
  for (const ValueId input : to_.Inputs(to)) {
    if (input == kNo<ValueId> || to_[input].producer == kNo<NodeId>) continue;
    const Place& place = places_[to_[input].producer];
    if (place.module == kNo<ModuleId> ||
        (module != kNo<ModuleId> && module != place.module)) {
      return false;
    }
    module = place.module;
    like = place.like;
    weakest = std::min(weakest, place.confidence);
  }
  if (module == kNo<ModuleId>) return false;
  places_[to] = {&TransferCounts::helpers, module, like,
                 std::min(AfterAGuess(weakest), Confidence::kMedium)};
  return true;
}

// Places nodes that a tool inserted in the module of their consumers. If these
// are in several modules, the node belongs to its producer.
void Placing::PlaceHelpers() {
  for (std::size_t i = to_.node_count(); i-- > 0;) {
    const auto to = MakeId<NodeId>(i);
    if (!IsOpen(to)) continue;
    const bool helper = IsPassThrough(texts_[to_[to].op]);
    if (PlaceByConsumers(to, helper ? Confidence::kMedium : Confidence::kLow) &&
        !helper) {
      places_[to].found = &TransferCounts::nearby;
    }
  }
  for (const NodeId to : to_.Nodes()) {
    if (IsOpen(to) && IsPassThrough(texts_[to_[to].op])) PlaceByProducers(to);
  }
}

// Places a node between different modules in their common ancestor.
void Placing::PlaceNearby() {
  const auto place = [&](NodeId to) {
    if (!IsOpen(to)) return;
    ModuleId common = kNo<ModuleId>;
    const auto add = [&](NodeId neighbour) {
      const ModuleId module = places_[neighbour].module;
      if (module == kNo<ModuleId>) return;
      common = common == kNo<ModuleId>
                   ? module
                   : tags_.modules.CommonAncestor(common, module);
    };
    for (const ValueId input : to_.Inputs(to)) {
      if (input != kNo<ValueId> && to_[input].producer != kNo<NodeId>) {
        add(to_[input].producer);
      }
    }
    ForEachReader(to, add);
    if (common != kNo<ModuleId>) {
      PlaceIn(to, common, &TransferCounts::nearby, Confidence::kLow);
    }
  };
  for (const NodeId to : to_.Nodes()) {
    if (IsOpen(to)) PlaceByProducers(to);
  }
  for (const NodeId to : to_.Nodes()) place(to);
  for (std::size_t i = to_.node_count(); i-- > 0;) place(MakeId<NodeId>(i));
}

}  // namespace onnx_tag::transfer
