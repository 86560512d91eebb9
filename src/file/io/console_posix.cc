#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>

#include "file/io/console.h"
#include "file/io/descriptor.h"

namespace onnx_tag::io {

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

void PrepareStandardStreams() {}

}  // namespace onnx_tag::io
