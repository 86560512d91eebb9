// Roles read from a file, each added once.
//
// Mapping knows a few dozen roles; a file may hold one for each of 10^6 nodes,
// and searching them one by one would take hours.
#ifndef ONNX_TAG_TAGGING_ROLE_INDEX_H_
#define ONNX_TAG_TAGGING_ROLE_INDEX_H_

#include <cstddef>
#include <unordered_map>

#include "base/hash.h"
#include "base/interner.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag {

class RoleIndex {
 public:
  // `tagging` must outlive it, and get its roles from here alone.
  explicit RoleIndex(Tagging& tagging) : tagging_(tagging) { Add(Role()); }

  RoleId Add(const Role& role) {
    const auto [at, added] = ids_.try_emplace(role, RoleId{0});
    if (added) at->second = tagging_.roles.Add(role);
    return at->second;
  }

 private:
  struct Hash {
    std::size_t operator()(const Role& role) const {
      std::uint64_t hash = HashBytes(role.component);
      hash = HashMix(hash, static_cast<std::uint64_t>(role.type));
      hash = HashMix(hash, static_cast<std::uint64_t>(role.attention_kind));
      hash = HashMix(hash, static_cast<std::uint64_t>(role.layer));
      return static_cast<std::size_t>(hash);
    }
  };
  Tagging& tagging_;
  std::unordered_map<Role, RoleId, Hash> ids_;
};

}  // namespace onnx_tag

#endif  // ONNX_TAG_TAGGING_ROLE_INDEX_H_
