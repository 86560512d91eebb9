// What an ONNX Runtime profile says: when which kernel ran, and how long.
//
// The file is read in one pass and never held: a run of a large model writes
// hundreds of megabytes, of which a kernel's run is 32 bytes here.
#ifndef ONNX_TAG_PROFILE_ORT_PROFILE_H_
#define ONNX_TAG_PROFILE_ORT_PROFILE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"

namespace onnx_tag::profile {

enum class KernelId : std::uint32_t {};

// A node as the runtime calls it.
struct Kernel {
  std::string name;  // of the node; "MatMul_12" where it has none
  std::string op;
  std::string provider;
};

struct KernelRun {
  KernelId kernel;
  std::uint32_t thread;
  std::int64_t begin;     // microseconds
  std::int64_t duration;  // with all that ran inside
  std::int64_t self;      // without; see CountSelfTimes()
};

struct OrtProfile {
  IdVector<KernelId, Kernel> kernels;
  std::vector<KernelRun> runs;
  std::uint64_t model_runs = 0;
  bool cut_off = false;  // the runtime ended before it closed the file
};

// Throws Error(kInput) where it is no profile.
OrtProfile ReadOrtProfile(Bytes json);

// An If's time contains that of its branch: takes the times of kernels that
// ran inside another from that one's. `holds` tells kernels that run others;
// `is_inner` those that only another can run, maybe on another thread.
// Returns the sum over what ran inside nothing, which is that of all self
// times.
std::int64_t CountSelfTimes(OrtProfile& profile,
                            const std::function<bool(KernelId)>& holds,
                            const std::function<bool(KernelId)>& is_inner);

}  // namespace onnx_tag::profile

#endif  // ONNX_TAG_PROFILE_ORT_PROFILE_H_
