// Tested by tests/base/worker_pool_test.cc.
#include "base/worker_pool.h"

#include <algorithm>
#include <exception>
#include <system_error>

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
  Join();
}

void WorkerPool::Join() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void WorkerPool::Work() {
  while (!stopped_) {
    const std::size_t index = next_++;
    if (index >= jobs_) return;
    job_(index);
  }
}

void RunOnAllCores(std::size_t jobs,
                   const std::function<void(std::size_t)>& job) {
  if (jobs == 1) return job(0);
  std::vector<std::exception_ptr> errors(jobs);
  const auto run = [&](std::size_t i) {
    try {
      job(i);
    } catch (...) {
      errors[i] = std::current_exception();
    }
  };
  WorkerPool(std::max(1u, std::thread::hardware_concurrency()), jobs, run)
      .Join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace onnx_tag
