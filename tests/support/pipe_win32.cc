#include <fcntl.h>
#include <io.h>

#include "file/io/win32/win32.h"
#include "support/pipe.h"

namespace onnx_tag::test {

const char* const kNullDevice = "NUL";

int MakePipe(int (&ends)[2]) {
  return _pipe(ends, 65536, _O_BINARY | _O_NOINHERIT);
}

bool MakeNamedPipe(const std::string&) { return false; }

std::string ReadArrived(int fd) {
  std::string text;
  for (int waited = 0; waited < 50; ++waited) {
    DWORD arrived = 0;
    if (PeekNamedPipe(io::HandleOf(fd), nullptr, 0, nullptr, &arrived,
                      nullptr) == 0) {
      break;
    }
    if (arrived == 0) {
      Sleep(1);
      continue;
    }
    std::string bytes(arrived, '\0');
    const int count = _read(fd, bytes.data(), arrived);
    if (count <= 0) break;
    text.append(bytes, 0, static_cast<std::size_t>(count));
    waited = 0;
  }
  return text;
}

}  // namespace onnx_tag::test
