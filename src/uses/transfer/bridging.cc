// Pairs across nodes that a tool merged, inserted or took away.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/graph/walk.h"
#include "uses/transfer/matching.h"

namespace onnx_tag::transfer {
namespace {

// The edges of the gap behind or before a value that are looked at.
constexpr std::size_t kWidestGap = 64;

// The nodes without a counterpart between `value` and the next landmarks, these
// included.
template <typename IsOpen>
std::vector<NodeId> Gap(const Model& model, const Signatures& signatures,
                        ValueId value, bool upstream, const IsOpen& is_open) {
  std::vector<NodeId> gap;
  std::size_t edges = 0;
  const auto enter = [&](NodeId node) {
    if (node != kNo<NodeId> && ++edges <= kWidestGap && is_open(node) &&
        std::find(gap.begin(), gap.end(), node) == gap.end()) {
      gap.push_back(node);
    }
  };
  if (upstream) {
    enter(model.Producer(value));
  } else {
    for (const NodeId reader : model.Consumers(value)) enter(reader);
  }
  for (std::size_t at = 0; at < gap.size() && edges <= kWidestGap; ++at) {
    if (signatures.IsLandmark(gap[at])) continue;
    if (upstream) {
      for (const NodeId maker : Makers(model, gap[at])) enter(maker);
    } else {
      for (const NodeId reader : Readers(model, gap[at])) enter(reader);
    }
  }
  return gap;
}

}  // namespace

bool Matching::Bridge(ValueId to, ValueId from, bool upstream) {
  const std::vector<NodeId> gap =
      Gap(to_, to_signatures_.value(), to, upstream,
          [&](NodeId node) { return IsOpen(node); });
  if (gap.empty()) return false;
  const std::vector<NodeId> old_gap =
      Gap(from_, from_signatures_.value(), from, upstream,
          [&](NodeId node) { return !taken_[node]; });
  if (old_gap.empty()) return false;
  bool found = false;
  for (std::size_t depth = Signatures::kDepths; depth-- > 0;) {
    std::unordered_map<std::uint64_t, std::pair<NodeId, NodeId>> alike;
    std::unordered_set<std::uint64_t> several;
    const auto add = [&](const Signatures& signatures, NodeId node, bool old) {
      // Landmarks first: what is between them follows from them.
      if (depth == 0 && !signatures.IsLandmark(node)) return;
      const std::uint64_t signature = signatures.Of(node, depth);
      auto& pair =
          alike.try_emplace(signature, kNo<NodeId>, kNo<NodeId>).first->second;
      NodeId& place = old ? pair.second : pair.first;
      if (place != kNo<NodeId>) several.insert(signature);
      place = node;
    };
    for (const NodeId node : gap) {
      if (IsOpen(node)) add(*to_signatures_, node, false);
    }
    for (const NodeId node : old_gap) {
      if (!taken_[node]) add(*from_signatures_, node, true);
    }
    for (const NodeId node : gap) {
      const std::uint64_t signature = to_signatures_->Of(node, depth);
      const auto at = alike.find(signature);
      if (at == alike.end() || at->second.first != node ||
          at->second.second == kNo<NodeId> || several.contains(signature)) {
        continue;
      }
      PairAcross(node, at->second.second);
      found = true;
    }
    if (found) break;
  }
  return found;
}

// A fused node gives the result of another node than the one that it stands
// for, but reads what that one read.
void Matching::PairAcross(NodeId to, NodeId from) {
  if (versions_.SameOperator(to, from)) {
    PairNodes(to, from, Confidence::kMedium);
    return;
  }
  nodes_[to] = {from, Confidence::kMedium};
  taken_[from] = true;
  const auto inputs = to_.Inputs(to);
  const auto old = from_.Inputs(from);
  const Operator& is = Describe(versions_.to_ops[to]);
  const Operator& was = Describe(versions_.from_ops[from]);
  for (std::size_t i = 0; i < std::min(inputs.size(), old.size()); ++i) {
    if (inputs[i] == kNo<ValueId> || old[i] == kNo<ValueId>) continue;
    if (i < 2 || is.Input(i) == was.Input(i)) {
      PairValues(inputs[i], old[i], Confidence::kMedium);
    }
  }
}

bool Matching::BridgeGaps() {
  if (!to_signatures_) {
    to_signatures_.emplace(to_, versions_.to_ops);
    from_signatures_.emplace(from_, versions_.from_ops);
  }
  bool found = false;
  for (const ValueId to : AllIds<ValueId>(to_.value_count())) {
    const ValueId from = values_[to].from;
    if (from == kNo<ValueId>) continue;
    for (const bool upstream : {true, false}) {
      if (!Bridge(to, from, upstream)) continue;
      found = true;
      Follow();
    }
  }
  return found;
}

}  // namespace onnx_tag::transfer
