// If and Loop of scripted modules: the branches use the parameters of
// submodules; the other nodes belong to the module itself.
#include <algorithm>
#include <string_view>

#include "mapping/ladder/claim.h"
#include "mapping/ladder/rungs/graph_patterns.h"

namespace onnx_tag {
namespace {

// The common module of the placed nodes inside a node's graphs, at any depth.
struct Contents {
  ModuleId around = kNo<ModuleId>;
  bool several = false;  // modules
  bool open = false;     // some node inside is not placed
};

class ControlFlow {
 public:
  ControlFlow(const Evidence& evidence, const Placed& placed)
      : evidence_(evidence), model_(evidence.model), placed_(placed) {}

  std::vector<Claim> Run() {
    Collect();
    for (const NodeId node : model_.Nodes()) {
      const auto graphs = model_.Subgraphs(node);
      if (graphs.empty()) continue;
      const ModuleId module =
          placed_[node].tagged() ? placed_[node].module : ModuleOf(node);
      if (module == kNo<ModuleId>) continue;
      Propose(node, module,
              "this module contains the modules that its branches use");
      if (!placed_[node].tagged()) ProposeForConditions(node, module);
      // A branch may contain a whole model. Then the root says nothing about
      // its nodes.
      if (module == ModuleTree::kRoot) continue;
      for (const GraphId graph : graphs) {
        for (const NodeId inner : model_[graph].nodes) {
          if (!model_.Subgraphs(inner).empty()) continue;
          Propose(inner, module, "it is in a branch of this module");
        }
      }
    }
    return std::move(claims_);
  }

 private:
  // From the innermost graphs outwards; a node precedes the nodes inside it.
  void Collect() {
    contents_.resize(model_.node_count());
    for (std::size_t i = model_.node_count(); i-- > 0;) {
      const NodeId node = MakeId<NodeId>(i);
      const Graph& graph = model_[model_[node].graph];
      if (graph.kind != GraphKind::kSubgraph) continue;
      Contents& outer = contents_[graph.parent_node];
      if (!model_.Subgraphs(node).empty()) {
        Join(outer, contents_[node].around);
        outer.several |= contents_[node].several;
        outer.open |= contents_[node].open;
      } else if (placed_[node].tagged()) {
        Join(outer, placed_[node].module);
      } else if (!model_.Inputs(node).empty()) {
        outer.open = true;
      }
    }
  }

  void Join(Contents& contents, ModuleId module) const {
    if (module == kNo<ModuleId>) return;
    if (contents.around == kNo<ModuleId>) {
      contents.around = module;
    } else if (contents.around != module) {
      contents.several = true;
      contents.around =
          evidence_.modules.CommonAncestor(contents.around, module);
    }
  }

  // If a branch has operations besides those of one module, it belongs to the
  // caller of that module.
  ModuleId ModuleOf(NodeId node) const {
    const Contents& contents = contents_[node];
    if (contents.around == kNo<ModuleId> ||
        contents.around == ModuleTree::kRoot || contents.several ||
        !contents.open) {
      return contents.around;
    }
    return evidence_.modules.Parent(contents.around);
  }

  // Places nodes that only compute the condition or the trip count.
  void ProposeForConditions(NodeId node, ModuleId module) {
    const auto inputs = model_.Inputs(node);
    const std::size_t conditions = model_.OpType(node) == "Loop" ? 2 : 1;
    for (std::size_t i = 0; i < std::min(conditions, inputs.size()); ++i) {
      NodeId reader = node;
      ValueId value = inputs[i];
      while (value != kNo<ValueId>) {
        const NodeId producer = ProducerOf(model_, value);
        if (producer == kNo<NodeId> || placed_[producer].tagged() ||
            model_[producer].graph != model_[node].graph ||
            !model_.Subgraphs(producer).empty() ||
            OnlyConsumer(model_, producer) != reader) {
          break;
        }
        Propose(producer, module, "it computes a condition for this module");
        reader = producer;
        value = model_.Inputs(producer).empty() ? kNo<ValueId>
                                                : model_.Inputs(producer)[0];
      }
    }
  }

  void Propose(NodeId node, ModuleId module, std::string_view because) {
    if (placed_[node].tagged()) return;
    claims_.push_back(
        {node, module, Confidence::kMedium, Source::kOperation, because});
  }

  const Evidence& evidence_;
  const Model& model_;
  const Placed& placed_;
  IdVector<NodeId, Contents> contents_;
  std::vector<Claim> claims_;
};

}  // namespace

std::vector<Claim> ProposeForControlFlow(const Evidence& evidence,
                                         const Placed& placed) {
  return ControlFlow(evidence, placed).Run();
}

}  // namespace onnx_tag
