// Files whose functions were inlined by onnx.inliner.
//
// It numbers the calls, outermost first, and adds the number to every name of
// the body: `Add_1__7`, `val_0__7`. The result of a function has the name in
// its caller, `encoder_layer_0_query_1__6`, which contains the module. So nodes
// with one number are one call, and its result names the module.
#include <algorithm>
#include <string_view>
#include <vector>

#include "base/lists.h"
#include "clues/exporters/dynamo/mangled_names.h"
#include "clues/exporters/functions/inlined_names.h"
#include "core/hierarchy/name_parts.h"
#include "core/tagging/tag_format.h"
#include "mapping/evidence/evidence.h"

namespace onnx_tag {
namespace {

using CallNumber = std::uint32_t;  // 0: the main graph

struct Call {
  CallNumber parent = 0;
  std::string_view returned;  // the name of its result in the caller
  std::uint32_t last = 0;     // its last node, or the last node for it
  bool has_nodes = false;
  bool has_module_nodes = false;  // other than torchlib's `n0`, `n1`
  // The common ancestor of its parameters and of the modules it calls.
  ModuleId owner = kNo<ModuleId>;
  ModuleId callees = kNo<ModuleId>;
  ModuleId callers_name = kNo<ModuleId>;  // the name belongs to an ancestor
  bool several_callees = false;

  bool IsHelper() const { return has_nodes && !has_module_nodes; }

  ModuleId module = kNo<ModuleId>;
  bool sure = false;
};

struct Numbered {
  std::string_view name;
  CallNumber call = 0;
};

Numbered SplitNumber(std::string_view name) {
  const auto bare = hierarchy::WithoutNumbered(name, "__");
  if (!bare) return {name, 0};
  const int number = hierarchy::SmallNumber(name.substr(bare->size() + 2), 0);
  return number == 0 ? Numbered{name, 0}
                     : Numbered{*bare, static_cast<CallNumber>(number)};
}

// The maximum nesting of calls without a name; real files have two or three.
constexpr int kMostUnnamed = 16;

class InlinedGatherer {
 public:
  InlinedGatherer(const Model& model, const ParameterFacts& parameters,
                  ModuleTree& modules)
      : model_(model), parameters_(parameters), modules_(modules) {}

  Claims Run() {
    Claims claims;
    if (!NumberNodes()) return claims;
    calls_.resize(most_ + 1);
    Replay();
    PlaceCalls();
    for (const NodeId node : model_.Nodes()) {
      const Call* call = &calls_[number_[node]];
      bool named = true;
      for (int i = 0; i < kMostUnnamed && call->module == kNo<ModuleId> &&
                      call != calls_.data();
           ++i) {
        call = &calls_[call->parent];
        named = false;
      }
      if (call->module == kNo<ModuleId>) continue;
      claims.push_back({node, call->module,
                        !named       ? Confidence::kLow
                        : call->sure ? Confidence::kCertain
                                     : Confidence::kHigh,
                        Source::kValueName,
                        !named ? "it was inlined with a call inside this module"
                        : call->sure
                            ? "it was inlined with a call of this module"
                            : "it was inlined with a call that has the name of "
                              "this module"});
    }
    return claims;
  }

 private:
  // False if the file was not made this way. tf2onnx also numbers nodes, but
  // its values do not have the numbers of their nodes.
  bool NumberNodes() {
    number_.resize(model_.node_count(), 0);
    std::size_t numbered = 0;
    std::size_t shared = 0;
    for (const NodeId node : model_.Nodes()) {
      const Graph& graph = model_[model_[node].graph];
      if (graph.kind == GraphKind::kSubgraph) {
        number_[node] = number_[graph.parent_node];
        continue;
      }
      if (graph.kind != GraphKind::kMain) continue;
      const std::string_view name = ExporterName(model_, node);
      const bool named = !name.empty();
      if (named) number_[node] = SplitNumber(name).call;
      if (named && number_[node] == 0) continue;
      const auto outputs = model_.Outputs(node);
      const auto first =
          std::find_if(outputs.begin(), outputs.end(),
                       [](ValueId value) { return value != kNo<ValueId>; });
      const CallNumber made = first == outputs.end()
                                  ? 0
                                  : SplitNumber(model_.ValueName(*first)).call;
      if (!named) number_[node] = made;
      if (number_[node] == 0) continue;
      ++numbered;
      shared += made == number_[node];
      most_ = std::max(most_, number_[node]);
    }
    // Few calls have no own nodes, so the numbers stay small.
    return numbered >= 2 && 4 * shared >= numbered &&
           most_ <= 4 * model_.node_count();
  }

  // Follows the calls in order. When a call returns a value, it ends, and so do
  // the calls inside it.
  void Replay() {
    for (const NodeId node : model_[GraphId{0}].nodes) {
      calls_[number_[node]].last = model_[node].index;
      for (const std::string_view result : ResultsOf(model_, node)) {
        const CallNumber made = SplitNumber(result).call;
        if (made <= most_) calls_[made].last = model_[node].index;
      }
    }
    std::vector<CallNumber> open = {0};
    CallNumber seen = 0;
    for (const NodeId node : model_[GraphId{0}].nodes) {
      const CallNumber number = number_[node];
      if (number > seen) {
        while (seen < number) {
          calls_[++seen].parent = open.back();
          open.push_back(seen);
        }
      } else {
        while (open.back() > number) open.pop_back();
        if (open.back() != number) open.push_back(number);
      }
      Call& call = calls_[number];
      const std::string_view name =
          SplitNumber(ExporterName(model_, node)).name;
      call.has_nodes = true;
      // A folded constant has no name.
      call.has_module_nodes |=
          !name.empty() &&
          ParseBodyName(name, model_.OpType(node)).kind != BodyName::kHelper;
      for (const Parameter& parameter :
           parameters_.Among(model_.Inputs(node))) {
        call.owner = modules_.Join(call.owner, parameter.module);
      }
      for (const std::string_view result : ResultsOf(model_, node)) {
        Return(result, model_[node].index, open);
      }
    }
  }

  void Return(std::string_view value, std::uint32_t at,
              std::vector<CallNumber>& open) {
    const Numbered name = SplitNumber(value);
    if (name.call >= open.back()) return;
    // The numbers of open calls rise.
    const auto inner =
        std::upper_bound(open.begin() + 1, open.end() - 1, name.call);
    const auto depth = static_cast<std::size_t>(inner - open.begin());
    Call& named = calls_[open[depth]];
    if (named.returned.empty()) named.returned = name.name;
    // It may have several results and continue.
    while (open.size() > depth && calls_[open.back()].last <= at) {
      open.pop_back();
    }
  }

  void PlaceCalls() {
    MangledNames names(modules_);
    std::vector<bool> called(modules_.size(), false);
    std::vector<bool> inlined_before(modules_.size(), false);
    for (const Call& call : calls_) {
      const ModuleId module = FindInlinedBefore(names, call.returned);
      if (module != kNo<ModuleId>) inlined_before[Index(module)] = true;
    }
    // A call's number is greater than its caller's.
    for (CallNumber i = most_; i > 0; --i) {
      Call& call = calls_[i];
      Call& outer = calls_[call.parent];
      if (call.IsHelper()) {
        outer.owner = modules_.Join(outer.owner, call.owner);
        continue;
      }
      call.module = FindInlined(names, call.returned);
      if (call.module != kNo<ModuleId> && inlined_before[Index(call.module)]) {
        call.callers_name = call.module;
        call.module = kNo<ModuleId>;
      }
      call.sure = call.module != kNo<ModuleId>;
      if (!call.sure) call.module = FromContents(call);
      if (call.module != kNo<ModuleId>) {
        called[Index(call.module)] = true;
        outer.several_callees |=
            outer.callees != kNo<ModuleId> && outer.callees != call.module;
        outer.callees = modules_.Join(outer.callees, call.module);
      }
    }
    // Without any name it may be any file with such numbers.
    if (!AnyIn(calls_, [](const Call& call) { return call.sure; })) {
      calls_.assign(most_ + 1, Call());
      return;
    }
    calls_[0].module = ModuleTree::kRoot;
    for (CallNumber i = 1; i <= most_; ++i) PlaceBelow(i, names, called);
  }

  // The last call inside a module returns the result of the module, so its own
  // name is lost. Its parameters and calls remain.
  ModuleId FromContents(const Call& call) const {
    ModuleId module = call.owner;
    if (call.callees != kNo<ModuleId>) {
      module = call.callees;
      if (!call.several_callees) module = modules_.Parent(module);
      while (module != kNo<ModuleId> && modules_.IsList(module)) {
        module = modules_.Parent(module);
      }
      module = modules_.Join(module, call.owner);
    }
    return module == ModuleTree::kRoot ? kNo<ModuleId> : module;
  }

  void PlaceBelow(CallNumber number, MangledNames& names,
                  const std::vector<bool>& called) {
    Call& call = calls_[number];
    const Call& outer = calls_[call.parent];
    if (call.IsHelper()) {
      call.module = outer.module;
      call.sure = outer.sure;
      return;
    }
    if (call.sure || outer.module == kNo<ModuleId>) return;
    // A new name is a module without its own parameters; the parameters that it
    // reads belong to another module.
    if (!call.returned.empty() && call.callers_name == kNo<ModuleId>) {
      const InlinedName name =
          ResolveInlined(names, modules_, call.returned, outer.module, called);
      if (name.module != kNo<ModuleId>) call.module = name.module;
      call.sure = name.complete;
    }
    if (call.module == outer.module ||
        (call.module != kNo<ModuleId> &&
         !modules_.IsAncestor(outer.module, call.module))) {
      call.module = kNo<ModuleId>;
      call.sure = false;
    }
  }

  const Model& model_;
  const ParameterFacts& parameters_;
  ModuleTree& modules_;
  IdVector<NodeId, CallNumber> number_;
  CallNumber most_ = 0;
  std::vector<Call> calls_;
};

}  // namespace

Claims GatherInlined(const Model& model, const ParameterFacts& parameters,
                     ModuleTree& modules) {
  Claims claims = InlinedGatherer(model, parameters, modules).Run();
  return claims.empty() ? GatherInlinedOrder(model, parameters, modules)
                        : claims;
}

}  // namespace onnx_tag
