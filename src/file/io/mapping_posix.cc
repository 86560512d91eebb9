#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>

#include "file/io/mapping.h"

namespace onnx_tag::io {
std::uint64_t PageSize() {
  return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

const char* MapFile(int fd, std::size_t size) {
  void* const memory = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<const char*>(memory);
}

void UnmapFile(const char* data, std::size_t size) {
  munmap(const_cast<char*>(data), size);
}

void ReleasePages(const char* begin, std::size_t size) {
  madvise(const_cast<char*>(begin), size, MADV_DONTNEED);
}

void ReadPagesAhead(const char* begin, std::size_t size, bool on) {
  madvise(const_cast<char*>(begin), size, on ? MADV_NORMAL : MADV_RANDOM);
}

void FetchPages(const char* begin, std::size_t size) {
  madvise(const_cast<char*>(begin), size, MADV_WILLNEED);
}

namespace {

// Read by the handler in any thread at any time: atomics only, never moved,
// never freed.
struct GuardedRange {
  std::atomic<bool> taken{false};
  std::atomic<std::uintptr_t> begin{0};  // 0: no mapping
  std::atomic<std::uintptr_t> end{0};
  std::atomic<bool> faulted{false};
};
static_assert(std::atomic<std::uintptr_t>::is_always_lock_free);
static_assert(std::atomic<bool>::is_always_lock_free);

// Files open at once; a batch has two for each of its threads.
constexpr std::size_t kSlots = 1024;
std::array<GuardedRange, kSlots> ranges;
struct sigaction previous_action;
std::uintptr_t page_size = 4096;

GuardedRange* FindSlot(std::uintptr_t address) {
  for (GuardedRange& slot : ranges) {
    const std::uintptr_t begin = slot.begin.load();
    if (begin == 0 || address < begin || address >= slot.end.load()) continue;
    // Begin and end of two mappings, one of them gone, would be a range that
    // never was.
    if (slot.begin.load() == begin) return &slot;
  }
  return nullptr;
}

void CallPrevious(int signal, siginfo_t* info, void* context) {
  if ((previous_action.sa_flags & SA_SIGINFO) != 0) {
    previous_action.sa_sigaction(signal, info, context);
  } else if (previous_action.sa_handler != SIG_DFL &&
             previous_action.sa_handler != SIG_IGN) {
    previous_action.sa_handler(signal);
  } else {
    // The instruction runs again, and now ends the program as it should.
    struct sigaction action = {};
    action.sa_handler = SIG_DFL;
    sigaction(SIGBUS, &action, nullptr);
  }
}

void OnBusError(int signal, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  GuardedRange* const slot = FindSlot(address);
  // mmap is not on POSIX's list for handlers, but on Linux a bare system call.
  if (slot != nullptr &&
      mmap(reinterpret_cast<void*>(address & ~(page_size - 1)), page_size,
           PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
           0) != MAP_FAILED) {
    slot->faulted.store(true);
  } else {
    CallPrevious(signal, info, context);
  }
  errno = saved_errno;
}

void InstallHandlerOnce() {
  static std::once_flag once;
  std::call_once(once, [] {
    page_size = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    struct sigaction action = {};
    action.sa_sigaction = OnBusError;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &previous_action);
  });
}

}  // namespace

int GuardMapping(const char* begin, std::size_t size) {
  InstallHandlerOnce();
  for (std::size_t i = 0; i < kSlots; ++i) {
    bool free = false;
    if (!ranges[i].taken.compare_exchange_strong(free, true)) continue;
    const auto address = reinterpret_cast<std::uintptr_t>(begin);
    ranges[i].faulted.store(false);
    ranges[i].end.store(address + size);
    ranges[i].begin.store(address);
    return static_cast<int>(i);
  }
  return -1;
}

void UnguardMapping(int slot) {
  GuardedRange& freed = ranges[static_cast<std::size_t>(slot)];
  freed.begin.store(0);
  freed.taken.store(false);
}

bool MappingFaulted(int slot) {
  return ranges[static_cast<std::size_t>(slot)].faulted.load();
}

}  // namespace onnx_tag::io
