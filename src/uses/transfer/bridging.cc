// Pairs across nodes that a tool merged, inserted or took away.
#include <algorithm>

#include "base/lists.h"
#include "core/graph/neighbours.h"
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
        !IsAmong(node, gap)) {
      gap.push_back(node);
    }
  };
  if (upstream) {
    enter(model.Producer(value));
  } else {
    for (const NodeId reader : model.Consumers(value)) enter(reader);
  }
  // A weight says nothing about the nodes behind its readers.
  if (model.InitializerOf(value) != nullptr) return gap;
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

template <typename IsOpen>
bool IsGap(const Model& model, ValueId value, bool upstream,
           const IsOpen& is_open) {
  const NodeId maker = model.Producer(value);
  return upstream ? maker != kNo<NodeId> && is_open(maker)
                  : AnyIn(model.Consumers(value), is_open);
}

// A Gemm takes its input in another form than a MatMul. The tool that wrote it
// inserted a Reshape, or merged it with one that existed.
ValueId BeforeReshapes(const Model& model, const Operators& ops,
                       ValueId value) {
  for (int i = 0; i < 2; ++i) {
    const NodeId maker = model.Producer(value);
    if (maker == kNo<NodeId> || ops[maker] != Op::kReshape ||
        FirstInput(model, maker) == kNo<ValueId>) {
      break;
    }
    value = FirstInput(model, maker);
  }
  return value;
}

}  // namespace

bool Matching::Bridge(ValueId to, ValueId from, bool upstream) {
  const auto is_open = [&](NodeId node) { return IsOpen(node); };
  const auto was_open = [&](NodeId node) { return !taken_[node]; };
  if (!IsGap(to_, to, upstream, is_open) ||
      !IsGap(from_, from, upstream, was_open)) {
    return false;
  }
  if (!to_signatures_) {
    to_signatures_.emplace(to_, versions_.to_ops);
    from_signatures_.emplace(from_, versions_.from_ops);
  }
  const std::vector<NodeId> gap =
      Gap(to_, *to_signatures_, to, upstream, is_open);
  const std::vector<NodeId> old_gap =
      Gap(from_, *from_signatures_, from, upstream, was_open);
  for (std::size_t depth = Signatures::kDepths; depth-- > 0;) {
    const auto only = [&](const Signatures& signatures,
                          const std::vector<NodeId>& nodes,
                          std::uint64_t signature) {
      NodeId found = kNo<NodeId>;
      for (const NodeId node : nodes) {
        if (signatures.Of(node, depth) != signature) continue;
        if (found != kNo<NodeId>) return kNo<NodeId>;
        found = node;
      }
      return found;
    };
    bool found = false;
    for (const NodeId node : gap) {
      // Landmarks first: what is between them follows from them.
      if (depth == 0 && !to_signatures_->IsLandmark(node)) continue;
      const std::uint64_t signature = to_signatures_->Of(node, depth);
      const NodeId old = only(*from_signatures_, old_gap, signature);
      if (old == kNo<NodeId> || only(*to_signatures_, gap, signature) != node) {
        continue;
      }
      PairAcross(node, old);
      found = true;
    }
    if (found) return true;
  }
  return false;
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
      PairValues(BeforeReshapes(to_, versions_.to_ops, inputs[i]),
                 BeforeReshapes(from_, versions_.from_ops, old[i]),
                 Confidence::kMedium);
    }
  }
  // What a bias was added to behind it gives the same. A Reshape behind the
  // fused node may give it in its place.
  const auto any = [](NodeId) { return true; };
  const NodeId sum = OnlyReader(from_, FirstOutput(from_, from), any);
  const ValueId result = FirstOutput(to_, to);
  const ValueId old_result = FirstOutput(from_, sum);
  const NodeId reader = OnlyReader(to_, result, any);
  if (inputs.size() < 3 || old.size() != 2 || result == kNo<ValueId> ||
      old_result == kNo<ValueId> || versions_.from_ops[sum] != Op::kAdd ||
      (reader != kNo<NodeId> && versions_.to_ops[reader] == Op::kReshape)) {
    return;
  }
  if (AnyIn(from_.Inputs(sum), [&](ValueId value) {
        return from_.InitializerOf(value) != nullptr;
      })) {
    PairValues(result, old_result, Confidence::kMedium);
  }
}

// A gap may close from its other side. So all values are looked at again, but
// not for each pair.
bool Matching::BridgeGaps() {
  constexpr int kMostPasses = 4;
  if (gaps_.empty()) {
    if (++passes_ > kMostPasses) return false;
    for (const ValueId to : AllIds<ValueId>(to_.value_count())) {
      if (values_[to].from != kNo<ValueId>) gaps_.push_back(to);
    }
  }
  bool found = false;
  while (!gaps_.empty()) {
    const ValueId to = gaps_.front();
    gaps_.pop_front();
    for (const bool upstream : {true, false}) {
      if (!Bridge(to, values_[to].from, upstream)) continue;
      found = true;
      Follow();
    }
  }
  return found;
}

}  // namespace onnx_tag::transfer
