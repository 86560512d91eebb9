// The bar of a batch: files, nodes, rate, time left, and what is running.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace onnx_tag {

// May be used by several threads.
class BatchProgress {
 public:
  explicit BatchProgress(std::size_t files) : files_(files) {}

  void Start(std::size_t index, const std::string& path);
  void End(std::size_t index, std::uint64_t nodes);

  // "[####....]  50 %  3 of 6 files, 12,345 nodes, 150 files/s, 0:02 left:
  // bert.onnx, gpt2.onnx" after so many seconds, in one line.
  std::string Line(double seconds) const;

 private:
  const std::size_t files_;
  mutable std::mutex mutex_;
  std::size_t done_ = 0;
  std::uint64_t nodes_ = 0;
  std::map<std::size_t, std::string> running_;
};

}  // namespace onnx_tag
