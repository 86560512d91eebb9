#include "profile/read_profile.h"

#include "onnx_tag/error.h"

namespace onnx_tag::profile {
namespace {

// Each layer of `trtexec --exportProfile` has it; no event of ONNX Runtime.
constexpr std::string_view kTensorRtKey = "\"averageMs\"";
constexpr std::size_t kLookedAt = 64 * 1024;

}  // namespace

Profile ReadProfile(Bytes file, std::string_view measure, Bytes layers) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  for (Bytes* const text : {&file, &layers}) {
    if (text->starts_with(kByteOrderMark)) {
      text->remove_prefix(kByteOrderMark.size());
    }
  }
  const std::size_t first = file.find_first_not_of(" \t\r\n");
  const bool json =
      first == Bytes::npos || file[first] == '[' || file[first] == '{';
  const bool tensor_rt =
      json && file.substr(0, kLookedAt).find(kTensorRtKey) != Bytes::npos;
  if (!layers.empty() && !tensor_rt) {
    Fail(ErrorKind::kUsage, "--layers requires a profile of TensorRT");
  }
  if (!json) return ReadTableProfile(file, measure);
  if (!tensor_rt) return ReadOrtProfile(file, measure);
  if (measure != Measure::kTime) {
    Fail(ErrorKind::kUsage, "a profile of TensorRT has only times");
  }
  return ReadTensorRtProfile(file, layers);
}

}  // namespace onnx_tag::profile
