// What rungs ask of the graph, of the modules, and of the tags accepted so far.
#pragma once

#include <array>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/lists.h"
#include "core/graph/neighbours.h"
#include "core/graph/walk.h"
#include "mapping/ladder/claim.h"

namespace onnx_tag {

// The MatMul with a constant weight to whose result `add` adds a constant; or
// kNo. A Cast, Reshape or DequantizeLinear between them is skipped.
NodeId MatMulBefore(const Evidence& evidence, NodeId add);

// By module: whether it holds the weights of several projections in one, as
// torch.nn.MultiheadAttention does. That one never calls its out_proj: it uses
// the weight.
IdVector<ModuleId, bool> ModulesThatPack(const Evidence& evidence);

// Whether torch.nn's own leaves have such a parameter: a module with no other
// has no arithmetic but its operator's.
bool IsPlainParameter(std::string_view name);

// What dynamic quantization makes of one product: the product in integers, the
// Mul of both scales, the Add of the bias, the Cast, and the Mul with the
// scales. kNo for what is not there.
using QuantizedParts = std::array<NodeId, 5>;
QuantizedParts PartsOfQuantized(const Evidence& evidence, NodeId product);

// A rung derives from it, or a part of a rung.
class RungBase {
 public:
  RungBase(const Evidence& evidence, const Placed& placed)
      : evidence_(evidence),
        model_(evidence.model),
        ops_(evidence.graph.ops),
        data_(evidence.graph.data),
        tree_(evidence.modules),
        placed_(placed) {}

 protected:
  static constexpr ModuleId kRoot = ModuleTree::kRoot;

  // ---- nodes

  bool IsOpen(NodeId node) const { return !placed_[node].tagged(); }
  // Whether it is placed by other evidence than its neighbours.
  bool IsKnown(NodeId node) const {
    return !IsOpen(node) && placed_[node].confidence > Confidence::kLow;
  }
  bool IsData(NodeId node) const { return data_.IsMadeBy(node); }
  // Whether it makes an output of its graph.
  bool IsResult(NodeId node) const {
    for (const ValueId output : model_.Outputs(node)) {
      if (output != kNo<ValueId> && model_[output].is_output) return true;
    }
    return false;
  }
  // Whether it computes with a weight that is constant: a layer, with or
  // without a name. The table says which inputs of an operator are weights.
  bool ReadsConstantWeight(NodeId node) const;
  // By node: whether a quantizer made it of a product whose module no name
  // tells. It is not of the module that reads the result.
  IdVector<NodeId, bool> PartsOfHidden() const;
  // Whether it pools. Between two layers it is as likely their caller's as the
  // second one's.
  bool IsPool(NodeId node) const {
    return ops_.Is(node, {Op::kMaxPool, Op::kAveragePool});
  }

  bool IsSameOperator(NodeId a, NodeId b) const {
    return model_[a].op_type == model_[b].op_type;
  }
  std::vector<NameId> OpsOf(const std::vector<NodeId>& nodes) const {
    std::vector<NameId> ops;
    for (const NodeId node : nodes) ops.push_back(model_[node].op_type);
    return ops;
  }
  Readers ReadersOf(NodeId node) const { return {model_, node}; }
  // The nodes that make its data.
  Makers MakersOf(NodeId node) const { return {model_, node, &data_}; }
  // Walk() against the data and along it.
  template <typename Visit>
  bool WalkBack(NodeId start, std::size_t limit, const Visit& visit) const {
    return WalkAlong(start, limit, visit,
                     [&](NodeId at) { return MakersOf(at); });
  }
  template <typename Visit>
  bool WalkOn(NodeId start, std::size_t limit, const Visit& visit) const {
    return WalkAlong(start, limit, visit,
                     [&](NodeId at) { return ReadersOf(at); });
  }
  NodeId FirstMaker(NodeId node) const {
    return ProducerOf(model_, FirstInput(model_, node));
  }
  // Both nodes, and the pairs of nodes behind them that have one operator at
  // the same place and that `takes` accepts. Empty if there are more than
  // `most`.
  std::vector<std::pair<NodeId, NodeId>> SameBefore(
      NodeId a, NodeId b, std::size_t most,
      const std::function<bool(NodeId, NodeId)>& takes) const;

  // ---- modules

  bool IsLeaf(ModuleId module) const { return tree_.Children(module).empty(); }
  // By module: whether a parameter shows arithmetic besides the operator of a
  // leaf of torch.nn.
  IdVector<ModuleId, bool> ModulesWithArithmetic() const;
  ModuleId Callable(ModuleId module) const {
    return evidence_.Callable(module);
  }
  // The module that calls both; kNo: nothing is known yet.
  ModuleId Join(ModuleId a, ModuleId b) const {
    if (a == kNo<ModuleId> || b == kNo<ModuleId>) {
      return a == kNo<ModuleId> ? b : a;
    }
    return evidence_.CommonCaller(a, b);
  }
  // The module that gets the result of `module`: a leaf has returned to its
  // caller.
  ModuleId AfterReturn(ModuleId module) const {
    return module == kRoot || !IsLeaf(module) ? module
                                              : Callable(tree_.Parent(module));
  }

  // ---- claims

  // Nothing if the node is placed already.
  void Propose(NodeId node, ModuleId module, Confidence confidence,
               Source source, std::string_view because) {
    if (!IsOpen(node)) return;
    claims_.push_back({node, module, confidence, source, because});
  }

  template <typename Visit, typename Neighbours>
  static bool WalkAlong(NodeId start, std::size_t limit, const Visit& visit,
                        const Neighbours& neighbours) {
    return Walk(
        start, limit,
        [&](NodeId at, const auto& go) {
          for (const NodeId node : neighbours(at)) {
            if (!go(node)) return;
          }
        },
        visit);
  }

  const Evidence& evidence_;
  const Model& model_;
  const Operators& ops_;
  const DataValues& data_;
  const ModuleTree& tree_;
  const Placed& placed_;
  std::vector<Claim> claims_;
};

}  // namespace onnx_tag
