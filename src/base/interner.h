// Maps strings to dense ids. Equal strings have equal ids.
//
// The bytes are not copied (they are in a mapped file, or in a string of
// another owner). The hash table uses open addressing and needs about 8 bytes
// per slot plus 16 bytes per string.
#ifndef ONNX_TAG_BASE_INTERNER_H_
#define ONNX_TAG_BASE_INTERNER_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace onnx_tag {

std::uint64_t HashBytes(std::string_view bytes);

template <typename Id>
class Interner {
 public:
  // The bytes of `text` must outlive the interner.
  Id Intern(std::string_view text);

  // The id of `text`, or kNo<Id> if it was never interned.
  Id Find(std::string_view text) const;

  std::string_view operator[](Id id) const { return texts_[Index(id)]; }
  std::size_t size() const { return texts_.size(); }
  void shrink_to_fit() { texts_.shrink_to_fit(); }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t id = kEmpty;
  };
  static constexpr std::uint32_t kEmpty = 0xffffffff;

  // The slot of `text`, or the empty slot where it would be added.
  std::size_t SlotOf(std::string_view text, std::uint32_t hash) const;
  static std::uint32_t Hash(std::string_view text) {
    return static_cast<std::uint32_t>(HashBytes(text) >> 32);
  }
  void Grow();

  std::vector<std::string_view> texts_;
  std::vector<Slot> slots_ = std::vector<Slot>(16);
};

template <typename Id>
std::size_t Interner<Id>::SlotOf(std::string_view text,
                                 std::uint32_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
    const Slot& slot = slots_[at];
    if (slot.id == kEmpty) return at;
    if (slot.hash == hash && texts_[slot.id] == text) return at;
  }
}

template <typename Id>
Id Interner<Id>::Intern(std::string_view text) {
  const std::uint32_t hash = Hash(text);
  std::size_t at = SlotOf(text, hash);
  if (slots_[at].id != kEmpty) return MakeId<Id>(slots_[at].id);
  if (2 * (texts_.size() + 1) > slots_.size()) {
    Grow();
    at = SlotOf(text, hash);
  }
  slots_[at] = {hash, static_cast<std::uint32_t>(texts_.size())};
  texts_.push_back(text);
  return MakeId<Id>(texts_.size() - 1);
}

template <typename Id>
Id Interner<Id>::Find(std::string_view text) const {
  const Slot& slot = slots_[SlotOf(text, Hash(text))];
  return slot.id == kEmpty ? kNo<Id> : MakeId<Id>(slot.id);
}

template <typename Id>
void Interner<Id>::Grow() {
  // Copies the stored hashes. So the texts, which are spread over the file, are
  // not read again.
  std::vector<Slot> slots(slots_.size() * 2);
  const std::size_t mask = slots.size() - 1;
  for (const Slot& slot : slots_) {
    if (slot.id == kEmpty) continue;
    std::size_t at = slot.hash & mask;
    while (slots[at].id != kEmpty) at = (at + 1) & mask;
    slots[at] = slot;
  }
  slots_ = std::move(slots);
}

}  // namespace onnx_tag

#endif  // ONNX_TAG_BASE_INTERNER_H_
