#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "file/io/descriptor.h"
#include "file/io/leftovers.h"
#include "file/io/system_calls.h"
#include "file/io/system_posix.h"

namespace onnx_tag::io {
namespace {

int OpenNew(const char* path, unsigned mode) {
  return open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
}

std::ptrdiff_t ReadAt(int fd, void* bytes, std::size_t size,
                      std::int64_t offset) {
  return pread(fd, bytes, size, static_cast<off_t>(offset));
}

int Truncate(int fd, std::int64_t size) {
  return ftruncate(fd, static_cast<off_t>(size));
}

int ChangeMode(int fd, unsigned mode) {
  return fchmod(fd, static_cast<mode_t>(mode));
}

int Lock(int fd) { return flock(fd, LOCK_EX | LOCK_NB); }

int RenameNew(const char* from, const char* to) {
  const int result = RenameToNewName(from, to);
  if (result == 0 || (errno != EINVAL && errno != ENOSYS)) return result;
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
    OpenUnnamedFile, OpenNew,  ::write,    ReadAt,   CopyInKernel,
    ReserveSpace,    Truncate, ChangeMode, ::fsync,  Lock,
    NameUnnamedFile, ::rename, RenameNew,  ::unlink,
};

bool MeansFull(int error) {
  return error == ENOSPC || error == EDQUOT || error == EFBIG;
}

int CloseCopy(int fd) {
  const int copy = DuplicateDescriptor(fd);
  return copy >= 0 && close(copy) != 0 && errno != EINTR ? -1 : 0;
}

int OpenFolder(const char* path) {
  return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int OpenForReading(const char* path) {
  // O_NONBLOCK: opening a pipe that nobody writes to must not wait.
  return Retry(
      [&] { return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); });
}

int OpenStream(const char* path) { return open(path, O_RDONLY | O_CLOEXEC); }

std::ptrdiff_t ReadSome(int fd, void* bytes, std::size_t size) {
  return Retry([&] { return read(fd, bytes, size); });
}

int DuplicateDescriptor(int fd) { return fcntl(fd, F_DUPFD_CLOEXEC, 3); }

std::size_t OpenFileLimit() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
      limit.rlim_cur == RLIM_INFINITY) {
    return SIZE_MAX;
  }
  return static_cast<std::size_t>(limit.rlim_cur);
}

// Holding the lock is what makes the file a leftover; holding it on the very
// file of that name is what makes it safe to unlink the name.
void RemoveIfLeftOver(const std::string& path) {
  const Descriptor fd(
      open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (fd.get() < 0) return;
  struct stat opened, named;
  if (fstat(fd.get(), &opened) != 0 || !S_ISREG(opened.st_mode)) return;
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return;
  if (lstat(path.c_str(), &named) != 0) return;
  if (named.st_dev != opened.st_dev || named.st_ino != opened.st_ino) return;
  unlink(path.c_str());
}

int WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count =
        Retry([&] { return write(fd, text.data(), text.size()); });
    if (count < 0 && errno == EAGAIN) {
      // Somebody made the pipe non-blocking; we have nothing else to do.
      pollfd wait = {fd, POLLOUT, 0};
      poll(&wait, 1, -1);
    } else if (count < 0) {
      return errno;
    } else {
      text.remove_prefix(static_cast<std::size_t>(count));
    }
  }
  return 0;
}

bool IsTerminal(int fd) { return isatty(fd) == 1; }

std::size_t ColumnsOf(int fd) {
  winsize size = {};
  return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::vector<std::string> Arguments(int argc, char** argv) {
  return {argv + (argc > 0 ? 1 : 0), argv + argc};
}

void RunInstead(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) {
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  execvp(arguments.front(), arguments.data());
}

void PrepareStandardStreams() {
  // A file that is opened later must not get the number of a closed stream.
  int fd = 0;
  while (fd >= 0 && fd <= STDERR_FILENO) {
    fd = Retry([] { return ::open("/dev/null", O_RDWR | O_NOCTTY); });
  }
  if (fd >= 0) ::close(fd);
}

}  // namespace onnx_tag::io
