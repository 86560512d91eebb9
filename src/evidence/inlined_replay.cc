#include "evidence/inlined_replay.h"

#include <algorithm>
#include <utility>

#include "exporters/functions/inlined_names.h"

namespace onnx_tag {

// Consecutive nodes of one frame.
struct InlinedReplay::Run {
  std::size_t begin = 0;
  std::size_t base = 0;            // number of its first item
  std::vector<std::size_t> items;  // their starts

  std::size_t Next() const { return base + items.size(); }
};

InlinedReplay::InlinedReplay(const Model& model,
                             const ParameterFacts& parameters,
                             std::vector<Frame> frames, bool optimized)
    : model_(model),
      parameters_(parameters),
      nodes_(model[GraphId{0}].nodes),
      frames_(std::move(frames)),
      optimized_(optimized) {}

void InlinedReplay::Follow(bool starts_in_main) {
  owner_.assign(nodes_.size(), 0);
  misfits_ = 0;
  FrameId current = 0;
  std::size_t begin = 0;
  for (FrameId closing = 1; closing < frames_.size(); ++closing) {
    std::vector<FrameId> opened = Opened(closing, current);
    const bool outside = closing == 1 && !starts_in_main;
    FillGap(begin, frames_[closing].end, current, opened, outside);
    begin = frames_[closing].end + 1;
    current = frames_[closing].caller;
    ++frames_[current].next;
  }
}

// The frames that started after `current` continued, outermost first.
std::vector<FrameId> InlinedReplay::Opened(FrameId closing, FrameId current) {
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

void InlinedReplay::FillGap(std::size_t begin, std::size_t end, FrameId current,
                            const std::vector<FrameId>& opened, bool outside) {
  if (begin > end) return;
  std::vector<Run> runs(1);
  runs[0].begin = begin;
  runs[0].base = frames_[current].next;
  if (outside && !opened.empty()) StartRun(runs, begin, 0);
  const std::size_t last_zero = LastRewrittenZero(begin, end);
  HelperCalls helpers;
  const auto flush = [&] {
    for (const std::size_t start : helpers.Take()) {
      runs.back().items.push_back(start);
    }
  };
  for (std::size_t at = begin; at <= end; ++at) {
    const NodeId node = nodes_[at];
    const BodyName name = ParseBodyName(model_[node].name, model_.OpType(node));
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

void InlinedReplay::StartRun(std::vector<Run>& runs, std::size_t begin,
                             std::size_t taken) {
  Run run;
  run.begin = begin;
  std::vector<std::size_t>& items = runs.back().items;
  run.items.assign(items.end() - static_cast<std::ptrdiff_t>(taken),
                   items.end());
  items.resize(items.size() - taken);
  runs.push_back(std::move(run));
}

void InlinedReplay::AddOwn(std::size_t number, std::size_t at,
                           std::size_t most_opened, std::vector<Run>& runs) {
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
std::size_t InlinedReplay::LastRewrittenZero(std::size_t begin,
                                             std::size_t end) const {
  for (std::size_t at = end + 1; at-- > begin;) {
    const BodyName name =
        ParseBodyName(model_[nodes_[at]].name, model_.OpType(nodes_[at]));
    if (name.kind == BodyName::kRewritten && name.number == 0) return at;
  }
  return nodes_.size();
}

bool InlinedReplay::ReadsParameterOf(std::size_t begin, std::size_t end,
                                     ModuleId module) const {
  for (std::size_t at = begin; at < end; ++at) {
    for (const ValueId input : model_.Inputs(nodes_[at])) {
      const ParameterId id = parameters_.ParameterOf(input);
      if (id != kNo<ParameterId> &&
          parameters_.parameters[id].module == module) {
        return true;
      }
    }
  }
  return false;
}

// A module that consists of one call of torchlib has no number 0. It is the
// last item of a run of its caller.
void InlinedReplay::SplitLast(std::vector<Run>& runs, std::size_t end,
                              const std::vector<FrameId>& opened) const {
  Run& last = runs.back();
  const std::size_t begin = last.items.empty() ? end : last.items.back();
  if (runs.size() == 1) {
    StartRun(runs, begin, last.items.empty() ? 0 : 1);
    return;
  }
  if (runs.size() > opened.size() || last.items.size() < 2) return;
  if (ParseBodyName(model_[nodes_[begin]].name, model_.OpType(nodes_[begin]))
          .kind == BodyName::kOwn) {
    return;  // its number continues the run's
  }
  const ModuleId module = frames_[opened.back()].module;
  const bool only_identity =
      begin == end && model_.OpType(nodes_[end]) == "Identity";
  if (only_identity || (ReadsParameterOf(begin, end + 1, module) &&
                        !ReadsParameterOf(last.begin, begin, module))) {
    StartRun(runs, begin, 1);
  }
}

void InlinedReplay::Assign(const std::vector<Run>& runs, std::size_t end,
                           FrameId current,
                           const std::vector<FrameId>& opened) {
  // The last run belongs to the call that returns here, the runs before it to
  // its callers.
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::size_t from_end = runs.size() - 1 - i;
    FrameId frame = current;
    if (i > 0 && from_end < opened.size()) {
      frame = opened[opened.size() - 1 - from_end];
    }
    const std::size_t stop = i + 1 < runs.size() ? runs[i + 1].begin : end + 1;
    for (std::size_t at = runs[i].begin; at < stop; ++at) owner_[at] = frame;
    frames_[frame].next = optimized_ ? runs[i].base : runs[i].Next();
  }
}

}  // namespace onnx_tag
