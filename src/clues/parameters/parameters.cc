#include "clues/parameters/parameters.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/lists.h"
#include "clues/exporters/parameter_name.h"
#include "clues/exporters/tools/original_name.h"
#include "core/hierarchy/name_parts.h"

namespace onnx_tag {
namespace {

// Whether a parameter is one of torch.nn's recurrent modules, by its name:
// `weight_hh` of a cell, `weight_hh_l0` of a layer.
bool IsRecurrent(std::string_view parameter) {
  const std::string_view atom = hierarchy::LastPart(parameter, '.');
  return atom.starts_with("weight_ih") || atom.starts_with("weight_hh") ||
         atom.starts_with("bias_ih") || atom.starts_with("bias_hh");
}

class ParameterGatherer {
 public:
  ParameterGatherer(const GraphFacts& graph, const ExporterFacts& exporter,
                    const ScopeFacts& scopes, const FunctionTable& functions,
                    ModuleTree& modules, WeightNames from_hierarchy)
      : graph_(graph),
        model_(graph.model),
        exporter_(exporter),
        scopes_(scopes),
        functions_(functions),
        modules_(modules),
        generates_(graph.ops.HasAny(OpKind::kGeneration)) {
    facts_.hierarchy_names =
        std::make_shared<const WeightNames>(std::move(from_hierarchy));
  }

  ParameterFacts Run() {
    facts_.value_parameter.resize(model_.value_count(), kNo<ParameterId>);
    facts_.is_carrier.resize(model_.node_count(), false);
    beside_.resize(model_.value_count(), false);
    by_name_.resize(model_.name_count(), kNo<ParameterId>);
    for (const Initializer& tensor : model_.initializers()) {
      if (IsShape(tensor) || IsEmpty(tensor)) continue;
      const std::string_view known = NameInHierarchy(tensor.value);
      AddParameter(tensor.value,
                   known.empty() ? model_.ValueName(tensor.value) : known,
                   tensor.rank);
      const ParameterId id = facts_.value_parameter[tensor.value];
      if (!known.empty() && id != kNo<ParameterId>) {
        facts_.parameters[id].from_hierarchy = true;
      }
    }
    for (const ValueId value : graph_.left_out) {
      const std::uint32_t rank = RankOfLeftOut(value);
      AddParameter(value, model_.ValueName(value), rank);
      // Its numbers are not in the file: a bias or a norm's weight may have
      // been merged with equal ones.
      const ParameterId id = facts_.value_parameter[value];
      if (id != kNo<ParameterId> && rank <= 1) uniform_[id] = true;
    }
    // Files are in topological order. If one is not, a carrier may be missed.
    for (const NodeId node : model_.Nodes()) {
      if (functions_.OwnerOf(model_[node].graph) == kNo<FunctionId>)
        Carry(node);
    }
    for (const FunctionId id : functions_.CallersFirst()) {
      Bind(id);
      for (const NodeId node : functions_.Body(id)) Carry(node);
    }
    facts_.module_has_parameter.assign(modules_.size(), false);
    for (const Parameter& parameter : facts_.parameters) {
      facts_.module_has_parameter[Index(parameter.module)] = true;
    }
    CountUses();
    return std::move(facts_);
  }

 private:
  // "" if it has none.
  std::string_view NameInHierarchy(ValueId value) const {
    const WeightNames& names = *facts_.hierarchy_names;
    const auto at = std::lower_bound(
        names.begin(), names.end(), value,
        [](const auto& entry, ValueId id) { return entry.first < id; });
    if (at == names.end() || at->first != value) return {};
    return at->second;
  }

  // Integers that optimizers add with a name: a shape, axes.
  bool IsShape(const Initializer& tensor) const {
    constexpr std::int32_t kInt32 = 6;
    constexpr std::int32_t kInt64 = 7;
    return tensor.rank <= 1 &&
           (tensor.data_type == kInt32 || tensor.data_type == kInt64) &&
           model_.ValueName(tensor.value).find('.') == std::string_view::npos;
  }

  // The default of an optional input: the slot of an adapter.
  bool IsEmpty(const Initializer& tensor) const {
    const auto dims = model_.Dims(tensor);
    return tensor.rank > 1 &&
           std::find(dims.begin(), dims.end(), 0) != dims.end();
  }

  std::uint32_t RankOfLeftOut(ValueId value) const {
    const ValueInfo* const info = model_.InfoOf(value);
    if (info != nullptr && info->has_shape) return info->rank;
    return model_.ValueName(value).ends_with(".weight") ? 2 : 1;
  }

  void AddParameter(ValueId value, std::string_view raw, std::uint32_t rank) {
    hierarchy::StrippedName name = hierarchy::UndoTensorName(raw);
    if (!hierarchy::IsCrediblePath(name.name)) return;
    // A quantizer makes `norm.bias0_quantized`, `norm.bias1_quantized` of one
    // bias that several layers read, each with a scale of its own. If all its
    // numbers are equal, it may have been merged from several.
    constexpr std::string_view kBias = ".bias";
    const Initializer* const tensor = model_.InitializerOf(value);
    if (name.quantizer && tensor != nullptr && tensor->uniform) {
      if (const auto owns = hierarchy::WithoutNumbered(name.name, kBias)) {
        name.name = name.name.substr(0, owns->size() + kBias.size());
      }
    }
    std::optional<std::string> owner;
    if (exporter_.names != nullptr) {
      // A scalar may be merged with equal constants.
      if (rank > 0) owner = exporter_.names->OwnerOf(name.name);
      if (!owner) return;
    } else {
      const bool is_number =  // a bound or a scale
          rank == 0 && name.name.find('.') == std::string_view::npos;
      if (is_number || !hierarchy::IsParameterName(name.name)) return;
    }
    // Scale, zero point and quantized weight are one parameter.
    const ParameterId id = IdOf(name.name, name.name == model_.ValueName(value)
                                               ? model_[value].name
                                               : model_.FindName(name.name));
    if (Index(id) == facts_.parameters.size()) {
      const std::string_view module = owner ? std::string_view(*owner)
                                      : name.module_only ? name.name
                                                         : OwnerOf(name.name);
      facts_.parameters.Add(
          {.name = name.name, .module = modules_.Add(module), .rank = rank});
    }
    Parameter& parameter = facts_.parameters[id];
    parameter.rank = std::max(parameter.rank, rank);
    facts_.value_parameter[value] = id;
    uniform_.resize(facts_.parameters.size(), false);
    if (tensor != nullptr && !name.beside_weight) {
      uniform_[id] = tensor->uniform;
    }
    has_weight_.resize(facts_.parameters.size(), false);
    beside_[value] = name.beside_weight;
    if (!beside_[value]) has_weight_[id] = true;
  }

  // `in_model` is the name's id in the model, if it has one.
  ParameterId IdOf(std::string_view name, NameId in_model) {
    const ParameterId next = MakeId<ParameterId>(facts_.parameters.size());
    ParameterId& id = in_model == kNo<NameId>
                          ? other_names_.try_emplace(name, next).first->second
                          : by_name_[in_model];
    if (id == kNo<ParameterId>) id = next;
    return id;
  }

  // The names in a body may belong to another instance. The first call passes
  // the inputs of the body.
  void Bind(FunctionId id) {
    const std::vector<ValueId>& formals =
        model_[model_.functions()[Index(id)].body].inputs;
    const std::span<const ValueId> actuals =
        model_.Inputs(functions_[id].first_call);
    for (std::size_t i = 0; i < std::min(formals.size(), actuals.size()); ++i) {
      if (actuals[i] == kNo<ValueId>) continue;
      facts_.value_parameter[formals[i]] = facts_.value_parameter[actuals[i]];
    }
  }

  // The two halves of a generation graph are one model. The prefixes `e_` and
  // `d_` distinguish parameters, not modules.
  std::string_view OwnerOf(std::string_view name) const {
    if (generates_) {
      name.remove_prefix(hierarchy::GenerationPrefix(name).size());
    }
    return hierarchy::SplitParameterName(name).module;
  }

  // The gates of a recurrent layer, put in ONNX's order.
  bool IsPacking(NodeId node) const {
    if (graph_.ops[node] != Op::kConcat) return false;
    ModuleId module = kNo<ModuleId>;
    for (const ValueId input : model_.Inputs(node)) {
      const ParameterId id = facts_.ParameterOf(input);
      if (id == kNo<ParameterId>) return false;
      const ModuleId owner = facts_.parameters[id].module;
      if (module != kNo<ModuleId> && owner != module) return false;
      module = owner;
    }
    return true;
  }

  void Carry(NodeId node) {
    const std::span<const ValueId> inputs = model_.Inputs(node);
    const std::span<const ValueId> outputs = model_.Outputs(node);
    if (inputs.empty() || inputs[0] == kNo<ValueId> || outputs.empty() ||
        !graph_.data.IsConstant(outputs[0])) {
      return;
    }
    if (!graph_.ops.Is(node, kCarriers) && !IsPacking(node)) return;
    facts_.is_carrier[node] = true;
    for (const ValueId output : outputs) {
      if (output == kNo<ValueId>) continue;
      // An Identity whose output has the name of a parameter replaces that
      // parameter: its tensor was merged with an equal one. A Cast or a
      // DequantizeLinear may keep the name that its tensor has lost.
      if (graph_.ops[node] == Op::kIdentity ||
          (graph_.ops.Is(node, {OpKind::kCast, OpKind::kDequantizer}) &&
           hierarchy::HasParameterSuffix(model_.ValueName(output)))) {
        const ParameterId source = facts_.value_parameter[inputs[0]];
        AddParameter(output, model_.ValueName(output),
                     source == kNo<ParameterId>
                         ? RankOf(inputs[0])
                         : facts_.parameters[source].rank);
      }
      if (facts_.value_parameter[output] == kNo<ParameterId>) {
        facts_.value_parameter[output] = facts_.value_parameter[inputs[0]];
      }
    }
  }

  std::uint32_t RankOf(ValueId value) const {
    const Initializer* tensor = model_.InitializerOf(value);
    return tensor == nullptr ? 0 : tensor->rank;
  }

  // The body uses the parameters, not the call.
  bool IsFirstCall(NodeId node) const {
    const FunctionCall* const call = functions_.CallOf(node);
    return call != nullptr && functions_[call->function].first_call == node;
  }

  // A parameter that is read from several places may have several owners: its
  // name is one of the names of equal tensors.
  void CountUses() {
    IdVector<ParameterId, Place> places(facts_.parameters.size());
    for (const NodeId node : model_.Nodes()) {
      if (facts_.is_carrier[node] || IsFirstCall(node) ||
          graph_.ops[node] == Op::kShape) {  // reads no weight
        continue;
      }
      const std::span<const ValueId> inputs = model_.Inputs(node);
      for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
        const ParameterId id = facts_.ParameterOf(inputs[slot]);
        if (id == kNo<ParameterId> || IsBesideWeight(inputs[slot], id)) {
          continue;
        }
        Place& place = places[id];
        ScopeId scope = scopes_.node_scope[node];
        if (scope == kNo<ScopeId> && !scopes_.named_by_constant[node]) {
          scope = scopes_.value_scope[node];
        }
        if (place.uses++ == 0) {
          place.scope = scope;
          place.op = model_[node].op_type;
        } else if (scope == kNo<ScopeId> || scope != place.scope) {
          const ModuleId owner = facts_.parameters[id].module;
          if (!place.several) place.within = IsWithin(place.scope, owner);
          place.within = place.within && IsWithin(scope, owner);
          place.several = true;
        }
        place.scoped |= scope != kNo<ScopeId>;
        place.alike &= place.op == model_[node].op_type;
        place.looked_up |= graph_.ops[node] == Op::kGather && slot == 0;
      }
    }
    for (const ParameterId id : AllIds<ParameterId>(places.size())) {
      Parameter& parameter = facts_.parameters[id];
      parameter.uses = places[id].uses;
      parameter.trusted = places[id].uses > 0 && !places[id].several;
    }
    TrustSharedUses(places);
  }

  // Whether the value is the scale or zero point of a weight that is there,
  // too: whoever reads it reads no other parameter.
  bool IsBesideWeight(ValueId value, ParameterId id) const {
    return beside_[value] && has_weight_[id];
  }

  struct Place {
    std::uint32_t uses = 0;
    ScopeId scope = kNo<ScopeId>;
    NameId op = kNo<NameId>;
    bool several = false;
    bool scoped = false;
    bool alike = true;       // the same operator in all of them
    bool within = true;      // each reader's scope is on the owner's path
    bool looked_up = false;  // perhaps a table that is tied to a matrix
  };

  // Whether a scope calls the module so: `conv`, or `conv_1` for its second
  // call if no module has this name.
  bool IsNameOf(std::string_view called, ModuleId module) const {
    const std::string_view name = modules_.Atom(module);
    if (called == name) return true;
    return called.starts_with(name) &&
           hierarchy::SplitReuseSuffix(called).base == name &&
           modules_.FindChild(modules_.Parent(module), called) == kNo<ModuleId>;
  }

  // Whether the scope is that of the module or of one around it, wherever it
  // is called: `b8/upsampler.1` is within `upsampler.1`, and `b4/conv` within
  // `rgb.b4.conv`, an item of a ModuleDict. Another item of a list is not.
  bool IsWithin(ScopeId scope, ModuleId module) {
    if (scope == kNo<ScopeId>) return false;
    called_.clear();
    for (ScopeId at = scope; at != ScopeId{0}; at = scopes_.scopes[at].parent) {
      scopes_.scopes.ReadAtoms(at, atoms_);
      called_.insert(called_.end(), atoms_.rbegin(), atoms_.rend());
    }
    if (called_.empty()) return true;
    for (ModuleId end = module; end != ModuleTree::kRoot;
         end = modules_.Parent(end)) {
      ModuleId at = end;
      auto atom = called_.begin();
      while (atom != called_.end() && at != ModuleTree::kRoot &&
             IsNameOf(*atom, at)) {
        at = modules_.Parent(at);
        ++atom;
      }
      if (atom == called_.end() || at == ModuleTree::kRoot) return true;
    }
    return false;
  }

  // Trusts what is read in several places if its owner reads it there: the
  // module is called again, or uses the weight twice. A tensor that was merged
  // with equal ones is missing in other layers, or its numbers are all equal,
  // as in the norms of an untrained model. A table that is looked up may be
  // tied to a matrix, unless all parameters of its module are read equally
  // often and by the same operator: then the module is called again.
  void TrustSharedUses(const IdVector<ParameterId, Place>& places) {
    struct Calls {
      std::uint32_t uses = 0;
      bool alike = true;
    };
    holds_any_.resize(modules_.size(), false);
    for (const Parameter& parameter : facts_.parameters) {
      for (ModuleId at = parameter.module;
           at != ModuleTree::kRoot && !holds_any_[at];
           at = modules_.Parent(at)) {
        holds_any_[at] = true;
      }
    }
    IdVector<ModuleId, Calls> by_module(modules_.size());
    for (const ParameterId id : AllIds<ParameterId>(places.size())) {
      Calls& calls = by_module[facts_.parameters[id].module];
      calls.alike &= places[id].alike;
      // A recurrent cell runs once a step, on inputs projected in one go, and
      // what it multiplies with its first state, zero, is not exported.
      if (IsRecurrent(facts_.parameters[id].name) ||
          facts_.parameters[id].rank > 2) {
        continue;
      }
      if (calls.uses == 0) calls.uses = places[id].uses;
      calls.alike &= calls.uses == places[id].uses;
    }
    for (const ParameterId id : AllIds<ParameterId>(places.size())) {
      Parameter& parameter = facts_.parameters[id];
      if (parameter.trusted || parameter.uses < 2) continue;
      const Place& place = places[id];
      const bool owned =
          place.scoped ? place.within && !place.looked_up
                       : by_module[parameter.module].alike || !place.looked_up;
      if (owned && !uniform_[id] && !OtherLayersLackIt(parameter.module)) {
        parameter.trusted = true;
      }
    }
  }

  // Whether two items of a list have a part of the same name: those of a
  // Sequential are of different kinds.
  bool IsAlike(ModuleId a, ModuleId b) const {
    for (const ModuleId child : modules_.Children(a)) {
      if (modules_.FindChild(b, modules_.Atom(child)) != kNo<ModuleId>) {
        return true;
      }
    }
    return false;
  }

  // Whether another index of an enclosing list has parameters, but none at the
  // path of `module`. An item without any is another name for the same object.
  bool OtherLayersLackIt(ModuleId module) const {
    const ModuleTree& tree = modules_;
    for (ModuleId at = module; at != ModuleTree::kRoot; at = tree.Parent(at)) {
      if (!hierarchy::IsNumeric(tree.Atom(at))) continue;
      const ModuleTree::Atoms below = tree.AtomsBelow(at, module);
      int looked_at = 0;  // a few layers are enough
      for (const ModuleId sibling : tree.Children(tree.Parent(at))) {
        if (++looked_at > 16) break;
        const ModuleId twin = tree.Down(sibling, below);
        const bool lacks =
            twin == kNo<ModuleId> || !facts_.module_has_parameter[Index(twin)];
        if (lacks && holds_any_[sibling] && IsAlike(at, sibling)) return true;
      }
    }
    return false;
  }

  const GraphFacts& graph_;
  const Model& model_;
  const ExporterFacts& exporter_;
  const ScopeFacts& scopes_;
  const FunctionTable& functions_;
  ModuleTree& modules_;
  ParameterFacts facts_;
  IdVector<ParameterId, bool> uniform_;
  IdVector<ModuleId, bool> holds_any_;      // it or a module in it
  IdVector<ValueId, bool> beside_;          // a scale or a zero point
  IdVector<ParameterId, bool> has_weight_;  // and not these only
  std::vector<std::string_view> called_;    // IsWithin's memory
  std::vector<std::string_view> atoms_;
  const bool generates_;
  IdVector<NameId, ParameterId> by_name_;
  // Names that a tool changed wherever they stood.
  std::unordered_map<std::string_view, ParameterId> other_names_;
};

// Whether it multiplies two stored scales: of a weight, and of data, which may
// be that of a quantized embedding. The product says whose they are.
bool MultipliesScales(const GraphFacts& graph, NodeId node) {
  const Model& model = graph.model;
  const std::span<const ValueId> inputs = model.Inputs(node);
  return graph.ops[node] == Op::kMul && inputs.size() == 2 &&
         std::all_of(inputs.begin(), inputs.end(), [&](ValueId value) {
           return value != kNo<ValueId> &&
                  model.InitializerOf(value) != nullptr &&
                  model.ValueName(value).ends_with("_scale");
         });
}

}  // namespace

namespace {

// Whether every reader takes the value where a layer has its weight, and no
// dimension depends on the data.
bool IsReadAsWeight(const Model& model, const Operators& ops, ValueId value) {
  const ValueInfo* const info = model.InfoOf(value);
  if (info == nullptr || !info->has_shape || info->rank == 0) return false;
  for (const std::int64_t dim : model.Dims(*info)) {
    if (dim <= 0) return false;
  }
  const auto readers = model.Consumers(value);
  return !readers.empty() && AllIn(readers, [&](NodeId reader) {
    const auto inputs = model.Inputs(reader);
    const bool table = ops[reader] == Op::kGather;
    if (!table && !ops.Is(reader, {OpKind::kProduct, OpKind::kConvolution})) {
      return false;
    }
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      if (inputs[slot] == value && (slot == 0) != table) return false;
    }
    return true;
  });
}

}  // namespace

GraphFacts GatherGraph(const Model& model) {
  std::vector<ValueId> left_out;
  std::vector<ValueId> unnamed;  // inputs that may be weights, too
  bool has_inputs = false;
  for (const ValueId id : AllIds<ValueId>(model.value_count())) {
    const Value& value = model[id];
    if (value.producer != kNo<NodeId> || model.InitializerOf(id) != nullptr ||
        model[value.graph].kind == GraphKind::kFunction) {
      continue;
    }
    const std::string_view name = model.ValueName(id);
    if (!value.is_input) {
      if (name.find('.') != std::string_view::npos) left_out.push_back(id);
    } else if (hierarchy::HasParameterSuffix(name)) {
      left_out.push_back(id);
      has_inputs = true;
    } else if (value.graph == GraphId{0}) {
      unnamed.push_back(id);
    }
  }
  // If weights are inputs, those whose names an exporter made up are, too.
  if (has_inputs && !unnamed.empty()) {
    const Operators ops(model);
    for (const ValueId id : unnamed) {
      if (IsReadAsWeight(model, ops, id)) left_out.push_back(id);
    }
  }
  return GraphFacts(model, std::move(left_out));
}

ParameterFacts GatherParameters(const GraphFacts& graph,
                                const ExporterFacts& exporter,
                                const ScopeFacts& scopes,
                                const FunctionTable& functions,
                                ModuleTree& modules,
                                WeightNames from_hierarchy) {
  return ParameterGatherer(graph, exporter, scopes, functions, modules,
                           std::move(from_hierarchy))
      .Run();
}

Owner ParameterFacts::OwnerOf(const GraphFacts& graph,
                              const ModuleTree& modules, NodeId node) const {
  Owner owner;
  if (MultipliesScales(graph, node)) return owner;
  const Operator& op = Describe(graph.ops[node]);
  const std::span<const ValueId> inputs = graph.model.Inputs(node);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ParameterId id = ParameterOf(inputs[i]);
    // What scales data may have the name of a parameter somewhere else.
    if (id == kNo<ParameterId> || !parameters[id].trusted ||
        op.Input(i) == Operand::kDataScale ||
        op.Input(i) == Operand::kDataZeroPoint) {
      continue;
    }
    const Parameter& parameter = parameters[id];
    const std::uint32_t strength =
        parameter.module == ModuleTree::kRoot ? 1 : parameter.rank + 2;
    if (strength > owner.strength) {
      owner = {parameter.module, strength, parameter.from_hierarchy};
    } else if (strength == owner.strength) {
      owner.module = modules.CommonAncestor(owner.module, parameter.module);
    }
  }
  return owner;
}

}  // namespace onnx_tag
