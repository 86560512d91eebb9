// A rolled-up profile, or two side by side, and the forms in which it is
// printed.
#ifndef ONNX_TAG_COMMANDS_PROFILE_PROFILE_OUTPUT_H_
#define ONNX_TAG_COMMANDS_PROFILE_PROFILE_OUTPUT_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "commands/options.h"
#include "commands/read/tag_source.h"
#include "io/terminal.h"
#include "profile/profile.h"

namespace onnx_tag {

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
  std::string name;    // the module, class, ... or "[not in the model]"
  std::string detail;  // a module's class, a node's module
  bool placed = false;
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
  profile::Measure measure;
  std::vector<ProfileSide> sides;  // one or two
  std::vector<ProfileRow> rows;    // by self; they add up to the total
  // With --by module: of each module, calls with all below.
  IdVector<ModuleId, ProfilePair> modules;
  std::vector<UnplacedKernel> unplaced;
  std::vector<ProfileStack> stacks;  // of the first side
};

// The first lines: what was read, and what was spent outside kernels.
std::string ProfileHead(const ProfileReport& report);

// "self ms", "self"
std::string ProfileUnit(std::string_view head, const ProfileReport& report);
// "1.234" milliseconds, "1,024" bytes, "0.5"
std::string ProfileNumber(std::int64_t number, const ProfileReport& report);
// "12.5%"
std::string ProfileShare(std::int64_t part, std::int64_t whole);
// "ReorderInput, Cast": the kernels without a node in the row `why`.
std::string UnplacedOperators(const ProfileReport& report,
                              const std::string& why);

void PrintProfile(const TaggedModel& model, const ProfileReport& report,
                  const ProfileOptions& options, Terminal& terminal);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_PROFILE_PROFILE_OUTPUT_H_
