#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "file/io/leftovers.h"
#include "file/io/system_calls.h"
#include "file/io/system_posix.h"

namespace onnx_tag::io {
namespace {

std::string ProcPath(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

}  // namespace

timespec ModifiedTime(const struct stat& status) { return status.st_mtim; }

int OpenUnnamedFile(const char* folder, unsigned mode) {
  const int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
  if (fd < 0) {
    // EISDIR and EINVAL: a kernel or file system that never heard of it.
    if (errno == EISDIR || errno == EINVAL) errno = EOPNOTSUPP;
    return -1;
  }
  // Without /proc it could never get a name.
  if (access(ProcPath(fd).c_str(), F_OK) == 0) return fd;
  close(fd);
  errno = EOPNOTSUPP;
  return -1;
}

int NameUnnamedFile(int fd, const char* path) {
  // AT_EMPTY_PATH would need a privilege; the way through /proc needs none.
  return linkat(AT_FDCWD, ProcPath(fd).c_str(), AT_FDCWD, path,
                AT_SYMLINK_FOLLOW);
}

std::ptrdiff_t CopyInKernel(int in, std::int64_t offset, int out,
                            std::size_t size) {
  auto at = static_cast<off_t>(offset);
  return copy_file_range(in, &at, out, nullptr, size, 0);
}

int ShareBytes(int in, int out) {
  // FICLONE of linux/fs.h, a header that not every C library comes with.
  return ioctl(out, _IOW(0x94, 9, int), in);
}

int ReserveSpace(int fd, std::int64_t size) {
  return fallocate(fd, 0, 0, static_cast<off_t>(size));
}

int RenameToNewName(const char* from, const char* to) {
#ifdef RENAME_NOREPLACE
  return renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);
#else
  static_cast<void>(from);
  static_cast<void>(to);
  errno = EINVAL;
  return -1;
#endif
}

bool FillRandom(void* bytes, std::size_t size) {
  return getrandom(bytes, size, 0) == static_cast<ssize_t>(size);
}

}  // namespace onnx_tag::io
