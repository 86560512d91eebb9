// Recurrent layers that were decomposed into steps.
//
// A torch.nn.RNN, GRU or LSTM is called once. So a node on a data path between
// two of its nodes belongs to it.
#include "core/graph/recurrent.h"

#include <algorithm>
#include <set>

#include "mapping/ladder/claim.h"
#include "mapping/ladder/rungs/graph_patterns.h"

namespace onnx_tag {
namespace {

// The maximum number of modules; each needs a walk over the graph.
constexpr std::size_t kMostModules = 8;

std::set<ModuleId> RecurrentModules(const Evidence& evidence) {
  std::set<ModuleId> modules;
  for (const Parameter& parameter : evidence.parameters) {
    if (parameter.module != ModuleId{0} &&
        RecurrentKind(parameter.name) == Recurrent::kLayer) {
      modules.insert(parameter.module);
    }
  }
  return modules;
}

class Unrolled {
 public:
  Unrolled(const Evidence& evidence, const Placed& placed, ModuleId module)
      : model_(evidence.model),
        placed_(placed),
        module_(module),
        made_(model_.value_count(), false),
        needed_(model_.value_count(), false) {
    const auto& nodes = model_[GraphId{0}].nodes;
    for (const NodeId node : nodes) {
      if (IsOwn(node) || Any(model_.Inputs(node), made_)) {
        Mark(model_.Outputs(node), made_);
      }
    }
    for (auto at = nodes.rbegin(); at != nodes.rend(); ++at) {
      if (IsOwn(*at) || Any(model_.Outputs(*at), needed_)) {
        Mark(model_.Inputs(*at), needed_);
      }
    }
  }

  // Whether it is both downstream and upstream of nodes of the module.
  bool IsInside(NodeId node) const {
    return !IsOwn(node) && Any(model_.Inputs(node), made_) &&
           Any(model_.Outputs(node), needed_);
  }
  // Whether it is called in a loop with other modules between its calls.
  bool IsCalledAgain() const {
    const auto& nodes = model_[GraphId{0}].nodes;
    return std::any_of(nodes.begin(), nodes.end(), [&](NodeId node) {
      return IsInside(node) && placed_[node].tagged() &&
             placed_[node].module != ModuleId{0};
    });
  }

 private:
  using Marks = IdVector<ValueId, bool>;

  bool IsOwn(NodeId node) const {
    return placed_[node].tagged() && placed_[node].module == module_;
  }
  template <typename Values>
  static bool Any(const Values& values, const Marks& marks) {
    return std::any_of(values.begin(), values.end(), [&](ValueId value) {
      return value != kNo<ValueId> && marks[value];
    });
  }
  template <typename Values>
  static void Mark(const Values& values, Marks& marks) {
    for (const ValueId value : values) {
      if (value != kNo<ValueId>) marks[value] = true;
    }
  }

  const Model& model_;
  const Placed& placed_;
  ModuleId module_;
  Marks made_;
  Marks needed_;
};

}  // namespace

std::vector<Claim> ProposeForRecurrentSteps(const Evidence& evidence,
                                            const Placed& placed) {
  std::vector<Claim> claims;
  const std::set<ModuleId> modules = RecurrentModules(evidence);
  if (modules.empty() || modules.size() > kMostModules) return claims;
  for (const ModuleId module : modules) {
    const Unrolled unrolled(evidence, placed, module);
    if (unrolled.IsCalledAgain()) continue;
    for (const NodeId node : evidence.model[GraphId{0}].nodes) {
      if (placed[node].tagged() || !unrolled.IsInside(node)) continue;
      claims.push_back({node, module, Confidence::kMedium, Source::kOperation,
                        "it is between two steps of this module"});
    }
  }
  return claims;
}

}  // namespace onnx_tag
