// Calls that an inliner dissolved, followed in the order of execution.
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
  std::size_t end = 0;  // where it returns
  int call = 0;         // of the module: the first, the second
  FrameId caller = 0;
  // Items of the body that have been executed; with an optimizer's gaps in
  // the numbers, the last number.
  std::size_t next = 0;
};

class InlinedReplay {
 public:
  // `frames` in the order of their ends; the first is the main graph. Where an
  // optimizer worked on the bodies, their numbers have gaps.
  InlinedReplay(const Model& model, const ParameterFacts& parameters,
                std::vector<Frame> frames, bool optimized);

  // Whether what comes before the first call is the main graph's own, no file
  // says: of both readings the one with fewer misfits is right.
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
