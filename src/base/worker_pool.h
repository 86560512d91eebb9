// Numbered jobs, done by a few threads.
//
//   WorkerPool pool(threads, files.size(), [&](std::size_t i) { Do(files[i]);
//   });
//   ...                  // the caller is free meanwhile
//   pool.Stop();         // or: hands out no more
//   // the destructor waits for what was handed out
//
// Jobs are handed out in order, each to the first thread that is free: a long
// one holds up its own thread and no other. What a job needs is its thread's
// while it runs, so that memory grows with the threads and not with the jobs.
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
  // `job` must not throw; it is called with 0 to `jobs` - 1, each once. Fewer
  // threads start where the system has no more; where it has none at all, the
  // constructor does the jobs itself.
  WorkerPool(std::size_t threads, std::size_t jobs,
             std::function<void(std::size_t)> job);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Hands out no more jobs; those that run go on to their end.
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
