// Names ranges of atoms: stem, stages, blocks, what is inside a block, head.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "clues/structure/structure.h"
#include "clues/structure/units.h"

namespace onnx_tag {

// The modules that are found, as they are found.
class FoundTree {
 public:
  explicit FoundTree(Structure& structure) : structure_(structure) {}

  // The module of that kind and number in `parent`, new or not.
  FoundId Child(FoundId parent, FoundKind kind, std::uint32_t number) {
    const std::uint64_t key =
        ((static_cast<std::uint64_t>(Index(parent)) + 1) << 40) ^
        (static_cast<std::uint64_t>(kind) << 32) ^ number;
    const auto [at, added] = children_.emplace(key, kNo<FoundId>);
    if (added) {
      at->second = structure_.modules_.Add(
          {.parent = parent, .kind = kind, .number = number});
      counts_.Add({});
    }
    return at->second;
  }
  // The next module of that kind in `parent`: number 0, then 2, 3, ...
  FoundId New(FoundId parent, FoundKind kind) {
    Counts& counts = parent == kNo<FoundId> ? at_root_ : counts_[parent];
    const std::uint32_t count = ++counts[static_cast<std::size_t>(kind)];
    return Again(Child(parent, kind, count == 1 ? 0 : count));
  }
  // The module is called again: the names inside it are given anew.
  FoundId Again(FoundId id) {
    counts_[id] = {};
    return id;
  }
  FoundModule& operator[](FoundId id) { return structure_.modules_[id]; }

 private:
  using Counts = std::array<std::uint32_t, kFoundKinds>;

  Structure& structure_;
  std::unordered_map<std::uint64_t, FoundId> children_;
  Counts at_root_{};
  IdVector<FoundId, Counts> counts_;  // of the names inside a module
};

namespace structure {

// Names all atoms, below `parent`: the module of each. The graph of a whole
// model has the root for a parent (kNo), and gets a stem and a head.
std::vector<FoundId> Arrange(const Units& units, FoundTree& tree,
                             FoundId parent);

}  // namespace structure
}  // namespace onnx_tag
