// Maps strings to dense ids. Equal strings have equal ids.
//
// The bytes are not copied (they are in a mapped file, or in a string of
// another owner).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "onnx_tag/ids.h"

namespace onnx_tag {

// A hash table of ids, with open addressing. What an id stands for is stored
// elsewhere; the table has its hash. So the table takes 8 bytes a slot, and
// growing it reads nothing else.
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

  // Loads what Find and Add will read first: in a large table it is not in the
  // processor's cache.
  void Prefetch(std::uint32_t hash) const {
    __builtin_prefetch(&slots_[hash & (slots_.size() - 1)]);
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

std::uint64_t HashBytes(std::string_view bytes);

// Copies of texts that have no other owner. Views of them stay valid, also
// after the store is moved.
class TextStore {
 public:
  std::string_view Keep(std::string_view text) {
    if (text.empty()) return {};
    if (text.size() > left_) {
      left_ = std::max(text.size(), kBlock);
      // Not make_unique, which would write zeros first.
      blocks_.emplace_back(new char[left_]);
      next_ = blocks_.back().get();
    }
    std::memcpy(next_, text.data(), text.size());
    const std::string_view kept(next_, text.size());
    next_ += text.size();
    left_ -= text.size();
    return kept;
  }

 private:
  static constexpr std::size_t kBlock = 64 * 1024;

  std::vector<std::unique_ptr<char[]>> blocks_;
  char* next_ = nullptr;
  std::size_t left_ = 0;
};

template <typename Id>
class Interner {
 public:
  // The bytes of `text` must outlive the interner.
  Id Intern(std::string_view text) { return Intern(text, Hash(text)); }
  Id Intern(std::string_view text, std::uint32_t hash) {
    return Intern(text, hash, [](std::string_view same) { return same; });
  }
  // Stores what `keep` returns for a new text: a copy of it.
  template <typename Keep>
  Id Intern(std::string_view text, const Keep& keep) {
    return Intern(text, Hash(text), keep);
  }

  // The hash of a text that is interned soon. Meanwhile its place is loaded.
  std::uint32_t Prepare(std::string_view text) const {
    const std::uint32_t hash = Hash(text);
    table_.Prefetch(hash);
    return hash;
  }

  // The id of `text`, or kNo<Id> if it was never interned.
  Id Find(std::string_view text) const { return Find(text, Hash(text)); }

  std::string_view operator[](Id id) const { return texts_[Index(id)]; }
  std::size_t size() const { return texts_.size(); }
  void shrink_to_fit() { texts_.shrink_to_fit(); }

 private:
  template <typename Keep>
  Id Intern(std::string_view text, std::uint32_t hash, const Keep& keep) {
    const Id known = Find(text, hash);
    if (known != kNo<Id>) return known;
    const Id id = MakeId<Id>(texts_.size());
    texts_.push_back(keep(text));
    table_.Add(hash, id);
    return id;
  }
  Id Find(std::string_view text, std::uint32_t hash) const {
    return table_.Find(hash, [&](Id id) { return texts_[Index(id)] == text; });
  }
  static std::uint32_t Hash(std::string_view text) {
    return static_cast<std::uint32_t>(HashBytes(text) >> 32);
  }

  std::vector<std::string_view> texts_;
  IdTable<Id> table_;
};

}  // namespace onnx_tag
