// A rolled-up profile, and the forms in which it is printed.
#ifndef ONNX_TAG_COMMANDS_READ_PROFILE_OUTPUT_H_
#define ONNX_TAG_COMMANDS_READ_PROFILE_OUTPUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "commands/options.h"
#include "io/terminal.h"

namespace onnx_tag {

// Times are microseconds, as the runtime has them.
struct ProfileRow {
  std::string name;    // the module, class, ... or "[not in the model]"
  std::string detail;  // a module's class, a node's module
  bool placed = false;
  ModuleId module = kNo<ModuleId>;
  std::int64_t self = 0;
  std::int64_t total = 0;  // with all below; of modules
  std::uint64_t calls = 0;
};

// A kernel that no node could be found for.
struct UnplacedKernel {
  std::string name;
  std::string op;
  std::int64_t self = 0;
  std::uint64_t calls = 0;
  std::string why;  // the row that has it
};

// Modules around a kernel, outermost first, the operator last.
struct ProfileStack {
  std::vector<std::string> frames;
  std::int64_t self = 0;
};

struct ProfileReport {
  std::string model;
  std::string profile;
  std::string tags_from;
  std::uint64_t model_runs = 0;
  std::uint64_t kernel_runs = 0;
  std::int64_t total = 0;  // of what ran at top level
  bool cut_off = false;
  std::vector<ProfileRow> rows;  // by self time; they add up to `total`
  std::vector<UnplacedKernel> unplaced;
  std::vector<ProfileStack> stacks;
};

void PrintProfile(const ProfileReport& report, const ProfileOptions& options,
                  Terminal& terminal);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_READ_PROFILE_OUTPUT_H_
