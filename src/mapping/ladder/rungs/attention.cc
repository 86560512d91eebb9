// Decomposed attention: MatMul, Softmax, MatMul. The nodes between the input
// projections and the output projection belong to the module that calls the
// projections.
#include <algorithm>
#include <array>
#include <vector>

#include "core/tagging/module_format.h"
#include "mapping/ladder/claim.h"
#include "mapping/ladder/rungs/graph_patterns.h"
#include "mapping/ladder/rungs/shared_tables.h"

namespace onnx_tag {
namespace {

class AttentionCores {
 public:
  AttentionCores(const Evidence& evidence, const Placed& placed)
      : evidence_(evidence),
        model_(evidence.model),
        placed_(placed),
        core_of_(evidence.model.node_count(), kNo<NodeId>) {}

  std::vector<Claim> Run() {
    for (const NodeId node : model_.Nodes()) {
      if (!placed_[node].tagged() && model_.OpType(node) == "Softmax") {
        Consider(node);
      }
    }
    return std::move(claims_);
  }

 private:
  static constexpr std::size_t kMaxRegion = 300;

  bool IsCore(NodeId node) const {
    const std::string_view op = model_.OpType(node);
    return (op == "MatMul" || op == "FusedMatMul" || op == "MatMulInteger") &&
           !HasHiddenWeight(evidence_, node);
  }

  // A Linear with or without a name: a product with a constant weight.
  bool IsProjection(NodeId node) const {
    return model_.OpType(node) == "Gemm" || HasHiddenWeight(evidence_, node);
  }

  NodeId Next(NodeId node) const {
    for (const ValueId output : model_.Outputs(node)) {
      if (output == kNo<ValueId>) continue;
      for (const NodeId consumer : model_.Consumers(output)) {
        if (model_.OpType(consumer) != "Shape") return consumer;
      }
    }
    return kNo<NodeId>;
  }

  void Consider(NodeId softmax) {
    // Forward to the product with the values and to the output projection.
    region_.clear();
    NodeId at = softmax;
    bool product = false;
    NodeId out = kNo<NodeId>;
    for (int step = 0; step < 16 && at != kNo<NodeId>; ++step) {
      if (placed_[at].tagged() || IsProjection(at)) {
        out = at;
        break;
      }
      Add(at, softmax);
      product |= IsCore(at);
      at = Next(at);
    }
    if (!product) return Forget();
    const ModuleId outside = CallerOf(out);
    // Backward to the input projections.
    sources_ = kNo<ModuleId>;
    source_count_ = 0;
    usual_ = kNo<ModuleId>;
    for (std::size_t i = 0; i < region_.size() && i < kMaxRegion; ++i) {
      for (const ValueId input : model_.Inputs(region_[i])) {
        const NodeId producer = ProducerOf(model_, input);
        if (producer == kNo<NodeId> || evidence_.graph.data.IsConstant(input)) {
          continue;
        }
        Reach(producer, softmax, IsProjection(region_[i]));
      }
    }
    ModuleId module =
        sources_ != kNo<ModuleId> && source_count_ >= 2 ? sources_ : outside;
    const bool guessed = module == kNo<ModuleId>;
    if (guessed) module = usual_;
    if (module == kNo<ModuleId> || module == ModuleId{0}) return Forget();
    const bool own_code = CallsOwnCode(module);
    const bool doubtful = guessed || own_code;
    for (const NodeId node : region_) {
      // All layers do this alike: it is the part that nobody knows.
      if (own_code && IsShared(node)) continue;
      // The projections are submodules whose names are lost.
      const bool projection = IsProjection(node);
      claims_.push_back(
          {node, module,
           projection || doubtful ? Confidence::kLow : Confidence::kMedium,
           Source::kOperation,
           guessed ? "it is part of an attention; the name is the usual one "
                     "after this norm"
                   : "it is part of an attention whose projections this module "
                     "calls"});
    }
  }

  // Whether the hierarchy has a part without parameters in it whose operations
  // nobody knows, such as rotary positions.
  bool CallsOwnCode(ModuleId module) const {
    const ModuleId in_map = evidence_.known.InMap(module);
    if (in_map == kNo<ModuleId>) return false;
    const ModuleMap& map = *evidence_.known.map;
    for (const ModuleId child : map.tree.Children(in_map)) {
      if (map.modules[child].parameters.empty() &&
          map.tree.Children(child).empty() &&
          !TorchNnClasses().contains(map.tree.Class(child))) {
        return true;
      }
    }
    return false;
  }

  // Whether several layers do the same with the same table.
  bool IsShared(NodeId node) {
    if (shared_.empty()) {
      shared_.resize(model_.node_count(), false);
      for (const SharedCalls& calls :
           FindSharedCalls(evidence_, placed_, evidence_.graph.data)) {
        for (const std::vector<NodeId>& call : calls) {
          for (const NodeId part : call) shared_[part] = true;
        }
      }
    }
    return shared_[node];
  }

  void Reach(NodeId producer, NodeId softmax, bool from_projection) {
    // The scale of a projection's input says no more than the input.
    if (from_projection || model_.OpType(producer) == "DynamicQuantizeLinear") {
      RememberNorm(producer);
      return;
    }
    if (core_of_[producer] == softmax) return;
    if (model_.OpType(producer) == "Shape") return;
    if (placed_[producer].tagged()) {
      const ModuleId caller = CallerOf(producer);
      if (caller == kNo<ModuleId>) return;
      sources_ = sources_ == kNo<ModuleId>
                     ? caller
                     : evidence_.Callable(
                           evidence_.modules.CommonAncestor(sources_, caller));
      ++source_count_;
      return;
    }
    // Values with other consumers (masks, rotary tables) are made elsewhere.
    for (const ValueId output : model_.Outputs(producer)) {
      if (output == kNo<ValueId>) continue;
      for (const NodeId consumer : model_.Consumers(output)) {
        if (core_of_[consumer] != softmax &&
            model_.OpType(consumer) != "Shape") {
          return;
        }
      }
    }
    Add(producer, softmax);
  }

  // Stores the norm that the input projections read.
  void RememberNorm(NodeId node) {
    if (!placed_[node].tagged()) return;
    const auto at = evidence_.usual_attention.find(
        static_cast<std::uint32_t>(placed_[node].module));
    if (at != evidence_.usual_attention.end()) usual_ = at->second;
  }

  void Add(NodeId node, NodeId softmax) {
    if (core_of_[node] != kNo<NodeId>) return;
    core_of_[node] = softmax;
    region_.push_back(node);
  }

  void Forget() {
    for (const NodeId node : region_) core_of_[node] = kNo<NodeId>;
  }

  // The caller of the leaf module of `node`.
  ModuleId CallerOf(NodeId node) const {
    if (node == kNo<NodeId> || !placed_[node].tagged()) return kNo<ModuleId>;
    const ModuleTree& tree = evidence_.modules;
    const ModuleId module = placed_[node].module;
    if (module == ModuleId{0} || !tree.Children(module).empty()) {
      return module;
    }
    return evidence_.Callable(tree.Parent(module));
  }

  const Evidence& evidence_;
  const Model& model_;
  const Placed& placed_;
  IdVector<NodeId, NodeId> core_of_;  // the softmax whose region it is in
  std::vector<NodeId> region_;
  ModuleId sources_ = kNo<ModuleId>;
  int source_count_ = 0;
  ModuleId usual_ = kNo<ModuleId>;
  IdVector<NodeId, bool> shared_;  // empty until asked for
  std::vector<Claim> claims_;
};

}  // namespace

std::vector<Claim> ProposeFromAttention(const Evidence& evidence,
                                        const Placed& placed) {
  return AttentionCores(evidence, placed).Run();
}

}  // namespace onnx_tag
