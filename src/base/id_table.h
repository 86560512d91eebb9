// A hash table of ids, with open addressing. What an id stands for is stored
// elsewhere; the table has its hash. So the table takes 8 bytes a slot, and
// growing it reads nothing else.
#ifndef ONNX_TAG_BASE_ID_TABLE_H_
#define ONNX_TAG_BASE_ID_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/ids.h"

namespace onnx_tag {

template <typename Id>
class IdTable {
 public:
  // The id that was added with this hash and that `is_wanted(id)` accepts;
  // kNo<Id> if there is none.
  template <typename IsWanted>
  Id Find(std::uint32_t hash, IsWanted is_wanted) const {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
      const Slot& slot = slots_[at];
      if (slot.id == kNo<Id>) return slot.id;
      if (slot.hash == hash && is_wanted(slot.id)) return slot.id;
    }
  }

  // `id` is not in the table.
  void Add(std::uint32_t hash, Id id) {
    if (4 * (size_ + 1) > 3 * slots_.size()) {
      std::vector<Slot> slots(slots_.size() * 2);
      for (const Slot& slot : slots_) {
        if (slot.id != kNo<Id>) Put(slot, slots);
      }
      slots_ = std::move(slots);
    }
    Put({hash, id}, slots_);
    ++size_;
  }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    Id id = kNo<Id>;
  };

  static void Put(const Slot& slot, std::vector<Slot>& slots) {
    const std::size_t mask = slots.size() - 1;
    std::size_t at = slot.hash & mask;
    while (slots[at].id != kNo<Id>) at = (at + 1) & mask;
    slots[at] = slot;
  }

  std::vector<Slot> slots_ = std::vector<Slot>(16);  // a power of two
  std::size_t size_ = 0;
};

}  // namespace onnx_tag

#endif  // ONNX_TAG_BASE_ID_TABLE_H_
