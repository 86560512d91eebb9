// An open file descriptor that closes itself, and calls that signals
// interrupt.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace onnx_tag::io {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      Reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~Descriptor() { Reset(); }

  // -1 if there is none.
  int get() const { return fd_; }

  void Reset() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

// Repeats a system call that a signal interrupted.
template <typename Call>
auto Retry(Call&& call) {
  for (;;) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

}  // namespace onnx_tag::io
