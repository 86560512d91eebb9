// Reconstructs inlined calls in execution order.
#ifndef ONNX_TAG_EVIDENCE_INLINED_REPLAY_H_
#define ONNX_TAG_EVIDENCE_INLINED_REPLAY_H_

#include <cstddef>
#include <vector>

#include "evidence/evidence.h"

namespace onnx_tag {

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

class InlinedReplay {
 public:
  // `frames` are in the order of their ends; the first is the main graph. If an
  // optimizer changed the bodies, their numbers have gaps.
  InlinedReplay(const Model& model, const ParameterFacts& parameters,
                std::vector<Frame> frames, bool optimized);

  // A file does not say whether the nodes before the first call belong to the
  // main graph. Of both interpretations, the one with fewer misfits is used.
  void Follow(bool starts_in_main);
  std::size_t misfits() const { return misfits_; }

  // The frame of the main graph's node at `position`.
  FrameId OwnerOf(std::size_t position) const { return owner_[position]; }

 private:
  struct Run;

  std::vector<FrameId> Opened(FrameId closing, FrameId current);
  void FillGap(std::size_t begin, std::size_t end, FrameId current,
               const std::vector<FrameId>& opened, bool outside);
  void AddOwn(std::size_t number, std::size_t at, std::size_t most_opened,
              std::vector<Run>& runs);
  std::size_t LastRewrittenZero(std::size_t begin, std::size_t end) const;
  bool ReadsParameterOf(std::size_t begin, std::size_t end,
                        ModuleId module) const;
  void SplitLast(std::vector<Run>& runs, std::size_t end,
                 const std::vector<FrameId>& opened) const;
  void Assign(const std::vector<Run>& runs, std::size_t end, FrameId current,
              const std::vector<FrameId>& opened);
  static void StartRun(std::vector<Run>& runs, std::size_t begin,
                       std::size_t taken);

  const Model& model_;
  const ParameterFacts& parameters_;
  const std::vector<NodeId>& nodes_;
  std::vector<Frame> frames_;
  bool optimized_;
  std::vector<FrameId> owner_;  // by position
  std::size_t misfits_ = 0;
};

}  // namespace onnx_tag

#endif  // ONNX_TAG_EVIDENCE_INLINED_REPLAY_H_
