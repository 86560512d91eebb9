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
#include <utility>
#include <vector>

#include "clues/exporters/dynamo/mangled_names.h"
#include "clues/exporters/functions/inlined_names.h"
#include "core/hierarchy/name_parts.h"
#include "core/tagging/tag_format.h"
#include "mapping/evidence/evidence.h"

namespace onnx_tag {
namespace {

using FrameId = std::size_t;  // 0: the main graph

// A call of a module, known by the value it returns.
struct Frame {
  ModuleId module = ModuleTree::kRoot;
  std::size_t end = 0;  // the position of its return
  int call = 0;         // which call of the module it is
  FrameId caller = 0;
  // The number of executed items of the body; if an optimizer left gaps in the
  // numbers, the last number.
  std::size_t next = 0;
};

// The nodes of the main graph, by position.
struct Body {
  Body(const Model& m, const ParameterFacts& p)
      : model(m), parameters(p), nodes(m[GraphId{0}].nodes) {
    names.reserve(nodes.size());
    for (const NodeId node : nodes) {
      names.push_back(ParseBodyName(ExporterName(m, node), m.OpType(node)));
      has_own |= names.back().kind == BodyName::kOwn;
      has_helpers |= names.back().kind == BodyName::kHelper;
      rewritten |= names.back().kind == BodyName::kRewritten;
    }
  }

  ParameterFacts::Range ParametersAt(std::size_t at) const {
    return parameters.Among(model.Inputs(nodes[at]));
  }
  bool Reads(std::size_t begin, std::size_t end, ModuleId module) const {
    for (std::size_t at = begin; at < end; ++at) {
      for (const Parameter& parameter : ParametersAt(at)) {
        if (parameter.module == module) return true;
      }
    }
    return false;
  }

  const Model& model;
  const ParameterFacts& parameters;
  const std::vector<NodeId>& nodes;
  std::vector<BodyName> names;
  bool has_own = false;      // numbers in bodies
  bool has_helpers = false;  // names of torchlib
  bool rewritten = false;    // an optimizer has changed names
};

// Puts the nodes of torchlib's functions, which call each other, together into
// outermost calls.
class HelperCalls {
 public:
  void Add(std::size_t number, std::size_t position) {
    // Calls that are over count as items of the one around them, which goes on
    // with the number behind.
    std::size_t begin = position;
    std::size_t items = 0;
    std::size_t keep = calls_.size();
    while (number > 0) {
      if (keep > 0 && calls_[keep - 1].next + items == number) {
        calls_.resize(keep);
        calls_.back().next = number + 1;
        return;
      }
      if (items == number || items == kMostItems || keep == 0) break;
      begin = calls_[--keep].begin;
      ++items;
    }
    if (number > 0 && items == number) {
      calls_.resize(keep);
    } else {
      begin = position;
    }
    calls_.push_back({begin, number + 1});
  }

  // Appends where each call begins, in order, and forgets them.
  void MoveTo(std::vector<std::size_t>& begins) {
    for (const Call& call : calls_) begins.push_back(call.begin);
    calls_.clear();
  }

 private:
  // Of one call; torchlib's functions have some dozens.
  static constexpr std::size_t kMostItems = 1024;

  struct Call {
    std::size_t begin;
    std::size_t next;  // the number of its next item
  };
  std::vector<Call> calls_;
};

// Reconstructs inlined calls in execution order.
class InlinedReplay {
 public:
  // `frames` are in the order of their ends; the first is the main graph. A
  // file does not say whether the nodes before the first call belong to the
  // main graph. Of both interpretations, the one with fewer misfits is used.
  InlinedReplay(const Body& body, std::vector<Frame> frames,
                bool starts_in_main)
      : body_(body),
        optimized_(body.rewritten),
        frames_(std::move(frames)),
        owner_(body.nodes.size(), 0) {
    FrameId current = 0;
    std::size_t begin = 0;
    for (FrameId closing = 1; closing < frames_.size(); ++closing) {
      const std::vector<FrameId> opened = Opened(closing, current);
      const bool outside = closing == 1 && !starts_in_main;
      FillGap(begin, frames_[closing].end, current, opened, outside);
      begin = frames_[closing].end + 1;
      current = frames_[closing].caller;
      ++frames_[current].next;
    }
  }

  std::size_t misfits() const { return misfits_; }
  ModuleId ModuleAt(std::size_t position) const {
    return frames_[owner_[position]].module;
  }

 private:
  // Consecutive nodes of one frame.
  struct Run {
    std::size_t begin = 0;
    std::size_t base = 0;            // number of its first item
    std::vector<std::size_t> items;  // their starts

    std::size_t Next() const { return base + items.size(); }
  };

  // The frames that started after `current` continued, outermost first.
  std::vector<FrameId> Opened(FrameId closing, FrameId current) {
    std::vector<FrameId> opened;
    FrameId at = closing;
    while (at != current && at != 0) {
      opened.push_back(at);
      at = frames_[at].caller;
    }
    if (at != current) {
      // The module is registered elsewhere but called from here.
      frames_[closing].caller = current;
      return {closing};
    }
    std::reverse(opened.begin(), opened.end());
    return opened;
  }

  void FillGap(std::size_t begin, std::size_t end, FrameId current,
               const std::vector<FrameId>& opened, bool outside) {
    if (begin > end) return;
    std::vector<Run> runs(1);
    runs[0].begin = begin;
    runs[0].base = frames_[current].next;
    if (outside && !opened.empty()) StartRun(runs, begin, 0);
    const std::size_t last_zero = LastRewrittenZero(begin, end);
    HelperCalls helpers;
    const auto flush = [&] { helpers.MoveTo(runs.back().items); };
    for (std::size_t at = begin; at <= end; ++at) {
      const BodyName& name = body_.names[at];
      switch (name.kind) {
        case BodyName::kHelper:
          helpers.Add(name.number, at);
          break;
        case BodyName::kOwn:
          flush();
          AddOwn(name.number, at, opened.size(), runs);
          break;
        case BodyName::kRewritten:
          flush();
          if (at == last_zero && !opened.empty()) StartRun(runs, at, 0);
          runs.back().items.push_back(at);
          break;
        case BodyName::kOther:
          break;
      }
    }
    flush();
    if (opened.empty()) {
      std::fill(owner_.begin() + static_cast<std::ptrdiff_t>(begin),
                owner_.begin() + static_cast<std::ptrdiff_t>(end) + 1, current);
      return;
    }
    SplitLast(runs, end, opened);
    if (begin == 0 && runs.size() - 1 < opened.size()) ++misfits_;
    Assign(runs, end, current, opened);
  }

  static void StartRun(std::vector<Run>& runs, std::size_t begin,
                       std::size_t taken) {
    Run run;
    run.begin = begin;
    std::vector<std::size_t>& items = runs.back().items;
    run.items.assign(items.end() - static_cast<std::ptrdiff_t>(taken),
                     items.end());
    items.resize(items.size() - taken);
    runs.push_back(std::move(run));
  }

  void AddOwn(std::size_t number, std::size_t at, std::size_t most_opened,
              std::vector<Run>& runs) {
    const std::size_t expected = runs.back().Next();
    const bool may_open = runs.size() <= most_opened;
    if (optimized_) {
      if (number < runs.back().base && may_open) StartRun(runs, at, 0);
      runs.back().base = number;
      runs.back().items.assign(1, at);
      return;
    }
    if (number != expected) {
      const std::size_t items = runs.back().items.size();
      if (number < expected && number <= items && may_open) {
        // The same number of preceding items also belongs to the new function.
        StartRun(runs, number == 0 ? at : runs.back().items[items - number],
                 number);
      } else {
        ++misfits_;
        runs.back().base += number - expected;
      }
    }
    runs.back().items.push_back(at);
  }

  // The rewriter numbers its nodes in a function from 0.
  std::size_t LastRewrittenZero(std::size_t begin, std::size_t end) const {
    for (std::size_t at = end + 1; at-- > begin;) {
      const BodyName& name = body_.names[at];
      if (name.kind == BodyName::kRewritten && name.number == 0) return at;
    }
    return body_.nodes.size();
  }

  // A module that consists of one call of torchlib has no number 0. It is the
  // last item of a run of its caller.
  void SplitLast(std::vector<Run>& runs, std::size_t end,
                 const std::vector<FrameId>& opened) const {
    Run& last = runs.back();
    const std::size_t begin = last.items.empty() ? end : last.items.back();
    if (runs.size() == 1) {
      StartRun(runs, begin, last.items.empty() ? 0 : 1);
      return;
    }
    if (runs.size() > opened.size() || last.items.size() < 2 ||
        body_.names[begin].kind == BodyName::kOwn) {  // continues the run
      return;
    }
    const ModuleId module = frames_[opened.back()].module;
    const bool only_identity =
        begin == end &&
        FindOp(body_.model.OpType(body_.nodes[end])) == Op::kIdentity;
    if (only_identity || (body_.Reads(begin, end + 1, module) &&
                          !body_.Reads(last.begin, begin, module))) {
      StartRun(runs, begin, 1);
    }
  }

  void Assign(const std::vector<Run>& runs, std::size_t end, FrameId current,
              const std::vector<FrameId>& opened) {
    // The last run belongs to the call that returns here, the runs before it to
    // its callers.
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const std::size_t from_end = runs.size() - 1 - i;
      FrameId frame = current;
      if (i > 0 && from_end < opened.size()) {
        frame = opened[opened.size() - 1 - from_end];
      }
      const std::size_t stop =
          i + 1 < runs.size() ? runs[i + 1].begin : end + 1;
      for (std::size_t at = runs[i].begin; at < stop; ++at) owner_[at] = frame;
      frames_[frame].next = optimized_ ? runs[i].base : runs[i].Next();
    }
  }

  const Body& body_;
  const bool optimized_;  // numbers have gaps
  std::vector<Frame> frames_;
  std::vector<FrameId> owner_;  // by position
  std::size_t misfits_ = 0;
};

class OrderGatherer {
 public:
  OrderGatherer(const Body& body, ModuleTree& modules)
      : body_(body), model_(body.model), modules_(modules), names_(modules) {}

  Claims Run() {
    Claims claims;
    if (!FindFrames()) return claims;
    const InlinedReplay inside(body_, frames_, true);
    const InlinedReplay outside(body_, frames_, false);
    // A module whose first operation is a call is less likely.
    const bool nested = !body_.rewritten && frames_[1].caller != 0;
    const InlinedReplay& best =
        outside.misfits() < inside.misfits() + nested ? outside : inside;
    IdVector<NodeId, ModuleId> module(model_.node_count(), kNo<ModuleId>);
    for (std::size_t at = 0; at < body_.nodes.size(); ++at) {
      module[body_.nodes[at]] = best.ModuleAt(at);
    }
    for (const NodeId node : model_.Nodes()) {
      const Graph& graph = model_[model_[node].graph];
      if (graph.kind == GraphKind::kSubgraph) {
        module[node] = module[graph.parent_node];
      }
      if (module[node] == kNo<ModuleId>) continue;
      claims.push_back(
          {node, module[node], Confidence::kMedium, Source::kValueName,
           "it is between nodes of an inlined call of this module"});
    }
    return claims;
  }

 private:
  // If an optimizer inlined the call, the node has the name of the call.
  bool IsNamedByCall(NodeId node, std::string_view value) const {
    return Mangle(ExporterName(model_, node)).text.find(Mangle(value).text) !=
           std::string::npos;
  }

  // By module: an optimizer inlined its function before.
  std::vector<bool> FindAllInlinedBefore() const {
    std::vector<bool> inlined(modules_.size(), false);
    if (!body_.rewritten) return inlined;
    for (const NodeId node : body_.nodes) {
      for (const std::string_view value : ResultsOf(model_, node)) {
        const ModuleId module = FindInlinedBefore(names_, value);
        if (module != kNo<ModuleId>) inlined[Index(module)] = true;
      }
    }
    return inlined;
  }

  // Whether the node only calls torchlib for a module that is no longer a
  // function, so that it belongs to the caller.
  bool HasCallersName(std::size_t at) const {
    if (body_.names[at].kind != BodyName::kHelper) return false;
    // No node since the last call reads a parameter.
    return reads_[at + 1] == reads_[frames_.back().end + 1];
  }

  bool FindFrames() {
    frames_.resize(1);
    std::size_t deep = 0;
    const std::vector<bool> inlined = FindAllInlinedBefore();
    reads_.assign(1, 0);
    for (std::size_t at = 0; at < body_.nodes.size(); ++at) {
      reads_.push_back(reads_.back() + !body_.ParametersAt(at).empty());
    }
    for (std::size_t at = 0; at < body_.nodes.size(); ++at) {
      const NodeId node = body_.nodes[at];
      for (const std::string_view value : ResultsOf(model_, node)) {
        ModuleId module = FindInlined(names_, value);
        if (module == kNo<ModuleId>) {
          if (FindInlinedBefore(names_, value) == kNo<ModuleId>) continue;
          module = names_.FindAtEnd(value.substr(0, value.rfind('_')));
          if (module == kNo<ModuleId>) continue;
        } else if (IsNamedByCall(node, value)) {
          continue;
        }
        if (inlined[Index(module)] && HasCallersName(at)) continue;
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
    for (std::size_t at = body_.nodes.size(); at-- > 0;) {
      if (next > 1 && frames_[next - 1].end == at) {
        over[Index(frames_[--next].module)] = false;
        added.push_back(frames_[next]);
        continue;
      }
      for (const std::string_view value : ResultsOf(model_, body_.nodes[at])) {
        if (!BeginsWithModule(value) ||
            (body_.rewritten && body_.names[at].kind != BodyName::kOwn)) {
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
      for (const Parameter& parameter : body_.ParametersAt(at)) {
        const ModuleId module = parameter.module;
        if (module == frame.module ||
            !modules_.IsAncestor(frame.module, module)) {
          return kNo<ModuleId>;
        }
        const bool inlined = body_.names[at].kind == BodyName::kOther;
        return inlined ? modules_.Parent(module) : module;
      }
    }
    return kNo<ModuleId>;
  }

  void AddCallsAround(ModuleId owner, const Frame& frame,
                      std::vector<Frame>& all) const {
    if (owner == kNo<ModuleId>) return;
    for (ModuleId at = owner; at != frame.module && at != ModuleTree::kRoot;
         at = modules_.Parent(at)) {
      if (!modules_.IsList(at)) {
        all.push_back({.module = at, .end = frame.end});
      }
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

  const Body& body_;
  const Model& model_;
  ModuleTree& modules_;
  MangledNames names_;
  std::vector<Frame> frames_;
  std::vector<std::size_t> reads_;  // nodes before that read a parameter
};

}  // namespace

Claims GatherInlinedOrder(const Model& model, const ParameterFacts& parameters,
                          ModuleTree& modules) {
  const Body body(model, parameters);
  if (!body.has_own || !(body.has_helpers || body.rewritten)) return {};
  return OrderGatherer(body, modules).Run();
}

}  // namespace onnx_tag
