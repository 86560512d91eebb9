#include "io/system_calls.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace onnx_tag::io {
namespace {

int Open(const char* path, int flags, mode_t mode) {
  return open(path, flags, mode);
}

ssize_t CopyRange(int in, off_t* offset, int out, std::size_t size) {
  return copy_file_range(in, offset, out, nullptr, size, 0);
}

int Link(int fd, const char* path) {
  // AT_EMPTY_PATH would need a privilege; the way through /proc needs none.
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  return linkat(AT_FDCWD, link.c_str(), AT_FDCWD, path, AT_SYMLINK_FOLLOW);
}

int RenameNew(const char* from, const char* to) {
#ifdef RENAME_NOREPLACE
  const int result = renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);
  if (result == 0 || (errno != EINVAL && errno != ENOSYS)) return result;
#endif
  // The file system does not know the flag: look first, and accept the gap.
  struct stat status;
  if (lstat(to, &status) == 0) {
    errno = EEXIST;
    return -1;
  }
  return rename(from, to);
}

}  // namespace

const SystemCalls kRealCalls = {
    Open,    ::write, ::pread, CopyRange, ::fallocate, ::ftruncate, ::fchmod,
    ::fsync, ::flock, Link,    ::rename,  RenameNew,   ::unlink,
};

}  // namespace onnx_tag::io
