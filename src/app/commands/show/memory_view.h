// What a model holds in memory while it runs, for `show --measure memory`.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "app/commands/read/model_sizes.h"
#include "app/commands/read/tagged_model.h"
#include "app/render/result.h"
#include "uses/sizes/main_run.h"

namespace onnx_tag {

class MemoryView {
 public:
  // Both must outlive it.
  MemoryView(const TaggedModel& model, const ModelCosts& costs);

  // What is held, without weights, while each node runs.
  void ForEachStep(
      const std::function<void(NodeId, std::uint64_t bytes)>& use) const {
    for (std::size_t i = 0; i < live_.size(); ++i) {
      use(run_.steps()[i].node, live_[i]);
    }
  }
  std::uint64_t peak() const { return live_.empty() ? 0 : live_[peak_step_]; }

  // Lines of the header, and what is held at the peak.
  void AddHeader(Result& result) const;
  void AddPeak(Result& result) const;
  Datum Data() const;

  static constexpr std::string_view kAssumptions =
      "nodes run in the order of the file; a result is held until its last "
      "reader; inputs and outputs are held for the whole run; no reuse in "
      "place, no padding";

 private:
  struct Cache {
    std::string_view name;
    std::uint64_t bytes;
    bool is_input;  // of earlier tokens; else what this run returns
  };
  void FindCaches();
  void AddCache(ValueId value, bool is_input);
  // The items that are held while the step of the peak runs, the largest first.
  std::vector<std::uint32_t> HeldAtPeak() const;
  std::uint64_t SumOf(bool is_input) const;

  const TaggedModel& model_;
  const ModelCosts& costs_;
  sizes::MainRun run_;
  std::vector<std::uint64_t> live_;
  std::size_t peak_step_ = 0;
  std::vector<Cache> caches_;
  std::vector<bool> is_cache_;  // by value
};

}  // namespace onnx_tag
