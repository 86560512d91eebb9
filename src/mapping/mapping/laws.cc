#include "mapping/mapping/laws.h"

#include <algorithm>
#include <unordered_map>

#include "base/lists.h"
#include "base/text.h"
#include "clues/exporters/dialect_names.h"
#include "clues/exporters/tools/original_name.h"
#include "clues/projection/torch_ops.h"
#include "core/hierarchy/name_parts.h"
#include "core/tagging/module_format.h"
#include "core/tagging/source_trust.h"
#include "mapping/evidence/evidence.h"

namespace onnx_tag {
namespace {

class LawChecker {
 public:
  LawChecker(const GraphFacts& graph, const ModuleTree& modules,
             const ParameterFacts& parameters, const ScopeFacts& scopes,
             const IdVector<NodeId, Tag>& tags,
             const std::vector<Origin>& origins)
      : model_(graph.model),
        ops_(graph.ops),
        tree_(modules),
        parameters_(parameters),
        scopes_(scopes),
        tags_(tags),
        origins_(origins) {
    for (const NodeId node : model_.Nodes()) {
      if (tags[node].tagged() && !parameters.is_carrier[node]) {
        has_nodes_[tags[node].module] = true;
      }
    }
    for (const FunctionCalls::Call& call : graph.calls.calls()) {
      is_call_[call.node] = true;
    }
    for (const Parameter& parameter : parameters.parameters) {
      confirmed_[parameter.module] = true;
    }
    // Children have larger ids than their parents.
    for (std::size_t i = modules.size(); --i > 0;) {
      const auto id = MakeId<ModuleId>(i);
      const ModuleId parent = tree_.Parent(id);
      has_nodes_[parent] = has_nodes_[parent] || has_nodes_[id];
      confirmed_[parent] = confirmed_[parent] || confirmed_[id];
    }
    for (const ModuleId id : AllIds<ModuleId>(modules.size())) {
      if (!confirmed_[id] || id == ModuleTree::kRoot) continue;
      std::vector<ModuleId>& alike = by_atom_[tree_.Atom(id)];
      if (alike.size() < kMostAlike) alike.push_back(id);
    }
    SpellScopes();
  }

  std::vector<LawFinding> Check() {
    std::vector<LawFinding> findings;
    for (const NodeId node : model_.Nodes()) {
      // A call of a local function passes the parameters of its parts.
      if (!tags_[node].tagged() || tags_[node].source == Source::kRule ||
          is_call_[node]) {
        continue;
      }
      LawFinding worst{.node = node};
      for (const ValueId input : model_.Inputs(node)) {
        CheckInput(node, input, worst);
      }
      if (worst.owner == kNo<ModuleId>) CheckScope(node, worst);
      if (worst.owner == kNo<ModuleId>) CheckPath(node, worst);
      if (worst.owner != kNo<ModuleId>) findings.push_back(std::move(worst));
    }
    return findings;
  }

 private:
  // A path that many modules share is compared with this many of them.
  static constexpr std::size_t kMostAlike = 16;
  static constexpr ModuleId kUnknown = static_cast<ModuleId>(0xfffffffe);

  // What a scope says.
  struct Spelled {
    ModuleId module = kNo<ModuleId>;  // kNo: the tags have no such module
    bool complete = false;
  };

  bool IsOrigin(NodeId node, ModuleId module) const {
    const auto first = std::lower_bound(
        origins_.begin(), origins_.end(), node,
        [](const Origin& origin, NodeId id) { return origin.node < id; });
    for (auto at = first; at != origins_.end() && at->node == node; ++at) {
      if (at->module == module) return true;
    }
    return false;
  }

  // An Identity gives a parameter a second name.
  bool IsCopied(ValueId value) const {
    const auto readers = model_.Consumers(value);
    constexpr std::size_t kMostReaders = 8;
    return readers.size() > kMostReaders || AnyIn(readers, [&](NodeId reader) {
             return ops_.Is(reader, OpKind::kIdentity);
           });
  }

  Exemption ExemptionOf(NodeId node, const Parameter& parameter,
                        ValueId value) const {
    const ModuleId module = tags_[node].module;
    // A matrix that is tied has only one of its names.
    const bool lookup =
        ops_[node] == Op::kGather && model_.Inputs(node)[0] == value;
    if (!parameter.trusted || lookup || IsCopied(value)) {
      return Exemption::kShared;
    }
    if (tree_.IsAncestor(module, parameter.module) &&
        !has_nodes_[parameter.module]) {
      return Exemption::kFunction;
    }
    if (tree_.IsAncestor(parameter.module, module)) return Exemption::kPart;
    return parameters_.Proves(model_, node, module) ? Exemption::kOperand
                                                    : Exemption::kNone;
  }

  // Whether the tensor is a weight: buffers of indices are read anywhere.
  static bool IsWeight(const Initializer& tensor) {
    constexpr std::int32_t kInt32 = 6;
    constexpr std::int32_t kInt64 = 7;
    return tensor.data_type != kInt32 && tensor.data_type != kInt64;
  }

  // Whether the node may be fused of several modules and nothing says of which:
  // a model that version 0.2 tagged holds no origins.
  bool HasLostOrigins(NodeId node) const {
    return origins_.empty() && ops_.Is(node, OpKind::kFused);
  }

  void CheckInput(NodeId node, ValueId input, LawFinding& worst) const {
    if (input == kNo<ValueId>) return;
    const Initializer* const tensor = model_.InitializerOf(input);
    if (tensor == nullptr || !IsWeight(*tensor)) return;
    const ParameterId id = parameters_.ParameterOf(input);
    if (id == kNo<ParameterId>) return;
    const Parameter& parameter = parameters_.parameters[id];
    const Tag& tag = tags_[node];
    // What a hierarchy calls a tensor without a name is inferred.
    if (parameter.module == tag.module || parameter.from_hierarchy ||
        hierarchy::UndoTensorName(model_.ValueName(input)).beside_weight) {
      return;
    }
    // An optimizer fuses nodes of several modules, not of several layers.
    const bool layer = tree_.InOtherLayer(tag.module, parameter.module);
    if (!layer && (tag.confidence < Confidence::kHigh ||
                   IsOrigin(node, parameter.module) || HasLostOrigins(node))) {
      return;
    }
    LawFinding finding{.node = node,
                       .law = layer ? Law::kLayer : Law::kOwner,
                       .exemption = ExemptionOf(node, parameter, input),
                       .owner = parameter.module,
                       .below = tree_.IsAncestor(tag.module, parameter.module),
                       .said_by = std::string(parameter.name)};
    const bool worse =
        worst.owner == kNo<ModuleId> ||
        (finding.is_breach() && !worst.is_breach()) ||
        (finding.is_breach() && layer && worst.law == Law::kOwner);
    if (worse) worst = std::move(finding);
  }

  // Finds the modules of the scopes that are complete.
  void SpellScopes() {
    const ScopeTable& scopes = scopes_.scopes;
    spelled_[ScopeId{0}] = {.module = ModuleTree::kRoot, .complete = true};
    std::vector<std::string_view> atoms;
    // The id of a parent is smaller than the ids of its children.
    for (const ScopeId id : AllIds<ScopeId>(scopes.size())) {
      if (id == ScopeId{0} || IsRepeatedCall(id)) continue;
      const Spelled& outer = spelled_[scopes[id].parent];
      if (!outer.complete) continue;
      scopes.ReadAtoms(id, atoms);
      ModuleId at = outer.module;
      for (const std::string_view atom : atoms) {
        if (at != kNo<ModuleId>) at = tree_.FindChild(at, atom);
      }
      const bool confirmed = at != kNo<ModuleId> && confirmed_[at];
      spelled_[id] = {at, confirmed || scopes.IsFolded(id)};
    }
  }

  // `act_1` beside `act` may be a second call of it.
  bool IsRepeatedCall(ScopeId id) const {
    const hierarchy::Reuse reuse =
        hierarchy::SplitReuseSuffix(scopes_.scopes[id].text);
    return reuse.call != 0 && scopes_.scopes.Find(reuse.base) != kNo<ScopeId>;
  }

  void CheckScope(NodeId node, LawFinding& worst) const {
    const ScopeId scope = scopes_.node_scope[node];
    if (scope == kNo<ScopeId> || scopes_.IsFusedName(node) ||
        ops_.Is(node, OpKind::kFused) ||
        parameters_.Proves(model_, node, tags_[node].module)) {
      return;
    }
    ScopeId complete = scope;
    while (!spelled_[complete].complete) {
      complete = scopes_.scopes[complete].parent;
    }
    if (complete == ScopeId{0}) return;
    const ModuleId spelled = spelled_[complete].module;
    if (spelled != kNo<ModuleId> &&
        MayStandFor(tags_[node].module, spelled, complete == scope)) {
      return;
    }
    worst.law = Law::kScope;
    // No module of the tags is the one that the scope spells: any other
    // contradicts it.
    worst.owner = spelled == kNo<ModuleId> ? ModuleTree::kRoot : spelled;
    worst.said_by = scopes_.scopes[scope].text;
  }

  // Whether a tag of `module` agrees with a scope that spells `spelled`. Below
  // that, the scope may leave out what is not called, or print the first name
  // of something that was registered further outside.
  bool MayStandFor(ModuleId module, ModuleId spelled, bool is_whole) const {
    if (is_whole || module == ModuleTree::kRoot) return module == spelled;
    return tree_.IsAncestor(spelled, module) ||
           tree_.IsAncestor(tree_.Parent(module), spelled);
  }

  // Another confirmed module that this one, which nothing confirms, stands
  // for: the same name, further inside the same parent.
  ModuleId OtherPath(ModuleId id) {
    ModuleId& found = other_path_[id];
    if (found != kUnknown) return found;
    found = kNo<ModuleId>;
    const auto alike = by_atom_.find(tree_.Atom(id));
    if (alike == by_atom_.end()) return found;
    const ModuleId parent = tree_.Parent(id);
    for (const ModuleId other : alike->second) {
      if (tree_.Depth(other) > tree_.Depth(id) &&
          tree_.IsAncestor(parent, other)) {
        found = other;
        break;
      }
    }
    return found;
  }

  void CheckPath(NodeId node, LawFinding& worst) {
    const Tag& tag = tags_[node];
    if (tag.confidence < Confidence::kHigh || ConfirmsModules(tag.source) ||
        confirmed_[tag.module]) {
      return;
    }
    ModuleId top = tag.module;  // the outermost that is not confirmed
    while (top != ModuleTree::kRoot && !confirmed_[tree_.Parent(top)]) {
      top = tree_.Parent(top);
    }
    // An index alone names no place.
    if (top == ModuleTree::kRoot || hierarchy::IsNumeric(tree_.Atom(top))) {
      return;
    }
    const ModuleId other = OtherPath(top);
    if (other == kNo<ModuleId>) return;
    worst.law = Law::kPath;
    worst.owner = other;
  }

  const Model& model_;
  const Operators& ops_;
  const ModuleTree& tree_;
  const ParameterFacts& parameters_;
  const ScopeFacts& scopes_;
  const IdVector<NodeId, Tag>& tags_;
  const std::vector<Origin>& origins_;
  IdVector<NodeId, bool> is_call_{model_.node_count()};  // of a local function
  IdVector<ModuleId, bool> has_nodes_{tree_.size()};     // it or a module below
  // By a parameter of it or below.
  IdVector<ModuleId, bool> confirmed_{tree_.size()};
  IdVector<ModuleId, ModuleId> other_path_{tree_.size(), kUnknown};
  IdVector<ScopeId, Spelled> spelled_{scopes_.scopes.size()};
  std::unordered_map<std::string_view, std::vector<ModuleId>> by_atom_;
};

}  // namespace

std::vector<LawFinding> CheckLaws(const GraphFacts& graph,
                                  const ModuleTree& modules,
                                  const ParameterFacts& parameters,
                                  const ScopeFacts& scopes,
                                  const IdVector<NodeId, Tag>& tags,
                                  const std::vector<Origin>& origins) {
  return LawChecker(graph, modules, parameters, scopes, tags, origins).Check();
}

// A name may be one that the author of a tool chose, or that an optimizer left
// on another operator. Light operators are also what tools put around others.
std::vector<LawFinding> CheckClasses(const GraphFacts& graph,
                                     const Tagging& tagging) {
  constexpr float kLight = 0.5F;
  const TorchOps& torch = BuiltInTorchOps();
  std::vector<LawFinding> findings;
  // Quantizers write out the arithmetic with scales.
  if (graph.ops.HasAny(OpKind::kInteger) ||
      graph.ops.HasAny(OpKind::kQuantizer)) {
    return findings;
  }
  for (const NodeId node : graph.model.Nodes()) {
    const Tag& tag = tagging.tags[node];
    if (!tag.tagged() || tag.confidence < Confidence::kHigh ||
        (tag.source != Source::kScope && tag.source != Source::kValueName)) {
      continue;
    }
    const ModuleFacts* const facts = tagging.FactsOf(tag.module);
    const std::string_view name = tagging.modules.Class(tag.module);
    if (facts == nullptr || facts->class_confidence < Confidence::kHigh ||
        !tagging.modules.Children(tag.module).empty() ||
        !TorchNnClasses().contains(name)) {
      continue;
    }
    const TorchPattern* const pattern = torch.Find(name);
    const Op op = PlainOperator(graph.ops[node]);
    if (pattern == nullptr || torch.WeightOf(op) <= kLight ||
        torch.Accepts(*pattern, op) || !graph.data.IsMadeBy(node) ||
        graph.ops.Is(node, OpKind::kFused)) {
      continue;
    }
    findings.push_back({.node = node,
                        .law = Law::kClass,
                        .owner = tag.module,
                        .said_by = std::string(graph.model.OpType(node))});
  }
  return findings;
}

std::vector<LawFinding> CheckLaws(const Model& model, Tagging& tagging) {
  const ExporterFacts exporter = RecognizeExporter(model);
  const GraphFacts graph = GatherGraph(model);
  const ScopeFacts scopes = GatherScopes(graph, exporter);
  ParameterFacts parameters =
      GatherParameters(graph, exporter, scopes,
                       FunctionTable(model, graph.calls), tagging.modules);
  ModuleTree modules = tagging.modules;  // keeps its classes
  Clues said;
  GatherMetadata(graph, parameters, modules, said);
  DistrustShared(model, said, parameters);
  std::vector<LawFinding> findings =
      CheckLaws(graph, tagging.modules, parameters, scopes, tagging.tags,
                tagging.origins);
  for (LawFinding& finding : CheckClasses(graph, tagging)) {
    findings.push_back(std::move(finding));
  }
  SortBy(findings, &LawFinding::node);
  return findings;
}

void ObeyLaws(const std::vector<LawFinding>& findings,
              IdVector<NodeId, Tag>& tags) {
  for (const LawFinding& finding : findings) {
    if (!finding.is_breach()) continue;
    Tag& tag = tags[finding.node];
    tag.confidence = std::min(tag.confidence, Confidence::kMedium);
    if (finding.law == Law::kLayer || finding.below) {
      tag.module = finding.owner;
      tag.source = Source::kParameter;
      tag.evidence = EvidenceKind::kParameter;
    }
  }
}

std::string LawText(const LawFinding& finding, const ModuleTree& modules,
                    const Tag& tag) {
  if (finding.law == Law::kPath) {
    return Message(
        "the tag names {}, but no parameter confirms this module, and the "
        "parameters have {}",
        modules.Shown(tag.module), modules.Shown(finding.owner));
  }
  if (finding.law == Law::kClass) {
    return Message("the tag names {}, but a {} makes no {}",
                   modules.Shown(tag.module), modules.Class(tag.module),
                   finding.said_by);
  }
  if (finding.law == Law::kScope) {
    return Message("the tag names {}, but the scope of the node is {}",
                   modules.Shown(tag.module), finding.said_by);
  }
  return Message("the tag names {}, but the node reads {}, a parameter of {}",
                 modules.Shown(tag.module), finding.said_by,
                 modules.Shown(finding.owner));
}

}  // namespace onnx_tag
