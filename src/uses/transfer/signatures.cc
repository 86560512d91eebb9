#include "uses/transfer/signatures.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "base/hash.h"
#include "core/graph/neighbours.h"
#include "core/graph/walk.h"
#include "file/model/attributes.h"

namespace onnx_tag::transfer {
namespace {

// The edges that a walk to the next landmarks looks at.
constexpr std::size_t kFarthest = 48;

// The shape of the weight behind `value`; empty if there is none.
std::vector<std::int64_t> WeightDims(const Model& model, const Operators& ops,
                                     ValueId value) {
  bool transposed = false;
  for (int steps = 0; steps < 4 && value != kNo<ValueId>; ++steps) {
    if (const Initializer* const weight = model.InitializerOf(value)) {
      const auto shape = model.Dims(*weight);
      std::vector<std::int64_t> dims(shape.begin(), shape.end());
      if (transposed) std::reverse(dims.begin(), dims.end());
      return dims;
    }
    const NodeId maker = model.Producer(value);
    if (!ops.Is(maker, {OpKind::kTranspose, OpKind::kCast, OpKind::kIdentity,
                        OpKind::kQuantizer, OpKind::kDequantizer})) {
      break;
    }
    transposed ^= ops.Is(maker, OpKind::kTranspose);
    value = FirstInput(model, maker);
  }
  return {};
}

}  // namespace

Signatures::Signatures(const Model& model, const Operators& ops)
    : landmark_(model.node_count(), false) {
  constexpr OpKinds kLandmarks = {OpKind::kProduct,   OpKind::kConvolution,
                                  OpKind::kRecurrent, OpKind::kAttention,
                                  OpKind::kSoftmax,   OpKind::kPool,
                                  OpKind::kLookup,    OpKind::kResample,
                                  OpKind::kControl,   OpKind::kScatter};
  for (auto& signatures : signatures_) {
    signatures = IdVector<NodeId, std::uint64_t>(model.node_count(), 0);
  }
  for (const NodeId node : model.Nodes()) {
    landmark_[node] =
        ops.Is(node, kLandmarks) && !ops.Is(node, OpKind::kInteger);
    signatures_[0][node] = OwnOf(model, ops, node);
  }
  const auto upstream = [&](NodeId node, const auto& go) {
    ForEachMaker(model, node, go);
  };
  const auto downstream = [&](NodeId node, const auto& go) {
    ForEachReader(model, node, go);
  };
  for (std::size_t depth = 1; depth < kDepths; ++depth) {
    for (const NodeId node : model.Nodes()) {
      std::uint64_t before = 0;
      std::uint64_t behind = 0;
      // A sum: the order in which they are found does not count.
      const auto add = [&](std::uint64_t& sum) {
        return [&](NodeId found) {
          if (!landmark_[found]) return true;
          sum += HashMix(signatures_[depth - 1][found], 1);
          return false;
        };
      };
      Walk(node, kFarthest, upstream, add(before));
      Walk(node, kFarthest, downstream, add(behind));
      signatures_[depth][node] =
          HashMix(HashMix(signatures_[0][node], before), behind + 7);
    }
  }
}

std::uint64_t Signatures::OwnOf(const Model& model, const Operators& ops,
                                NodeId node) {
  const Op op = ops[node];
  const Op like = Describe(op).like == Op::kNone ? op : Describe(op).like;
  std::uint64_t own = ops.Is(node, OpKind::kProduct) ? 1
                      : like != Op::kNone
                          ? 2 + static_cast<std::uint64_t>(like)
                          : std::hash<std::string_view>()(model.OpType(node));
  for (const ValueId input : model.Inputs(node)) {
    std::vector<std::int64_t> dims = WeightDims(model, ops, input);
    if (dims.size() < 2) continue;
    if (op == Op::kGemm &&
        IntAttribute(model.NodeBytes(node), "transB", 0) != 0) {
      std::reverse(dims.begin(), dims.end());
    }
    // A quantizer turns the weights of recurrent layers round.
    if (ops.Is(node, OpKind::kRecurrent)) std::sort(dims.begin(), dims.end());
    for (const std::int64_t dim : dims) {
      own = HashMix(own, static_cast<std::uint64_t>(dim));
    }
  }
  return own;
}

}  // namespace onnx_tag::transfer
