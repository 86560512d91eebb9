#include <algorithm>

#include "base/text.h"
#include "onnx_tag/error.h"
#include "profile/profile.h"

namespace onnx_tag::profile {
namespace {

void CountIn(std::int64_t parts, Profile& profile) {
  const std::int64_t factor = profile.measure.parts / parts;
  if (factor == 1) return;
  for (KernelRun& run : profile.runs) {
    run.duration /= factor;
    run.self = run.duration;
  }
  profile.measure.parts = parts;
}

}  // namespace

void MakeComparable(Profile& a, Profile& b) {
  if (a.measure.name != b.measure.name) {
    Fail(ErrorKind::kUsage, "the first profile has '{}', the second '{}'",
         a.measure.name, b.measure.name);
  }
  // Powers of ten both.
  const std::int64_t parts = std::min(a.measure.parts, b.measure.parts);
  CountIn(parts, a);
  CountIn(parts, b);
}

}  // namespace onnx_tag::profile
