// Reads an ONNX Runtime profile: the start and duration of each kernel run.
//
// The file can have hundreds of megabytes. It is read in one pass and not
// stored; a kernel run needs 32 bytes.
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

struct OrtProfile {
  IdVector<KernelId, Kernel> kernels;
  std::vector<KernelRun> runs;
  std::uint64_t model_runs = 0;
  bool cut_off = false;  // the process stopped before it closed the file
};

// Throws Error(kInput) if it is no profile.
OrtProfile ReadOrtProfile(Bytes json);

// Computes self times: the duration of an If includes its branch, so the times
// of kernels that ran inside another kernel are subtracted from it. `holds`
// says which kernels can run others. `is_inner` says which kernels only run
// inside others, possibly on another thread. Returns the total time of the
// outermost kernels, which is also the sum of all self times.
std::int64_t CountSelfTimes(OrtProfile& profile,
                            const std::function<bool(KernelId)>& holds,
                            const std::function<bool(KernelId)>& is_inner);

}  // namespace onnx_tag::profile

#endif  // ONNX_TAG_PROFILE_ORT_PROFILE_H_
