#include <fcntl.h>
#include <io.h>

#include <cerrno>

#include "file/io/console.h"
#include "file/io/system_calls.h"
#include "file/io/win32/win32.h"

namespace onnx_tag::io {
namespace {

int WriteToConsole(HANDLE console, std::string_view text) {
  const std::wstring wide = ToWide(text);
  for (std::size_t done = 0; done < wide.size();) {
    DWORD count = 0;
    if (WriteConsoleW(console, wide.data() + done,
                      static_cast<DWORD>(wide.size() - done), &count,
                      nullptr) == 0) {
      return ErrnoOf(GetLastError());
    }
    done += count;
  }
  return 0;
}

}  // namespace

int WriteAll(int fd, std::string_view text) {
  if (text.empty()) return 0;
  if (IsTerminal(fd)) return WriteToConsole(HandleOf(fd), text);
  while (!text.empty()) {
    const std::ptrdiff_t count = kRealCalls.write(fd, text.data(), text.size());
    if (count < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

bool IsTerminal(int fd) {
  DWORD mode = 0;
  return GetConsoleMode(HandleOf(fd), &mode) != 0;
}

std::size_t ColumnsOf(int fd) {
  CONSOLE_SCREEN_BUFFER_INFO info;
  if (GetConsoleScreenBufferInfo(HandleOf(fd), &info) == 0) return 0;
  return static_cast<std::size_t>(info.srWindow.Right - info.srWindow.Left + 1);
}

// The arguments that main() gets are in the code page of the user. The words
// stay in memory: LocalFree() of Debian's wine 8.0 for arm64 overwrites x18 as
// well (names_win32.cc), and the next exception, that of --help, crashed.
std::vector<std::string> Arguments(int, char**) {
  std::vector<std::string> arguments;
  int count = 0;
  wchar_t** const words = CommandLineToArgvW(GetCommandLineW(), &count);
  for (int i = 1; i < count; ++i) arguments.push_back(ToUtf8(words[i]));
  return arguments;
}

void PrepareStandardStreams() {
  for (const int fd : {0, 1, 2}) {
    _setmode(fd, _O_BINARY);
    DWORD mode = 0;
    if (fd > 0 && GetConsoleMode(HandleOf(fd), &mode) != 0) {
      SetConsoleMode(HandleOf(fd), mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
    }
  }
}

}  // namespace onnx_tag::io
