// Files whose functions were inlined by onnx_ir.
//
// It keeps names and only numbers repeated ones. So only the end of a call is
// visible: its result has the name of its module. The start follows from the
// execution order: a function's own nodes are numbered in its body
// (`Constant_0`, `Transpose_5`), including the calls between them, and
// functions of torchlib begin with `n0`.
#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "evidence/evidence.h"
#include "evidence/inlined_replay.h"
#include "exporters/dynamo/mangled_names.h"
#include "exporters/functions/inlined_names.h"
#include "hierarchy/name_parts.h"

namespace onnx_tag {
namespace {

// What the names of the nodes look like.
struct BodyNames {
  std::size_t own = 0;    // numbers in bodies
  std::size_t other = 0;  // names of torchlib or of the rewriter
  bool rewritten = false;
};

BodyNames CountBodyNames(const Model& model) {
  BodyNames names;
  for (const NodeId node : model[GraphId{0}].nodes) {
    const BodyName name = ParseBodyName(model[node].name, model.OpType(node));
    names.own += name.kind == BodyName::kOwn;
    names.other +=
        name.kind == BodyName::kHelper || name.kind == BodyName::kRewritten;
    names.rewritten |= name.kind == BodyName::kRewritten;
  }
  return names;
}

class OrderGatherer {
 public:
  OrderGatherer(const Model& model, const ParameterFacts& parameters,
                bool optimized, ModuleTree& modules)
      : model_(model),
        parameters_(parameters),
        modules_(modules),
        nodes_(model[GraphId{0}].nodes),
        names_(modules),
        optimized_(optimized) {}

  InlinedFacts Run() {
    InlinedFacts facts;
    if (!FindFrames()) return facts;
    InlinedReplay inside(model_, parameters_, frames_, optimized_);
    inside.Follow(true);
    InlinedReplay outside(model_, parameters_, frames_, optimized_);
    outside.Follow(false);
    // A module whose first operation is a call is less likely.
    const bool nested = !optimized_ && frames_[1].caller != 0;
    const InlinedReplay& best =
        outside.misfits() < inside.misfits() + nested ? outside : inside;
    IdVector<NodeId, ModuleId> module(model_.node_count(), kNo<ModuleId>);
    for (std::size_t at = 0; at < nodes_.size(); ++at) {
      module[nodes_[at]] = frames_[best.OwnerOf(at)].module;
    }
    for (const NodeId node : model_.Nodes()) {
      const Graph& graph = model_[model_[node].graph];
      if (graph.kind == GraphKind::kSubgraph) {
        module[node] = module[graph.parent_node];
      }
      if (module[node] == kNo<ModuleId>) continue;
      facts.inlined.push_back(
          {node, module[node], Confidence::kMedium, Source::kValueName,
           "it is between nodes of an inlined call of this module"});
    }
    return facts;
  }

 private:
  // If an optimizer inlined the call, the node has the name of the call.
  bool IsDissolved(NodeId node, std::string_view value) const {
    return Mangle(model_[node].name).text.find(Mangle(value).text) !=
           std::string::npos;
  }

  std::vector<bool> FindAllDissolved() const {
    std::vector<bool> dissolved(modules_.size(), false);
    if (!optimized_) return dissolved;
    for (const NodeId node : nodes_) {
      for (const ValueId output : model_.Outputs(node)) {
        if (output == kNo<ValueId>) continue;
        const ModuleId module = FindDissolved(names_, model_.ValueName(output));
        if (module != kNo<ModuleId>) dissolved[Index(module)] = true;
      }
    }
    return dissolved;
  }

  void CountReads() {
    reads_.assign(1, 0);
    for (const NodeId node : nodes_) {
      const std::span<const ValueId> inputs = model_.Inputs(node);
      const bool reads =
          std::any_of(inputs.begin(), inputs.end(), [&](ValueId input) {
            return parameters_.ParameterOf(input) != kNo<ParameterId>;
          });
      reads_.push_back(reads_.back() + reads);
    }
  }

  // Whether the node only calls torchlib for a module that is no longer a
  // function, so that it belongs to the caller.
  bool IsLent(std::size_t at) const {
    if (ParseBodyName(model_[nodes_[at]].name, model_.OpType(nodes_[at]))
            .kind != BodyName::kHelper) {
      return false;
    }
    return reads_[at + 1] == reads_[frames_.back().end + 1];
  }

  bool FindFrames() {
    frames_.resize(1);
    std::size_t deep = 0;
    const std::vector<bool> dissolved = FindAllDissolved();
    CountReads();
    for (std::size_t at = 0; at < nodes_.size(); ++at) {
      const NodeId node = nodes_[at];
      for (const ValueId output : model_.Outputs(node)) {
        if (output == kNo<ValueId>) continue;
        const std::string_view value = model_.ValueName(output);
        ModuleId module = FindInlined(names_, value);
        if (module == kNo<ModuleId>) {
          if (FindDissolved(names_, value) == kNo<ModuleId>) continue;
          module = names_.FindAtEnd(value.substr(0, value.rfind('_')));
          if (module == kNo<ModuleId>) continue;
        } else if (IsDissolved(node, value)) {
          continue;
        }
        if (dissolved[Index(module)] && IsLent(at)) continue;
        deep += modules_.Depth(module) >= 2;
        frames_.push_back(
            {.module = module, .end = at, .call = CallOf(names_, value)});
        break;
      }
    }
    if (deep < 3) return false;  // names of operations may look like modules
    AddNewModules();
    KeepLastResults();
    AddLastCalls();
    FindCallers();
    return true;
  }

  // Modules without parameters are known only by their names. Their caller is a
  // module that has not returned yet.
  void AddNewModules() {
    std::vector<bool> over(modules_.size(), false);
    for (const Frame& frame : frames_) over[Index(frame.module)] = true;
    over[Index(ModuleTree::kRoot)] = false;
    std::vector<Frame> added;
    FrameId next = frames_.size();
    for (std::size_t at = nodes_.size(); at-- > 0;) {
      if (next > 1 && frames_[next - 1].end == at) {
        over[Index(frames_[--next].module)] = false;
        added.push_back(frames_[next]);
        continue;
      }
      for (const ValueId output : model_.Outputs(nodes_[at])) {
        if (output == kNo<ValueId>) continue;
        const std::string_view value = model_.ValueName(output);
        if (!BeginsWithModule(value)) continue;
        if (optimized_ &&
            ParseBodyName(model_[nodes_[at]].name, model_.OpType(nodes_[at]))
                    .kind != BodyName::kOwn) {
          continue;
        }
        const InlinedName name =
            ResolveInlined(names_, modules_, value, ModuleTree::kRoot, over);
        if (name.module == kNo<ModuleId>) continue;
        added.push_back(
            {.module = name.module, .end = at, .call = CallOf(names_, value)});
        break;
      }
    }
    frames_.resize(1);
    frames_.insert(frames_.end(), added.rbegin(), added.rend());
  }

  // If a call has several results, the last one is its end.
  void KeepLastResults() {
    std::map<std::pair<ModuleId, int>, std::size_t> last;
    for (FrameId id = 1; id < frames_.size(); ++id) {
      last[{frames_[id].module, frames_[id].call}] = id;
    }
    std::vector<Frame> kept(1);
    for (FrameId id = 1; id < frames_.size(); ++id) {
      if (last[{frames_[id].module, frames_[id].call}] == id) {
        kept.push_back(frames_[id]);
      }
    }
    frames_ = std::move(kept);
  }

  bool BeginsWithModule(std::string_view value) const {
    const std::size_t call = value.rfind('_');
    return call != std::string_view::npos &&
           hierarchy::IsNumeric(value.substr(call + 1)) && value.size() < 600 &&
           names_.FindStart(value.substr(0, call)) != ModuleTree::kRoot;
  }

  // The last call inside a module returns the result of the module, so it has
  // no name. If it reads parameters, they show its module.
  void AddLastCalls() {
    std::vector<Frame> all(1);
    std::size_t begin = 0;
    for (FrameId id = 1; id < frames_.size(); ++id) {
      AddCallsAround(LastOwner(begin, frames_[id]), frames_[id], all);
      all.push_back(frames_[id]);
      begin = frames_[id].end + 1;
    }
    frames_ = std::move(all);
  }

  // The module below the frame's that owns the last parameter read.
  ModuleId LastOwner(std::size_t begin, const Frame& frame) const {
    for (std::size_t at = frame.end + 1; at-- > begin;) {
      for (const ValueId input : model_.Inputs(nodes_[at])) {
        const ParameterId id = parameters_.ParameterOf(input);
        if (id == kNo<ParameterId>) continue;
        const ModuleId module = parameters_.parameters[id].module;
        if (module == frame.module ||
            !modules_.IsAncestor(frame.module, module)) {
          return kNo<ModuleId>;
        }
        const bool dissolved =
            ParseBodyName(model_[nodes_[at]].name, model_.OpType(nodes_[at]))
                .kind == BodyName::kOther;
        return dissolved ? modules_.Parent(module) : module;
      }
    }
    return kNo<ModuleId>;
  }

  void AddCallsAround(ModuleId owner, const Frame& frame,
                      std::vector<Frame>& all) const {
    if (owner == kNo<ModuleId>) return;
    for (ModuleId at = owner; at != frame.module && at != ModuleTree::kRoot;
         at = modules_.Parent(at)) {
      const auto children = modules_.Children(at);
      const bool is_list =
          !children.empty() &&
          hierarchy::IsNumeric(modules_.Atom(*children.begin()));
      if (!is_list) all.push_back({.module = at, .end = frame.end});
    }
  }

  // Calls are nested. So the caller is the first of the enclosing modules that
  // returns.
  void FindCallers() {
    constexpr int kDeepest = 100;
    std::vector<FrameId> returns(modules_.size(), 0);
    for (FrameId id = frames_.size() - 1; id > 0; --id) {
      Frame& frame = frames_[id];
      ModuleId at = modules_.Parent(frame.module);
      for (int i = 0;
           i < kDeepest && at != kNo<ModuleId> && at != ModuleTree::kRoot;
           ++i, at = modules_.Parent(at)) {
        const FrameId outer = returns[Index(at)];
        if (outer != 0 && (frame.caller == 0 || outer < frame.caller)) {
          frame.caller = outer;
        }
      }
      returns[Index(frame.module)] = id;
    }
  }

  const Model& model_;
  const ParameterFacts& parameters_;
  ModuleTree& modules_;
  const std::vector<NodeId>& nodes_;
  MangledNames names_;
  const bool optimized_;  // the rewriter has changed names
  std::vector<Frame> frames_;
  std::vector<std::size_t> reads_;  // nodes before that read a parameter
};

}  // namespace

InlinedFacts GatherInlinedOrder(const Model& model,
                                const ParameterFacts& parameters,
                                ModuleTree& modules) {
  const BodyNames names = CountBodyNames(model);
  if (names.own == 0 || names.other == 0) return {};
  return OrderGatherer(model, parameters, names.rewritten, modules).Run();
}

}  // namespace onnx_tag
