// System calls that fail on demand. The table has no state of its own, so the
// state is here; a test sets `fault` and a forked child inherits it.
#pragma once

#include <algorithm>
#include <cerrno>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "file/io/system_calls.h"

namespace onnx_tag::test {

struct Fault {
  bool no_unnamed_files = false;        // O_TMPFILE is not supported
  std::map<std::string, int> errors;    // call -> errno, always
  std::size_t longest_write = 1 << 30;  // more is written in part
  bool interrupt = false;               // each call fails with EINTR first
  int kill_at = -1;                     // the n-th call is `kill` instead
  void (*kill)() = nullptr;
  std::vector<std::string> log;

  bool interrupted = false;
};
inline Fault fault;

// Whether the call is to fail, with errno set.
inline bool Fails(const std::string& call) {
  if (fault.interrupt) {
    fault.interrupted = !fault.interrupted;
    if (fault.interrupted) {
      errno = EINTR;
      return true;
    }
  }
  if (fault.kill_at == static_cast<int>(fault.log.size())) fault.kill();
  fault.log.push_back(call);
  const auto found = fault.errors.find(call);
  if (found == fault.errors.end()) return false;
  errno = found->second;
  return true;
}

// flock, link and rename are not interrupted by signals.
inline bool FailsAlways(const std::string& call) {
  const bool interrupt = std::exchange(fault.interrupt, false);
  const bool fails = Fails(call);
  fault.interrupt = interrupt;
  return fails;
}

inline constexpr const io::SystemCalls& kReal = io::kRealCalls;

inline const io::SystemCalls kFaultyCalls = {
    [](const char* folder, unsigned mode) {
      if (fault.no_unnamed_files) {
        errno = EOPNOTSUPP;
        return -1;
      }
      return Fails("open") ? -1 : kReal.open_unnamed(folder, mode);
    },
    [](const char* path, unsigned mode) {
      return Fails("open") ? -1 : kReal.open_new(path, mode);
    },
    [](int fd, const void* bytes, std::size_t size) -> std::ptrdiff_t {
      if (Fails("write")) return -1;
      return kReal.write(fd, bytes, std::min(size, fault.longest_write));
    },
    [](int fd, void* bytes, std::size_t size,
       std::int64_t offset) -> std::ptrdiff_t {
      if (Fails("pread")) return -1;
      return kReal.pread(fd, bytes, std::min(size, fault.longest_write),
                         offset);
    },
    [](int in, std::int64_t offset, int out,
       std::size_t size) -> std::ptrdiff_t {
      if (Fails("copy_range")) return -1;
      return kReal.copy_range(in, offset, out,
                              std::min(size, fault.longest_write));
    },
    [](int fd, std::int64_t size) {
      return Fails("fallocate") ? -1 : kReal.reserve(fd, size);
    },
    [](int fd, std::int64_t size) {
      return FailsAlways("ftruncate") ? -1 : kReal.truncate(fd, size);
    },
    [](int fd, unsigned mode) {
      return FailsAlways("fchmod") ? -1 : kReal.chmod(fd, mode);
    },
    [](int fd) { return Fails("fsync") ? -1 : kReal.fsync(fd); },
    [](int fd) { return FailsAlways("flock") ? -1 : kReal.lock(fd); },
    [](int fd, const char* path) {
      return FailsAlways("link") ? -1 : kReal.link(fd, path);
    },
    [](const char* from, const char* to) {
      return FailsAlways("rename") ? -1 : kReal.rename(from, to);
    },
    [](const char* from, const char* to) {
      return FailsAlways("rename_new") ? -1 : kReal.rename_new(from, to);
    },
    [](const char* path) {
      return FailsAlways("unlink") ? -1 : kReal.unlink(path);
    },
};

}  // namespace onnx_tag::test
