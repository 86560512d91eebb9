// How much memory this process has resident.
#pragma once

#include <cstddef>
#include <fstream>
#include <string>

namespace onnx_tag::test {

inline std::size_t StatusKilobytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::size_t value = 0;
    if (word == key + ":" && status >> value) return value;
  }
  return 0;
}

// Now, in bytes.
inline std::size_t ResidentBytes() { return StatusKilobytes("VmRSS") * 1024; }

// The most since ResetPeak(), in bytes.
inline std::size_t PeakBytes() { return StatusKilobytes("VmHWM") * 1024; }
inline void ResetPeak() { std::ofstream("/proc/self/clear_refs") << "5"; }

}  // namespace onnx_tag::test
