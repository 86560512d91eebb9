// Adds roles to a Tagging, each role once.
//
// Most models have a few dozen roles. But a file may have a different role for
// each of 10^6 nodes, and a linear search would take hours.
#pragma once

#include <cstdint>

#include "base/hash.h"
#include "onnx_tag/interner.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag {

class RoleIndex {
 public:
  // `tagging` must outlive it. No other code may add roles to it.
  explicit RoleIndex(Tagging& tagging) : tagging_(tagging) {
    for (const RoleId id : AllIds<RoleId>(tagging.roles.size())) {
      table_.Add(Hash(tagging.roles[id]), id);
    }
    Add(Role());
  }

  RoleId Add(const Role& role) {
    const std::uint32_t hash = Hash(role);
    const RoleId known = table_.Find(
        hash, [&](RoleId id) { return tagging_.roles[id] == role; });
    if (known != kNo<RoleId>) return known;
    const RoleId id = tagging_.roles.Add(role);
    table_.Add(hash, id);
    return id;
  }

 private:
  static std::uint32_t Hash(const Role& role) {
    std::uint64_t hash = HashBytes(role.component);
    hash = HashMix(hash, static_cast<std::uint64_t>(role.type) << 16 |
                             static_cast<std::uint64_t>(role.confidence) << 8 |
                             static_cast<std::uint64_t>(role.attention_kind));
    return static_cast<std::uint32_t>(
        HashMix(hash, static_cast<std::uint64_t>(role.layer)) >> 32);
  }

  Tagging& tagging_;
  IdTable<RoleId> table_;
};

}  // namespace onnx_tag
