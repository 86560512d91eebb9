#include "recipes/tokens/anchors.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "exporters/parameter_name.h"
#include "exporters/tools/original_name.h"

namespace onnx_tag::recipes {
namespace {

// No recorded module has so many atoms. Paths are cut and compared at every
// length, which is for short ones.
constexpr std::ptrdiff_t kDeepest = 64;

struct Parameter {
  std::string_view module;  // "" if the value is not a parameter
  std::uint32_t rank = 0;
};

class AnchorFinder {
 public:
  explicit AnchorFinder(const DataFlow& flow)
      : flow_(flow),
        model_(flow.model()),
        parameter_(model_.value_count(), kNo<ValueId>) {
    for (const Initializer& tensor : model_.initializers()) {
      if (flow.IsVisible(model_[tensor.value].graph)) {
        Name(tensor.value, tensor.rank);
      }
    }
    for (const NodeId node : flow.Order()) Carry(node);
  }

  IdVector<NodeId, std::string_view> Run() {
    IdVector<ValueId, std::uint32_t> uses(model_.value_count(), 0);
    for (const NodeId node : flow_.Order()) {
      if (carrier_[node]) continue;
      for (const ValueId input : model_.Inputs(node)) {
        if (IsParameter(input)) ++uses[parameter_[input]];
      }
    }
    IdVector<NodeId, std::string_view> anchors(model_.node_count());
    for (const NodeId node : flow_.Order()) {
      std::tuple<bool, std::uint32_t, std::string_view> best;
      for (const ValueId input : model_.Inputs(node)) {
        if (!IsParameter(input)) continue;
        const ValueId tensor = parameter_[input];
        if (uses[tensor] > 1 && IsUniform(tensor)) continue;
        const Parameter& parameter = named_[tensor];
        best = std::max(best, std::tuple(uses[tensor] <= 1, parameter.rank,
                                         parameter.module));
      }
      anchors[node] = std::get<2>(best);
    }
    return anchors;
  }

 private:
  bool IsParameter(ValueId value) const {
    return value != kNo<ValueId> && parameter_[value] != kNo<ValueId>;
  }

  // The norms and biases of an untrained model are equal, and merged.
  bool IsUniform(ValueId value) const {
    const Initializer* const tensor = model_.InitializerOf(value);
    return tensor != nullptr && tensor->uniform;
  }

  void Name(ValueId value, std::uint32_t rank) {
    const hierarchy::Undone undone =
        hierarchy::UndoTensorName(model_.ValueName(value));
    if (!hierarchy::IsParameterName(undone.name)) return;
    const std::string_view module =
        undone.module_only ? undone.name
                           : hierarchy::SplitParameterName(undone.name).module;
    if (module.empty()) return;  // of the root, or of no module
    if (std::count(module.begin(), module.end(), '.') >= kDeepest) return;
    parameter_[value] = value;
    named_[value] = {module, rank};
  }

  void Carry(NodeId node) {
    const auto inputs = model_.Inputs(node);
    if (flow_.IsData(node) || inputs.empty() ||
        !flow_.facts().ops.Is(node, kCarriers)) {
      return;
    }
    carrier_[node] = true;
    if (inputs[0] == kNo<ValueId>) return;
    for (const ValueId output : model_.Outputs(node)) {
      if (output == kNo<ValueId>) continue;
      // An Identity replaces a parameter that was merged with an equal one.
      if (flow_.facts().ops[node] == Op::kIdentity) {
        Name(output, IsParameter(inputs[0]) ? named_[parameter_[inputs[0]]].rank
                                            : RankOf(inputs[0]));
      }
      if (!IsParameter(output)) parameter_[output] = parameter_[inputs[0]];
    }
  }

  std::uint32_t RankOf(ValueId value) const {
    const Initializer* const tensor = model_.InitializerOf(value);
    return tensor == nullptr ? 0 : tensor->rank;
  }

  const DataFlow& flow_;
  const Model& model_;
  // By value: the tensor that it passes on.
  IdVector<ValueId, ValueId> parameter_;
  std::unordered_map<ValueId, Parameter> named_;
  IdVector<NodeId, bool> carrier_{model_.node_count(), false};
};

}  // namespace

IdVector<NodeId, std::string_view> FindAnchors(const DataFlow& flow) {
  return AnchorFinder(flow).Run();
}

}  // namespace onnx_tag::recipes
