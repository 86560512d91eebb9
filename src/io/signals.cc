// Tested by tests/io/signals_test.cc.
#include "io/signals.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

namespace onnx_tag {
namespace io {
namespace {

enum State : int { kFree, kTaken, kReady };

// Read by the handlers at any time: never moved, never freed. Untouched slots
// cost address space only.
struct Slot {
  std::atomic<int> state{kFree};
  char path[PATH_MAX];
};
std::array<Slot, 256> slots;
static_assert(std::atomic<int>::is_always_lock_free);

constexpr std::array kTermination = {SIGINT, SIGTERM, SIGHUP};
std::atomic<int> naming{0};
std::atomic<bool> ending{false};

void OnTermination(int signal) {
  ending = true;
  while (naming > 0) poll(nullptr, 0, 1);
  for (Slot& slot : slots) {
    if (slot.state.load() == kReady) unlink(slot.path);
  }
  _exit(128 + signal);
}

}  // namespace

TemporaryName::TemporaryName(const std::string& path) : path_(path) {
  if (path.size() >= sizeof Slot::path) return;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    int free = kFree;
    if (!slots[i].state.compare_exchange_strong(free, kTaken)) continue;
    std::memcpy(slots[i].path, path.c_str(), path.size() + 1);
    slots[i].state.store(kReady);
    slot_ = static_cast<int>(i);
    return;
  }
}

TemporaryName::TemporaryName(TemporaryName&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      slot_(std::exchange(other.slot_, -1)) {}

TemporaryName& TemporaryName::operator=(TemporaryName&& other) noexcept {
  if (this != &other) {
    Forget();
    path_ = std::exchange(other.path_, {});
    slot_ = std::exchange(other.slot_, -1);
  }
  return *this;
}

TemporaryName::~TemporaryName() { Forget(); }

void TemporaryName::Forget() {
  path_.clear();
  if (slot_ < 0) return;
  slots[static_cast<std::size_t>(std::exchange(slot_, -1))].state.store(kFree);
}

NamingScope::NamingScope() {
  // A handler in this very thread would wait forever.
  sigset_t termination;
  sigemptyset(&termination);
  for (const int signal : kTermination) sigaddset(&termination, signal);
  pthread_sigmask(SIG_BLOCK, &termination, &before_);
  ++naming;
  if (!ending) return;
  --naming;
  while (true) poll(nullptr, 0, -1);
}

NamingScope::~NamingScope() {
  const int error = errno;
  --naming;
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
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
