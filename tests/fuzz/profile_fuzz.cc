// Any bytes as a profile: read and summed up, or refused.
#include <cstdint>
#include <string>

#include "onnx_tag/error.h"
#include "uses/profile/profile.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace onnx_tag;
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    profile::Profile profile = profile::ReadProfile(text);
    CountSelfTimes(
        profile, [](profile::KernelId id) { return Index(id) % 2 == 0; },
        [](profile::KernelId id) { return Index(id) % 3 == 0; });
  } catch (const Error&) {
  }
  return 0;
}
