// A profile: the start and duration of each kernel run, or another number.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "onnx_tag/bytes.h"
#include "onnx_tag/ids.h"

namespace onnx_tag::profile {

enum class KernelId : std::uint32_t {};

// A node with its name in the profile.
struct Kernel {
  std::string name;  // of the node; "MatMul_12" if it has no name
  std::string op;
  std::string provider;
};

struct KernelRun {
  KernelId kernel;
  std::uint32_t thread;
  std::int64_t begin;     // microseconds
  std::int64_t duration;  // with the kernels that ran inside
  std::int64_t self;      // without; see CountSelfTimes()
};

// A run of the whole model.
struct ModelRun {
  std::int64_t begin;
  std::int64_t duration;
};

// What the numbers of a profile are.
struct Measure {
  static constexpr std::string_view kTime = "time";

  bool IsTime() const { return name == kTime; }
  // `b` added to `a`; of levels the larger.
  std::int64_t Add(std::int64_t a, std::int64_t b) const {
    return level ? (a > b ? a : b) : a + b;
  }

  std::string name = std::string(kTime);  // else a field or a column
  // A level, such as memory in use: the largest counts, not the sum.
  bool level = false;
  // Numbers with a fraction are counted in this many parts, so that sums are
  // exact. Times are microseconds.
  std::int64_t parts = 1;
};

struct Profile {
  IdVector<KernelId, Kernel> kernels;
  std::vector<KernelRun> runs;
  std::uint64_t calls_each = 1;  // calls that one of `runs` stands for
  std::uint64_t model_runs = 0;
  std::vector<ModelRun> run_times;  // by begin; empty if they are not known
  Measure measure;
  bool cut_off = false;  // the process stopped before it closed the file
};

// Removes the first `count` runs of the model with their kernels. Throws
// Error(kUsage) if no run is left, or if runs cannot be told apart.
void SkipRuns(Profile& profile, std::uint64_t count);

// Counts both in the same parts. Throws Error(kUsage) if their numbers are not
// of one kind.
void MakeComparable(Profile& a, Profile& b);

// Computes self times: the duration of an If includes its branch, so the times
// of kernels that ran inside another kernel are subtracted from it. `holds`
// says which kernels can run others. `is_inner` says which kernels only run
// inside others, possibly on another thread. Returns the total time of the
// outermost kernels, which is also the sum of all self times.
std::int64_t CountSelfTimes(Profile& profile,
                            const std::function<bool(KernelId)>& holds,
                            const std::function<bool(KernelId)>& is_inner);

// Reads the profiles that are known. The contents of a file say which it is.

// All throw Error(kInput) if the file is something else, and Error(kUsage) if
// it does not have `measure`. `measure` "time" is also the default column of a
// table.
//
// `layers` is the file of `trtexec --exportLayerInfo`; empty: there is none.
//
// `key` is the column of a table that says the provider of its lines; "" or
// "provider": what the file itself says.
Profile ReadProfile(Bytes file, std::string_view measure = Measure::kTime,
                    Bytes layers = {}, std::string_view key = {});

// `measure` is "time", or a number among the arguments of a kernel's event:
// "output_size", "mem_in_use_peak". The kernels of OpenVINO that ran in a node
// count for themselves, and the node has what is left of its time.
Profile ReadOrtProfile(Bytes json, std::string_view measure = Measure::kTime);

// The file of `trtexec --exportProfile`. The time of a layer that was made of
// several nodes is divided equally among them.
Profile ReadTensorRtProfile(Bytes json, Bytes layers);

// Lines of names and numbers between tabs. The first column is the name of a
// node or of a value, `measure` the head of the column to take.
Profile ReadTableProfile(Bytes tsv, std::string_view measure,
                         std::string_view key = {});

}  // namespace onnx_tag::profile
