// The system calls an OutputFile makes, so that tests can let each of them
// fail, do half its work, or be the last thing the process does.
#ifndef ONNX_TAG_IO_SYSTEM_CALLS_H_
#define ONNX_TAG_IO_SYSTEM_CALLS_H_

#include <sys/types.h>

#include <cstddef>

namespace onnx_tag::io {

struct SystemCalls {
  int (*open)(const char* path, int flags, mode_t mode);
  ssize_t (*write)(int fd, const void* bytes, std::size_t size);
  ssize_t (*pread)(int fd, void* bytes, std::size_t size, off_t offset);
  // From `*offset` of `in` to the end of what is written to `out`.
  ssize_t (*copy_range)(int in, off_t* offset, int out, std::size_t size);
  int (*fallocate)(int fd, int mode, off_t offset, off_t size);
  int (*ftruncate)(int fd, off_t size);
  int (*fchmod)(int fd, mode_t mode);
  int (*fsync)(int fd);
  int (*flock)(int fd, int operation);
  // Gives the unnamed file `fd` the name `path`; never replaces one.
  int (*link)(int fd, const char* path);
  int (*rename)(const char* from, const char* to);
  // Fails with EEXIST if `to` exists.
  int (*rename_new)(const char* from, const char* to);
  int (*unlink)(const char* path);
};

extern const SystemCalls kRealCalls;

}  // namespace onnx_tag::io

#endif  // ONNX_TAG_IO_SYSTEM_CALLS_H_
