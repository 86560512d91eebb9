#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>

#include "file/io/signals.h"

namespace onnx_tag {
namespace io {
namespace {

constexpr std::array kTermination = {SIGINT, SIGTERM, SIGHUP};
std::atomic<int> naming{0};
std::atomic<bool> ending{false};
// Of the thread that is naming; a NamingScope has no other in it.
thread_local sigset_t mask_before;

void OnTermination(int signal) {
  ending = true;
  while (naming > 0) poll(nullptr, 0, 1);
  RemoveTemporaryFiles();
  _exit(128 + signal);
}

}  // namespace

NamingScope::NamingScope() {
  // A handler in this very thread would wait forever.
  sigset_t termination;
  sigemptyset(&termination);
  for (const int signal : kTermination) sigaddset(&termination, signal);
  pthread_sigmask(SIG_BLOCK, &termination, &mask_before);
  ++naming;
  if (!ending) return;
  --naming;
  while (true) poll(nullptr, 0, -1);
}

NamingScope::~NamingScope() {
  const int error = errno;
  --naming;
  pthread_sigmask(SIG_SETMASK, &mask_before, nullptr);
  errno = error;
}

}  // namespace io

void InstallSignalHandlers() {
  for (const int signal : io::kTermination) {
    struct sigaction action = {};
    if (sigaction(signal, nullptr, &action) == 0 &&
        (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_IGN) {
      continue;
    }
    action = {};
    action.sa_handler = io::OnTermination;
    // The second signal waits for the first: unlinking is quick.
    sigfillset(&action.sa_mask);
    sigaction(signal, &action, nullptr);
  }
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, nullptr);
  sigaction(SIGXFSZ, &ignore, nullptr);
}

}  // namespace onnx_tag
