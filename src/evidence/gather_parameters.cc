// Tensors that still have a name of the source model's state_dict, and the
// values that carry them to the node that uses them.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <unordered_map>

#include "evidence/evidence.h"
#include "exporters/parameter_name.h"
#include "exporters/tools/original_name.h"
#include "hierarchy/name_parts.h"

namespace onnx_tag {
namespace {

// Operators that hand a weight on: their first input is the weight.
constexpr std::array<std::string_view, 12> kCarriers = {
    "Identity", "Cast",      "Transpose",      "Reshape",
    "Squeeze",  "Unsqueeze", "QuantizeLinear", "DequantizeLinear",
    "Slice",    "Split",     "Flatten",        "GatherBlockQuantized"};

class ParameterGatherer {
 public:
  explicit ParameterGatherer(Evidence& evidence)
      : evidence_(evidence), model_(evidence.model) {
    for (const std::string_view op : kCarriers) {
      const NameId id = model_.FindName(op);
      if (id != kNo<NameId>) carriers_.push_back(id);
    }
    identity_ = model_.FindName("Identity");
    for (const std::string_view op :
         {"BeamSearch", "GreedySearch", "Sampling", "WhisperBeamSearch"}) {
      generates_ |= model_.FindName(op) != kNo<NameId>;
    }
  }

  void Run() {
    evidence_.value_parameter.resize(model_.value_count(), kNo<ParameterId>);
    evidence_.constant_value.assign(model_.value_count(), false);
    evidence_.is_carrier.resize(model_.node_count(), false);
    for (const Initializer& tensor : model_.initializers()) {
      evidence_.constant_value[Index(tensor.value)] = true;
      if (IsShape(tensor)) continue;
      AddParameter(tensor.value, model_.ValueName(tensor.value), tensor.rank);
    }
    const FunctionTable& functions = evidence_.functions;
    // Files are in topological order; where one is not, a carrier is missed.
    for (const NodeId node : model_.Nodes()) {
      if (functions.OwnerOf(model_[node].graph) == kNo<FunctionId>) Carry(node);
    }
    for (const FunctionId id : functions.CallersFirst()) {
      Bind(id);
      for (const NodeId node : functions.Body(id)) Carry(node);
    }
    CountUses();
    evidence_.module_has_parameter.assign(evidence_.modules.size(), false);
    for (const Parameter& parameter : evidence_.parameters) {
      evidence_.module_has_parameter[Index(parameter.module)] = true;
    }
  }

 private:
  // Integers with a word for a name, as optimizers add them: a shape, axes.
  bool IsShape(const Initializer& tensor) const {
    constexpr std::int32_t kInt32 = 6;
    constexpr std::int32_t kInt64 = 7;
    return tensor.rank <= 1 &&
           (tensor.data_type == kInt32 || tensor.data_type == kInt64) &&
           model_.ValueName(tensor.value).find('.') == std::string_view::npos;
  }

  void AddParameter(ValueId value, std::string_view raw, std::uint32_t rank) {
    const hierarchy::Undone name = hierarchy::UndoTensorName(raw);
    if (!hierarchy::IsCrediblePath(name.name)) return;
    std::optional<std::string> owner;
    if (evidence_.names != nullptr) {
      // A scalar is a constant that equal ones were merged with.
      if (rank > 0) owner = evidence_.names->OwnerOf(name.name);
      if (!owner) return;
    } else if (!hierarchy::IsParameterName(name.name)) {
      return;
    } else if (rank == 0 && name.name.find('.') == std::string_view::npos) {
      return;  // a bound or a scale: a number with a word for a name
    }
    // Scale, zero point and quantized weight are one parameter.
    const auto [at, is_new] = by_name_.try_emplace(
        name.name, MakeId<ParameterId>(evidence_.parameters.size()));
    if (is_new) {
      const std::string_view module = owner ? std::string_view(*owner)
                                      : name.module_only ? name.name
                                                         : OwnerOf(name.name);
      evidence_.parameters.Add({.name = name.name,
                                .module = evidence_.modules.Add(module),
                                .rank = rank});
    }
    Parameter& parameter = evidence_.parameters[at->second];
    parameter.rank = std::max(parameter.rank, rank);
    evidence_.value_parameter[value] = at->second;
  }

  // A body's own names may be those of another instance: what its inputs are
  // is what the first call hands over.
  void Bind(FunctionId id) {
    const std::vector<ValueId>& formals =
        model_[model_.functions()[Index(id)].body].inputs;
    const std::span<const ValueId> actuals =
        model_.Inputs(evidence_.functions[id].first_call);
    for (std::size_t i = 0; i < std::min(formals.size(), actuals.size()); ++i) {
      if (actuals[i] == kNo<ValueId>) continue;
      evidence_.value_parameter[formals[i]] =
          evidence_.value_parameter[actuals[i]];
      evidence_.constant_value[Index(formals[i])] =
          evidence_.constant_value[Index(actuals[i])];
    }
  }

  // The two halves of a generation graph are one model: `e_` and `d_` tell
  // their parameters apart, not their modules.
  std::string_view OwnerOf(std::string_view name) const {
    if (generates_) {
      name.remove_prefix(hierarchy::GenerationPrefix(name).size());
    }
    return hierarchy::SplitParameterName(name).module;
  }

  bool IsCarrier(const Node& node) const {
    return std::find(carriers_.begin(), carriers_.end(), node.op_type) !=
           carriers_.end();
  }

  void Carry(NodeId node) {
    bool constant = true;
    for (const ValueId input : model_.Inputs(node)) {
      constant &=
          input == kNo<ValueId> || evidence_.constant_value[Index(input)];
    }
    if (!constant || !model_.Subgraphs(node).empty()) return;
    for (const ValueId output : model_.Outputs(node)) {
      if (output != kNo<ValueId>) {
        evidence_.constant_value[Index(output)] = true;
      }
    }
    const std::span<const ValueId> inputs = model_.Inputs(node);
    if (inputs.empty() || inputs[0] == kNo<ValueId>) return;
    if (!IsCarrier(model_[node])) return;
    evidence_.is_carrier[node] = true;
    for (const ValueId output : model_.Outputs(node)) {
      if (output == kNo<ValueId>) continue;
      // An Identity whose output has a parameter's name stands for that
      // parameter: its tensor was merged with an equal one.
      if (model_[node].op_type == identity_) {
        const ParameterId source = evidence_.value_parameter[inputs[0]];
        AddParameter(output, model_.ValueName(output),
                     source == kNo<ParameterId>
                         ? RankOf(inputs[0])
                         : evidence_.parameters[source].rank);
      }
      if (evidence_.value_parameter[output] == kNo<ParameterId>) {
        evidence_.value_parameter[output] =
            evidence_.value_parameter[inputs[0]];
      }
    }
  }

  std::uint32_t RankOf(ValueId value) const {
    const Initializer* tensor = model_.InitializerOf(value);
    return tensor == nullptr ? 0 : tensor->rank;
  }

  // Its body uses the parameters, not the call.
  bool IsFirstCall(NodeId node) const {
    const FunctionCall* const call = evidence_.functions.CallOf(node);
    return call != nullptr &&
           evidence_.functions[call->function].first_call == node;
  }

  // A parameter read from several places may have another owner in each: its
  // name is that of one of several equal tensors.
  void CountUses() {
    IdVector<ParameterId, Place> places(evidence_.parameters.size());
    for (const NodeId node : model_.Nodes()) {
      if (evidence_.is_carrier[node] || IsFirstCall(node)) continue;
      const std::span<const ValueId> inputs = model_.Inputs(node);
      for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
        const ParameterId id = evidence_.ParameterOf(inputs[slot]);
        if (id == kNo<ParameterId>) continue;
        Place& place = places[id];
        ScopeId scope = evidence_.node_scope[node];
        if (scope == kNo<ScopeId>) scope = evidence_.value_scope[node];
        if (place.uses++ == 0) {
          place.scope = scope;
          place.op = model_[node].op_type;
        } else if (scope == kNo<ScopeId> || scope != place.scope) {
          place.several = true;
        }
        place.scoped |= scope != kNo<ScopeId>;
        place.alike &= place.op == model_[node].op_type;
      }
    }
    for (const ParameterId id : AllIds<ParameterId>(places.size())) {
      Parameter& parameter = evidence_.parameters[id];
      parameter.uses = places[id].uses;
      parameter.trusted = places[id].uses > 0 && !places[id].several;
    }
    TrustRepeatedCalls(places);
  }

  struct Place {
    std::uint32_t uses = 0;
    ScopeId scope = kNo<ScopeId>;
    NameId op = kNo<NameId>;
    bool several = false;
    bool scoped = false;
    bool alike = true;  // the same operator in all of them
  };

  // A module that is called again uses all its parameters as often, and in
  // the same way. A tensor merged with equal ones does not, or is missing
  // where the other layers have theirs.
  void TrustRepeatedCalls(const IdVector<ParameterId, Place>& places) {
    struct Calls {
      std::uint32_t uses = 0;
      bool alike = true;
    };
    std::unordered_map<std::uint32_t, Calls> by_module;
    for (const ParameterId id : AllIds<ParameterId>(places.size())) {
      Calls& calls = by_module[static_cast<std::uint32_t>(
          evidence_.parameters[id].module)];
      calls.alike &= places[id].alike && !places[id].scoped;
      // A recurrent cell runs once a step, on inputs projected in one go.
      if (IsRecurrent(evidence_.parameters[id].name)) continue;
      if (calls.uses == 0) calls.uses = places[id].uses;
      calls.alike &= calls.uses == places[id].uses;
    }
    for (const ParameterId id : AllIds<ParameterId>(places.size())) {
      Parameter& parameter = evidence_.parameters[id];
      if (parameter.trusted || parameter.uses < 2) continue;
      if (by_module[static_cast<std::uint32_t>(parameter.module)].alike &&
          !OtherLayersLackIt(parameter.module)) {
        parameter.trusted = true;
      }
    }
  }

  static bool IsRecurrent(std::string_view name) {
    const std::string_view atom = name.substr(name.rfind('.') + 1);
    for (const std::string_view start :
         {"weight_ih", "weight_hh", "bias_ih", "bias_hh"}) {
      if (atom.starts_with(start)) return true;
    }
    return false;
  }

  // Whether the path of `module` under another index of a list around it does
  // not exist, though that index does.
  bool OtherLayersLackIt(ModuleId module) const {
    const ModuleTree& tree = evidence_.modules;
    std::vector<std::string_view> below;
    for (ModuleId at = module; at != ModuleId{0}; at = tree.Parent(at)) {
      const std::string_view atom = tree.Atom(at);
      if (hierarchy::IsNumeric(atom)) {
        int looked_at = 0;  // a few layers tell
        for (const ModuleId sibling : tree.Children(tree.Parent(at))) {
          if (++looked_at > 16) break;
          ModuleId twin = sibling;
          for (auto name = below.rbegin();
               name != below.rend() && twin != kNo<ModuleId>; ++name) {
            twin = tree.FindChild(twin, *name);
          }
          if (twin == kNo<ModuleId>) return true;
        }
      }
      below.push_back(atom);
    }
    return false;
  }

  Evidence& evidence_;
  const Model& model_;
  std::vector<NameId> carriers_;
  NameId identity_;
  bool generates_ = false;
  std::unordered_map<std::string_view, ParameterId> by_name_;
};

}  // namespace

void GatherParameters(Evidence& evidence) { ParameterGatherer(evidence).Run(); }

}  // namespace onnx_tag
