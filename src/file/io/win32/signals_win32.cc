#include <atomic>

#include "file/io/signals.h"
#include "file/io/win32/win32.h"

namespace onnx_tag {
namespace io {
namespace {

std::atomic<int> files_being_named{0};
std::atomic<bool> control_ending{false};

// Runs in a thread of its own, so that it may wait for any other.
BOOL WINAPI OnControl(DWORD event) {
  control_ending = true;
  while (files_being_named > 0) Sleep(1);
  RemoveTemporaryFiles();
  const bool interrupted = event == CTRL_C_EVENT || event == CTRL_BREAK_EVENT;
  // ExitProcess would wait for locks that the other threads hold.
  TerminateProcess(GetCurrentProcess(), interrupted ? 130 : 143);
  return TRUE;
}

}  // namespace

NamingScope::NamingScope() {
  ++files_being_named;
  if (!control_ending) return;
  --files_being_named;
  while (true) Sleep(INFINITE);
}

NamingScope::~NamingScope() { --files_being_named; }

}  // namespace io

void InstallSignalHandlers() { SetConsoleCtrlHandler(io::OnControl, TRUE); }

}  // namespace onnx_tag
