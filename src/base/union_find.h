// Groups of ids, joined one pair at a time.
#pragma once

#include <algorithm>

#include "onnx_tag/ids.h"

namespace onnx_tag {

// Every id from 0 to `count` - 1 is a group of its own at first. The smallest
// id of a group stands for it.
template <typename Id>
class UnionFind {
 public:
  explicit UnionFind(std::size_t count) : leader_(count) {
    for (std::size_t i = 0; i < count; ++i) {
      leader_[MakeId<Id>(i)] = MakeId<Id>(i);
    }
  }

  Id Find(Id id) {
    while (leader_[id] != id) id = leader_[id] = leader_[leader_[id]];
    return id;
  }

  void Join(Id a, Id b) {
    a = Find(a);
    b = Find(b);
    leader_[std::max(a, b)] = std::min(a, b);
  }

 private:
  IdVector<Id, Id> leader_;
};

}  // namespace onnx_tag
