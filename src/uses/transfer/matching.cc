#include "uses/transfer/matching.h"

#include <algorithm>

#include "base/lists.h"
#include "clues/exporters/tools/original_name.h"
#include "core/graph/neighbours.h"
#include "core/graph/walk.h"
#include "mapping/evidence/evidence.h"

namespace onnx_tag::transfer {

Unquantized::Unquantized(const Model& model, const Operators& ops, bool skip)
    : model_(model) {
  if (!skip) return;
  for (const ValueId value : AllIds<ValueId>(model.value_count())) {
    sources_.Add(value);
  }
  for (const NodeId node : model.Nodes()) {
    const ValueId output = FirstOutput(model, node);
    const ValueId quantized = FirstInput(model, node);
    if (!ops.Is(node, OpKind::kDequantizer) || output == kNo<ValueId> ||
        quantized == kNo<ValueId>) {
      continue;
    }
    const NodeId quantizer = model.Producer(quantized);
    ValueId source = quantized;
    if (quantizer != kNo<NodeId>) {
      if (!ops.Is(quantizer, OpKind::kQuantizer)) continue;
      source = FirstInput(model, quantizer);
      if (source == kNo<ValueId>) continue;
    }
    sources_[output] = sources_[source];
    restored_[sources_[source]].push_back(output);
  }
}

std::vector<NodeId> Unquantized::Readers(ValueId value) const {
  const auto direct = model_.Consumers(value);
  std::vector<NodeId> readers(direct.begin(), direct.end());
  const auto found = restored_.find(value);
  if (found == restored_.end()) return readers;
  for (const ValueId restored : found->second) {
    const auto more = model_.Consumers(restored);
    readers.insert(readers.end(), more.begin(), more.end());
  }
  std::sort(readers.begin(), readers.end());
  return readers;
}

Versions::Versions(const Model& old_version, const Model& new_version)
    : from(old_version),
      to_facts(GatherGraph(new_version)),
      to(new_version),
      from_ops(old_version),
      to_ops(to_facts.ops),
      from_plain(from, from_ops, !to_ops.HasAny(OpKind::kDequantizer)),
      to_plain(to, to_ops, !from_ops.HasAny(OpKind::kDequantizer)),
      in_from_(new_version.name_count(), kNo<NameId>),
      places_(OutputPlaces(new_version)),
      old_places_(OutputPlaces(old_version)) {
  for (const NameId name : AllIds<NameId>(to.name_count())) {
    in_from_[name] = from.FindName(to.Name(name));
  }
}

bool Versions::SameName(ValueId new_value, ValueId old) const {
  const std::string_view name = to.ValueName(new_value);
  const std::string_view old_name = from.ValueName(old);
  return name == old_name || hierarchy::UndoTensorName(name).name ==
                                 hierarchy::UndoTensorName(old_name).name;
}

Versions::Shapes Versions::CompareShapes(ValueId new_value, ValueId old) const {
  const Initializer* const a = to.InitializerOf(new_value);
  const Initializer* const b = from.InitializerOf(old);
  if (a == nullptr || b == nullptr) return Shapes::kUnknown;
  const auto dims = to.Dims(*a);
  const auto old_dims = from.Dims(*b);
  return std::equal(dims.begin(), dims.end(), old_dims.begin(), old_dims.end())
             ? Shapes::kSame
             : Shapes::kDifferent;
}

std::string_view LabelOf(const Model& model, GraphId graph) {
  return model[graph].kind == GraphKind::kFunction
             ? model.functions()[model[graph].function].name
             : model[graph].attribute;
}

namespace {

// The maximum number of consecutive nodes that a tool inserts or removes.
constexpr std::size_t kLongestDetour = 4;

bool IsConstant(const Model& model, ValueId value) {
  const NodeId producer = model.Producer(value);
  return producer == kNo<NodeId> ? model.InitializerOf(value) != nullptr
                                 : model.Inputs(producer).empty();
}

using enum Versions::Shapes;

}  // namespace

Matching::Matching(const Versions& versions)
    : versions_(versions),
      from_(versions.from),
      to_(versions.to),
      nodes_(to_.node_count()),
      values_(to_.value_count()),
      taken_(from_.node_count(), false),
      value_taken_(from_.value_count(), false),
      looks_(to_.node_count(), 0),
      product_of_(to_.node_count(), kNo<NodeId>) {
  for (const NodeId node : to_.Nodes()) {
    const auto inputs = to_.Inputs(node);
    if (!versions.to_ops.Is(node, OpKind::kInteger) || inputs.size() < 2 ||
        inputs[1] == kNo<ValueId>) {
      continue;
    }
    const QuantizedProduct parts =
        FindQuantizedProduct(versions.to_facts.links, node);
    for (const NodeId last : {parts.scaled, parts.bias}) {
      if (last != kNo<NodeId>) product_of_[last] = node;
    }
  }
}

void Matching::PairNodes(NodeId to, NodeId from, Confidence confidence) {
  if (!IsOpen(to)) return;
  nodes_[to] = {from, confidence};
  taken_[from] = true;
  const auto outputs = to_.Outputs(to);
  const auto old_outputs = from_.Outputs(from);
  const std::size_t count = std::min(outputs.size(), old_outputs.size());
  for (std::size_t i = 0; i < count; ++i) {
    if (outputs[i] == kNo<ValueId> || old_outputs[i] == kNo<ValueId>) continue;
    PairValues(outputs[i], old_outputs[i], confidence);
  }
  PairInputs(to, from, confidence);
  for (const GraphId graph : to_.Subgraphs(to)) {
    for (const GraphId old : from_.Subgraphs(from)) {
      if (LabelOf(to_, graph) == LabelOf(from_, old)) {
        PairGraphs(graph, old, confidence);
      }
    }
  }
}

void Matching::PairValues(ValueId to, ValueId from, Confidence confidence) {
  to = versions_.to_plain.Source(to);
  from = versions_.from_plain.Source(from);
  if (values_[to].from != kNo<ValueId>) return;
  values_[to] = {from, confidence};
  value_taken_[from] = true;
  upstream_.push_back(to);
  downstream_.push_back(to);
  gaps_.push_back(to);
}

bool Matching::PassesOn(NodeId to) const {
  const ValueId output = FirstOutput(to_, to);
  const ValueId input = FirstInput(to_, to);
  if (!IsOpen(to) || output == kNo<ValueId> || input == kNo<ValueId> ||
      !versions_.to_ops.Is(to, kPassThrough)) {
    return false;
  }
  const ValueId from = Of(output);
  const NodeId old = ProducerOf(from_, from);
  return old != kNo<NodeId> &&
         (Of(input) == from ||
          (taken_[old] && !versions_.SameOperator(to, old)));
}

void Matching::PairGraphs(GraphId to, GraphId from, Confidence confidence) {
  graphs_.emplace_back(to, from);
  const auto pair = [&](const std::vector<ValueId>& values,
                        const std::vector<ValueId>& old) {
    if (values.size() != old.size()) return;
    for (std::size_t i = 0; i < values.size(); ++i) {
      PairValues(values[i], old[i], confidence);
    }
  };
  pair(to_[to].outputs, from_[from].outputs);
  pair(to_[to].inputs, from_[from].inputs);
}

// Pairs by names are found before this. So a swapped order of inputs can mostly
// be recognised.
bool Matching::InputsAreSwapped(NodeId to, NodeId from) const {
  const auto inputs = to_.Inputs(to);
  const auto old = from_.Inputs(from);
  const auto likeness = [&](std::size_t i, std::size_t j) {
    const ValueId input = versions_.to_plain.Source(inputs[i]);
    const ValueId other = versions_.from_plain.Source(old[j]);
    if (input == kNo<ValueId> || other == kNo<ValueId>) return 0;
    const ValueId known = values_[input].from;
    if (known != kNo<ValueId>) return known == other ? 8 : -8;
    const NodeId producer = to_[input].producer;
    const NodeId old_producer = from_[other].producer;
    if (IsConstant(to_, input) != IsConstant(from_, other)) return -4;
    if (producer == kNo<NodeId> || old_producer == kNo<NodeId>) {
      if (producer != old_producer) return 0;
      const bool weight = to_.InitializerOf(input) != nullptr;
      const bool old_weight = from_.InitializerOf(other) != nullptr;
      if (!weight && !old_weight) return 2;
      return versions_.CompareShapes(input, other) == kSame ? 2 : -2;
    }
    return versions_.SameOperator(producer, old_producer) ? 2 : 0;
  };
  return likeness(0, 1) + likeness(1, 0) > likeness(0, 0) + likeness(1, 1);
}

void Matching::PairInputs(NodeId to, NodeId from, Confidence confidence) {
  const auto inputs = to_.Inputs(to);
  const auto old = from_.Inputs(from);
  if (!versions_.SameOperator(to, from)) return;
  const bool swapped = inputs.size() == 2 && old.size() == 2 &&
                       versions_.to_ops.Is(to, OpKind::kCommutative) &&
                       InputsAreSwapped(to, from);
  // If a node with many inputs has another number of inputs than before, its
  // inputs are not followed.
  if (inputs.size() != old.size() && inputs.size() > 3) return;
  const Confidence next = std::min(confidence, Confidence::kHigh);
  for (std::size_t i = 0; i < std::min(inputs.size(), old.size()); ++i) {
    const ValueId other = old[swapped ? 1 - i : i];
    if (inputs[i] == kNo<ValueId> || other == kNo<ValueId>) continue;
    // No tool computes what was a constant.
    const NodeId maker = to_[inputs[i]].producer;
    if (IsConstant(from_, other) && !IsConstant(to_, inputs[i]) &&
        maker != kNo<NodeId> && !versions_.to_ops.Is(maker, kPassThrough)) {
      continue;
    }
    PairValues(inputs[i], other, next);
  }
}

void Matching::Follow() {
  while (true) {
    if (!upstream_.empty()) {
      const ValueId to = upstream_.front();
      upstream_.pop_front();
      PairQuantizedProducer(to);
      PairProducers(to, values_[to].from);
    } else if (graphs_.empty() && !downstream_.empty()) {
      const ValueId to = downstream_.front();
      downstream_.pop_front();
      PairConsumers(to, values_[to].from);
    } else {
      return;
    }
  }
}

void Matching::PairProducers(ValueId to, ValueId from) {
  const NodeId node = to_[to].producer;
  const NodeId old = from_[from].producer;
  if (node == kNo<NodeId> || old == kNo<NodeId> || !IsOpen(node)) return;
  if (versions_.SameOperator(node, old) && versions_.SameOutput(to, from)) {
    PairNodes(node, old, std::min(values_[to].confidence, Confidence::kHigh));
  } else {
    LookThrough(to, from);
  }
}

// If one version has an additional Cast, Reshape or pair of quantizers, it is
// skipped: the nearest producers with the same operator correspond. A quantizer
// whose range begins at 0 replaces an activation.
void Matching::LookThrough(ValueId to, ValueId from) {
  const bool quantized =
      versions_.to_plain.skips() || versions_.from_plain.skips();
  const auto chain = [&](const Model& model, const Operators& ops,
                         const Unquantized& plain, ValueId value) {
    std::vector<ValueId> values = {value};
    while (values.size() <= kLongestDetour) {
      const NodeId node = model.Producer(values.back());
      const bool passes =
          ops.Is(node, kPassThrough) ||
          (quantized && (ops[node] == Op::kRelu || ops[node] == Op::kClip));
      if (node == kNo<NodeId> || !passes ||
          FirstInput(model, node) == kNo<ValueId>) {
        break;
      }
      values.push_back(plain.Source(FirstInput(model, node)));
    }
    return values;
  };
  const std::vector<ValueId> values =
      chain(to_, versions_.to_ops, versions_.to_plain, to);
  const std::vector<ValueId> old_values =
      chain(from_, versions_.from_ops, versions_.from_plain, from);
  for (std::size_t steps = 1; steps <= 2 * kLongestDetour; ++steps) {
    for (std::size_t i = 0; i <= steps; ++i) {
      const std::size_t j = steps - i;
      if (i >= values.size() || j >= old_values.size()) continue;
      const NodeId node = to_[values[i]].producer;
      const NodeId old = from_[old_values[j]].producer;
      if (node == kNo<NodeId> || old == kNo<NodeId>) {
        // Both paths end at a weight or an input.
        if (node != old) continue;
      } else if (!versions_.SameOperator(node, old) ||
                 versions_.to_ops.Is(node, kPassThrough)) {
        continue;
      }
      // The value has its pair already: what the old detour gave.
      if (i == 0 && node != kNo<NodeId> &&
          versions_.SameOutput(values[i], old_values[j])) {
        if (!taken_[old]) PairNodes(node, old, Confidence::kMedium);
      } else {
        PairValues(values[i], old_values[j], Confidence::kMedium);
      }
      PairDetours(std::span(values).first(i), std::span(old_values).first(j));
      return;
    }
  }
  // Both paths end at nodes with other operators, but the data are the same.
  if (values.size() + old_values.size() > 2) {
    PairValues(values.back(), old_values.back(), Confidence::kMedium);
  }
}

// Pairs the nodes of two paths that have the only one of their operator.
void Matching::PairDetours(std::span<const ValueId> values,
                           std::span<const ValueId> old_values) {
  for (const ValueId value : values) {
    const NodeId node = to_[value].producer;
    NodeId only = kNo<NodeId>;
    std::size_t count = 0;
    for (const ValueId other : values) {
      count += to_[to_[other].producer].op_type == to_[node].op_type ? 1u : 0u;
    }
    for (const ValueId other : old_values) {
      if (!versions_.SameOperator(node, from_[other].producer)) continue;
      only = from_[other].producer;
      ++count;
    }
    if (count == 2 && only != kNo<NodeId> && !taken_[only]) {
      PairNodes(node, only, Confidence::kMedium);
    }
  }
}

int Matching::AgreeingInputs(NodeId to, NodeId from) const {
  const auto sources = [](const Unquantized& plain, auto values) {
    std::vector<ValueId> found(values.begin(), values.end());
    for (ValueId& value : found) value = plain.Source(value);
    return found;
  };
  const auto inputs = sources(versions_.to_plain, to_.Inputs(to));
  const auto old = sources(versions_.from_plain, from_.Inputs(from));
  const bool any_order = versions_.to_ops.Is(to, OpKind::kCommutative) &&
                         old.size() <= kMostNeighbours;
  int agreeing = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == kNo<ValueId>) continue;
    const ValueId known = values_[inputs[i]].from;
    const bool constant = to_[inputs[i]].producer == kNo<NodeId>;
    const bool same_place = i < old.size() && known == old[i];
    if (known != kNo<ValueId> &&
        (same_place || (any_order && IsAmong(known, old)))) {
      ++agreeing;
      continue;
    }
    // Tools merge equal constants.
    if (known != kNo<ValueId> && !constant) return -1;
    if (i >= old.size() || old[i] == kNo<ValueId>) continue;
    if (!any_order &&
        versions_.CompareShapes(inputs[i], old[i]) == kDifferent) {
      return -1;
    }
  }
  return agreeing;
}

bool Matching::ConsumersAlike(NodeId to, NodeId from) const {
  const ValueId output = FirstOutput(to_, to);
  const ValueId old = FirstOutput(from_, from);
  if (output == kNo<ValueId> || old == kNo<ValueId>) return false;
  const auto consumers = versions_.to_plain.Readers(output);
  const auto old_consumers = versions_.from_plain.Readers(old);
  return consumers.size() <= kMostNeighbours &&
         old_consumers.size() <= kMostNeighbours &&
         std::find_first_of(consumers.begin(), consumers.end(),
                            old_consumers.begin(), old_consumers.end(),
                            [&](NodeId a, NodeId b) {
                              return versions_.SameOperator(a, b);
                            }) != consumers.end();
}

void Matching::PairConsumers(ValueId to, ValueId from) {
  const auto readers = versions_.to_plain.Readers(to);
  const auto old_readers = versions_.from_plain.Readers(from);
  if (readers.size() > kMostNeighbours ||
      old_readers.size() > kMostNeighbours) {
    return;
  }
  for (const NodeId reader : readers) {
    if (!IsOpen(reader) || looks_[reader] == kMostNeighbours) continue;
    ++looks_[reader];
    const std::size_t rivals = CountIn(readers, [&](NodeId other) {
      return IsOpen(other) && to_[other].op_type == to_[reader].op_type;
    });
    NodeId best = kNo<NodeId>;
    int most = -1;
    int candidates = 0;
    bool tie = false;
    for (const NodeId old : old_readers) {
      if (taken_[old] || !versions_.SameOperator(reader, old) || old == best) {
        continue;
      }
      const int agreeing = AgreeingInputs(reader, old);
      if (agreeing < 1) continue;
      ++candidates;
      tie = agreeing == most;
      if (agreeing > most) {
        most = agreeing;
        best = old;
      }
    }
    if (best == kNo<NodeId> || tie) continue;
    const bool alone = rivals == 1 && candidates == 1;
    if (most >= 2 || (alone && ConsumersAlike(reader, best))) {
      PairNodes(reader, best, Confidence::kHigh);
    }
  }
}

void Matching::PairQuantizedProducer(ValueId to) {
  const NodeId last = to_[to].producer;
  const NodeId old = ProducerOf(from_, values_[to].from);
  if (last == kNo<NodeId> || old == kNo<NodeId>) return;
  const NodeId product = product_of_[last];
  if (product == kNo<NodeId> || !IsOpen(product) || taken_[old]) return;
  const bool convolution = versions_.to_ops.Is(product, OpKind::kConvolution);
  const auto inputs = from_.Inputs(old);
  if (inputs.size() < 2 ||
      !(convolution ? versions_.from_ops.Is(old, {Op::kConv})
                    : versions_.from_ops.Is(old, {Op::kMatMul, Op::kGemm}))) {
    return;
  }
  const QuantizedProduct parts =
      FindQuantizedProduct(versions_.to_facts.links, product);
  const ValueId data = FirstInput(
      to_, parts.quantizer == kNo<NodeId> ? product : parts.quantizer);
  const ValueId weight = to_.Inputs(product)[1];
  const ValueId scaled = FirstOutput(to_, parts.scaled);
  const ValueId biased = FirstOutput(to_, parts.bias);
  const auto agrees = [&](ValueId value, ValueId other) {
    return value != kNo<ValueId> && (values_[value].from == kNo<ValueId> ||
                                     values_[value].from == other);
  };
  if (scaled == kNo<ValueId> || !agrees(data, inputs[0]) ||
      !agrees(weight, inputs[1])) {
    return;
  }
  nodes_[product] = {old, Confidence::kHigh};
  taken_[old] = true;
  const auto pair = [&](ValueId value, ValueId from) {
    if (from != kNo<ValueId>) PairValues(value, from, Confidence::kHigh);
  };
  pair(data, inputs[0]);
  pair(weight, inputs[1]);
  // The old node with a bias gave what the Add gives now.
  const bool had_bias = inputs.size() > 2 && inputs[2] != kNo<ValueId>;
  pair(had_bias && biased != kNo<ValueId> ? biased : scaled,
       FirstOutput(from_, old));
}

}  // namespace onnx_tag::transfer
