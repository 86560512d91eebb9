// Tested by tests/base/worker_pool_test.cc.
#include "base/worker_pool.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace onnx_tag {

WorkerPool::WorkerPool(std::size_t threads, std::size_t jobs,
                       std::function<void(std::size_t)> job)
    : jobs_(jobs), job_(std::move(job)) {
  threads_.reserve(std::min(threads, jobs));
  try {
    while (threads_.size() < std::min(threads, jobs)) {
      threads_.emplace_back([this] { Work(); });
    }
  } catch (const std::system_error&) {
    if (threads_.empty()) Work();
  }
}

WorkerPool::~WorkerPool() {
  Stop();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::Work() {
  while (!stopped_) {
    const std::size_t index = next_++;
    if (index >= jobs_) return;
    job_(index);
  }
}

}  // namespace onnx_tag
