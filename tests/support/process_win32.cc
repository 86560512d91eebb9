#include <stdexcept>

#include "file/io/win32/win32.h"
#include "support/process.h"

namespace onnx_tag::test {
namespace {

HANDLE HandleOfProcess(pid_t pid) { return reinterpret_cast<HANDLE>(pid); }

// A handle that the new process gets.
HANDLE Inherited(HANDLE handle) {
  SetHandleInformation(handle, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT);
  return handle;
}

HANDLE OpenFor(const std::string& path, DWORD access, DWORD disposition) {
  return CreateFileW(io::WidePath(path).c_str(), access,
                     FILE_SHARE_READ | FILE_SHARE_WRITE, nullptr, disposition,
                     FILE_ATTRIBUTE_NORMAL, nullptr);
}

// In quotes, with the backslashes before a quote doubled: as the C library of
// the new process takes them away.
std::string Quoted(const std::string& arg) {
  std::string text = "\"";
  std::size_t backslashes = 0;
  for (const char c : arg) {
    if (c == '"') text.append(backslashes + 1, '\\');
    backslashes = c == '\\' ? backslashes + 1 : 0;
    text += c;
  }
  return text.append(backslashes, '\\') + "\"";
}

}  // namespace

Process::Process(const std::vector<std::string>& args, Streams streams,
                 const std::function<void()>& prepare) {
  if (prepare) throw std::logic_error("nothing runs before a program here");
  std::string line = Quoted(ONNX_TAG_PROGRAM);
  for (const std::string& arg : args) line += " " + Quoted(arg);
  std::wstring command = io::ToWide(line);

  const io::Handle none(OpenFor("NUL", GENERIC_READ, OPEN_EXISTING));
  const io::Handle out(OpenFor(said_ / "out", GENERIC_WRITE, CREATE_ALWAYS));
  const io::Handle err(OpenFor(said_ / "err", GENERIC_WRITE, CREATE_ALWAYS));
  STARTUPINFOW start = {};
  start.cb = sizeof start;
  start.dwFlags = STARTF_USESTDHANDLES;
  start.hStdInput =
      Inherited(streams.in < 0 ? none.get() : io::HandleOf(streams.in));
  start.hStdOutput =
      Inherited(streams.out < 0 ? out.get() : io::HandleOf(streams.out));
  start.hStdError = Inherited(err.get());
  PROCESS_INFORMATION started = {};
  if (CreateProcessW(nullptr, command.data(), nullptr, nullptr, TRUE, 0,
                     nullptr, nullptr, &start, &started) == 0) {
    throw std::runtime_error("CreateProcess");
  }
  for (const int fd : {streams.in, streams.out}) {
    if (fd >= 0) {
      SetHandleInformation(io::HandleOf(fd), HANDLE_FLAG_INHERIT, 0);
    }
  }
  CloseHandle(started.hThread);
  pid_ = reinterpret_cast<pid_t>(started.hProcess);
}

Process::~Process() {
  if (pid_ <= 0) return;
  TerminateProcess(HandleOfProcess(pid_), 1);
  Wait();
}

int Process::Wait() {
  WaitForSingleObject(HandleOfProcess(pid_), INFINITE);
  DWORD code = 0;
  GetExitCodeProcess(HandleOfProcess(pid_), &code);
  CloseHandle(HandleOfProcess(pid_));
  pid_ = -1;
  return static_cast<int>(code);
}

}  // namespace onnx_tag::test
