// Where the runtime ran the kernels of a model: which provider has which
// modules, what falls back to the CPU, and what lies between providers.
#ifndef ONNX_TAG_APP_COMMANDS_PROFILE_PLACEMENT_H_
#define ONNX_TAG_APP_COMMANDS_PROFILE_PLACEMENT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/commands/profile/kernels.h"
#include "app/commands/read/tagged_model.h"
#include "uses/profile/profile.h"

namespace onnx_tag {

struct Placement {
  static constexpr std::string_view kCpu = "CPUExecutionProvider";

  struct Provider {
    std::string name;
    std::uint64_t kernels = 0;
    std::uint64_t calls = 0;
    std::int64_t self = 0;
  };
  // A module of which all kernels run on the CPU, or, if others in it do not,
  // its own kernels that do.
  struct Fallback {
    ModuleId module = kNo<ModuleId>;  // kNo: kernels that have no module
    bool whole = false;               // with all modules in it
    std::uint64_t kernels = 0;
    std::int64_t self = 0;
  };

  // Whether the profile says it, and more than one provider ran.
  bool is_mixed() const { return providers.size() > 1; }
  // A provider besides the CPU ran kernels.
  bool has_fallbacks() const { return is_mixed() && !fallbacks.empty(); }

  std::vector<Provider> providers;  // by self, the largest first
  // Values that a kernel of one provider makes and one of another reads: each
  // needs a copy, or memory that both see. Only kernels with nodes count.
  std::uint64_t borders = 0;
  // Kernels that copy between devices.
  std::uint64_t copy_calls = 0;
  std::int64_t copy_self = 0;
  std::vector<Fallback> fallbacks;  // by self
};

// `sums` has the self times and calls of each kernel.
struct KernelSum {
  std::int64_t self = 0;
  std::uint64_t calls = 0;
};
Placement PlacementOf(
    const TaggedModel& model, const profile::Profile& profile,
    const IdVector<profile::KernelId, KernelPlaces::Place>& places,
    const IdVector<profile::KernelId, KernelSum>& sums);

}  // namespace onnx_tag

#endif  // ONNX_TAG_APP_COMMANDS_PROFILE_PLACEMENT_H_
