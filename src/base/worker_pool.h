// Runs numbered jobs on a few threads.
//
//   WorkerPool pool(threads, files.size(), [&](std::size_t i) { Do(files[i]);
//   });
//   ...                  // the caller can do other work
//   pool.Stop();         // optional: starts no more jobs
//   // the destructor waits for the running jobs
//
// Jobs start in order, each on the first free thread. So a long job blocks only
// its own thread, and memory grows with the number of threads, not of jobs.
#ifndef ONNX_TAG_BASE_WORKER_POOL_H_
#define ONNX_TAG_BASE_WORKER_POOL_H_

#include <atomic>
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

namespace onnx_tag {

class WorkerPool {
 public:
  // `job` must not throw. It is called once with each number from 0 to `jobs` -
  // 1. If the system cannot start `threads` threads, fewer are used. If it
  // cannot start any, the constructor runs the jobs itself.
  WorkerPool(std::size_t threads, std::size_t jobs,
             std::function<void(std::size_t)> job);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Starts no more jobs. Running jobs continue to their end.
  void Stop() { stopped_ = true; }

 private:
  void Work();

  const std::size_t jobs_;
  const std::function<void(std::size_t)> job_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> stopped_{false};
  std::vector<std::thread> threads_;
};

}  // namespace onnx_tag

#endif  // ONNX_TAG_BASE_WORKER_POOL_H_
