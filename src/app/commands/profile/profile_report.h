// What a profile says of the modules of a model: counted in profile_report.cc,
// printed in profile_output.cc.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/commands/commands.h"
#include "app/commands/profile/kernels.h"
#include "app/commands/read/rollup.h"
#include "app/commands/read/tagged_model.h"
#include "app/render/result.h"

namespace onnx_tag {

// placement.cc: where the runtime ran the kernels of a model: which provider
// has which modules, what falls back to the CPU, and what lies between
// providers.
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

inline constexpr std::string_view kNotInModel = "[not in the model]";

// Times are microseconds; other numbers are counted in Measure::parts.
struct ProfileNumbers {
  void Add(const ProfileNumbers& other, const profile::Measure& measure) {
    self = measure.Add(self, other.self);
    total = measure.Add(total, other.total);
    calls += other.calls;
  }

  std::int64_t self = 0;
  std::int64_t total = 0;  // with all below; of modules
  std::uint64_t calls = 0;
};

// The first profile, and the one beside it.
using ProfilePair = std::array<ProfileNumbers, 2>;

struct ProfileRow {
  RowLabel label;        // the module, class, ... or "[not in the model]"
  std::string provider;  // of a node
  bool shown = true;     // in text
  ModuleId module = kNo<ModuleId>;
  ProfilePair numbers;
};

// A kernel that no node could be found for.
struct UnplacedKernel {
  std::string name;
  std::string op;
  std::size_t side = 0;
  std::int64_t self = 0;
  std::uint64_t calls = 0;
  std::string why;  // the row that has it
};

// Modules around a kernel, outermost first, the operator last.
struct ProfileStack {
  std::vector<std::string> frames;
  std::int64_t self = 0;
};

// One file.
struct ProfileSide {
  std::string file;
  std::uint64_t model_runs = 0;
  std::uint64_t calls = 0;
  std::int64_t total = 0;  // of what ran at top level
  // Of the runs, what no kernel took; none if it is not known.
  std::optional<std::int64_t> outside;
  bool cut_off = false;
};

struct ProfileReport {
  bool two() const { return sides.size() > 1; }

  std::string model;
  std::string tags_from;
  std::string detail;  // of rows: "class", "module", "code", ""
  profile::Measure measure;
  std::vector<ProfileSide> sides;  // one or two
  std::vector<ProfileRow> rows;    // by self; they add up to the total
  // With --by module: of each module, calls with all below.
  IdVector<ModuleId, ProfilePair> modules;
  std::vector<UnplacedKernel> unplaced;
  Placement placement;               // of the first side
  std::vector<ProfileStack> stacks;  // of the first side
};

inline double ShareOf(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0.0
                    : static_cast<double>(part) / static_cast<double>(whole);
}

// Of the first side: the kernels that the model does not have.
double ShareNotInModel(const ProfileReport& report);

// Above this share of the time, a row without modules needs an explanation.
inline constexpr double kMuchOutside = 0.05;

// A table has names and numbers, but neither providers nor operators.
bool IsTable(const ProfileReport& report);

// Why kernels are not in the model, and what to do. The last lines are
// commands.
struct KernelAdvice {
  std::string why;
  std::vector<std::string> steps;
};
KernelAdvice ProfileAdvice(const ProfileReport& report,
                           const ProfileOptions& options);

std::string FallbackName(const TaggedModel& model,
                         const Placement::Fallback& fallback);

void AddProfileText(const TaggedModel& model, const ProfileReport& report,
                    const ProfileOptions& options, Result& result);

Datum ProfileData(const TaggedModel& model,
                  const std::shared_ptr<const ProfileReport>& report,
                  const ProfileOptions& options);

// The stacks in a format of tools that draw flame graphs.
std::string FoldedStacks(const ProfileReport& report);
std::string SpeedscopeStacks(const ProfileReport& report);

}  // namespace onnx_tag
