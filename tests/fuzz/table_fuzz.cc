// Any bytes as a table of numbers: read by its default column and by one that
// it names, or refused.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "onnx_tag/error.h"
#include "uses/profile/profile.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace onnx_tag;
  const std::string text(reinterpret_cast<const char*>(data), size);
  // The last cell of the first line is the head of a column.
  const std::string first = text.substr(0, text.find('\n'));
  const std::string head = first.substr(first.rfind('\t') + 1);
  for (const std::string& measure : {std::string("time"), head}) {
    try {
      const profile::Profile profile = profile::ReadTableProfile(text, measure);
      for (const auto& run : profile.runs) {
        if (Index(run.kernel) >= profile.kernels.size()) std::abort();
      }
    } catch (const Error&) {
    }
  }
  return 0;
}
