// Adds roles from a file to a Tagging, each role once.
//
// Mapping uses a few dozen roles. But a file may have a different role for each
// of 10^6 nodes, and a linear search would take hours.
#ifndef ONNX_TAG_TAGGING_ROLE_INDEX_H_
#define ONNX_TAG_TAGGING_ROLE_INDEX_H_

#include <cstddef>
#include <vector>

#include "base/hash.h"
#include "base/interner.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag {

class RoleIndex {
 public:
  // `tagging` must outlive it. No other code may add roles to it.
  explicit RoleIndex(Tagging& tagging) : tagging_(tagging) { Add(Role()); }

  RoleId Add(const Role& role) {
    std::size_t at = SlotOf(role);
    if (slots_[at] != kNo<RoleId>) return slots_[at];
    if (2 * (tagging_.roles.size() + 1) > slots_.size()) {
      Grow();
      at = SlotOf(role);
    }
    return slots_[at] = tagging_.roles.Add(role);
  }

 private:
  static std::uint64_t Hash(const Role& role) {
    std::uint64_t hash = HashBytes(role.component);
    hash = HashMix(hash, static_cast<std::uint64_t>(role.type));
    hash = HashMix(hash, static_cast<std::uint64_t>(role.attention_kind));
    return HashMix(hash, static_cast<std::uint64_t>(role.layer));
  }

  // The slot that holds the role, or the empty one where it belongs.
  std::size_t SlotOf(const Role& role) const {
    const std::size_t mask = slots_.size() - 1;
    const std::uint64_t hash = Hash(role);
    for (std::size_t at = static_cast<std::size_t>(hash ^ (hash >> 32)) & mask;;
         at = (at + 1) & mask) {
      if (slots_[at] == kNo<RoleId> || tagging_.roles[slots_[at]] == role) {
        return at;
      }
    }
  }

  void Grow() {
    slots_.assign(slots_.size() * 2, kNo<RoleId>);
    for (const RoleId id : AllIds<RoleId>(tagging_.roles.size())) {
      slots_[SlotOf(tagging_.roles[id])] = id;
    }
  }

  Tagging& tagging_;
  // Open-addressed: with one role for each of 10^6 nodes, a map of roles cost
  // 100 bytes each beside the roles themselves.
  std::vector<RoleId> slots_ = std::vector<RoleId>(16, kNo<RoleId>);
};

}  // namespace onnx_tag

#endif  // ONNX_TAG_TAGGING_ROLE_INDEX_H_
