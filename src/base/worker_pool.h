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
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
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
  // Waits until all jobs have run.
  void Join();

 private:
  void Work();

  const std::size_t jobs_;
  const std::function<void(std::size_t)> job_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> stopped_{false};
  std::vector<std::thread> threads_;
};

// Runs each job once and waits for all. Rethrows the first exception.
void RunOnAllCores(std::size_t jobs,
                   const std::function<void(std::size_t)>& job);

// A queue from several threads to one waiting thread, first in, first out.
template <typename T>
class Mailbox {
 public:
  void Put(T item) {
    {
      const std::lock_guard lock(mutex_);
      items_.push_back(std::move(item));
    }
    filled_.notify_one();
  }

  // The next item; nullopt if none arrived in time.
  std::optional<T> Take(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    filled_.wait_for(lock, patience, [&] { return !items_.empty(); });
    if (items_.empty()) return std::nullopt;
    std::optional<T> item = std::move(items_.front());
    items_.pop_front();
    return item;
  }

 private:
  std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<T> items_;
};

}  // namespace onnx_tag
