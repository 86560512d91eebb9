// Tested by tests/file/io/signals_test.cc.
#include "file/io/signals.h"

#include <array>
#include <atomic>
#include <cstring>
#include <utility>

#include "file/io/system_calls.h"

namespace onnx_tag::io {
namespace {

enum NameState : int { kFree, kTaken, kReady };

// Read by the handlers at any time: never moved, never freed. Untouched slots
// cost address space only.
struct NameSlot {
  std::atomic<int> state{kFree};
  char path[4096];
};
std::array<NameSlot, 256> name_slots;
static_assert(std::atomic<int>::is_always_lock_free);

}  // namespace

TemporaryName::TemporaryName(const std::string& path) : path_(path) {
  if (path.size() >= sizeof NameSlot::path) return;
  for (std::size_t i = 0; i < name_slots.size(); ++i) {
    int free = kFree;
    if (!name_slots[i].state.compare_exchange_strong(free, kTaken)) continue;
    std::memcpy(name_slots[i].path, path.c_str(), path.size() + 1);
    name_slots[i].state.store(kReady);
    slot_ = static_cast<int>(i);
    return;
  }
}

TemporaryName::TemporaryName(TemporaryName&& other) noexcept {
  *this = std::move(other);
}

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
  name_slots[static_cast<std::size_t>(std::exchange(slot_, -1))].state.store(
      kFree);
}

void RemoveTemporaryFiles() {
  for (NameSlot& slot : name_slots) {
    if (slot.state.load() == kReady) kRealCalls.unlink(slot.path);
  }
}

}  // namespace onnx_tag::io
