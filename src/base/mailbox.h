// A queue from several threads to one waiting thread, first in, first out.
#ifndef ONNX_TAG_BASE_MAILBOX_H_
#define ONNX_TAG_BASE_MAILBOX_H_

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace onnx_tag {

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

#endif  // ONNX_TAG_BASE_MAILBOX_H_
