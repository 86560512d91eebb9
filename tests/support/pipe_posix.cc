#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/pipe.h"

namespace onnx_tag::test {

const char* const kNullDevice = "/dev/null";

int MakePipe(int (&ends)[2]) {
  if (pipe(ends) != 0) return -1;
  for (const int fd : ends) fcntl(fd, F_SETFD, FD_CLOEXEC);
  return 0;
}

bool MakeNamedPipe(const std::string& path) {
  return mkfifo(path.c_str(), 0600) == 0;
}

std::string ReadArrived(int fd) {
  std::string text;
  for (pollfd wait = {fd, POLLIN, 0}; poll(&wait, 1, 50) == 1;) {
    char bytes[4096];
    const ssize_t count = read(fd, bytes, sizeof bytes);
    if (count <= 0) break;
    text.append(bytes, static_cast<std::size_t>(count));
  }
  return text;
}

}  // namespace onnx_tag::test
