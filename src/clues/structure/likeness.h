// How alike two ranges of atoms are: by how often each token occurs.
#ifndef ONNX_TAG_CLUES_STRUCTURE_LIKENESS_H_
#define ONNX_TAG_CLUES_STRUCTURE_LIKENESS_H_

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "clues/structure/atoms.h"

namespace onnx_tag::structure {

// Tokens with their counts, in the order of tokens.
class Bag {
 public:
  // With `once`, a token counts once, however often it occurs.
  Bag(const Atoms& atoms, Range range, bool once = false);

  // The share of tokens that both have, of those that either has.
  double Likeness(const Bag& other) const;
  bool operator==(const Bag&) const = default;

 private:
  std::vector<std::pair<Token, std::uint32_t>> counts_;
};

// Gives ranges that are alike the same class. Time is linear: a range is
// compared with at most a few others.
class Classes {
 public:
  // The class of the range among those with the same mark, new or not: the one
  // whose first range is most like this one, and at least to this share.
  std::uint32_t Add(std::uint64_t mark, Bag bag, double share);
  // How many ranges were added to it.
  std::uint32_t Count(std::uint32_t id) const { return counts_[id]; }

 private:
  struct Class {
    Bag first;
    std::uint32_t id;
  };
  std::unordered_map<std::uint64_t, std::vector<Class>> classes_;  // by mark
  std::vector<std::uint32_t> counts_;
};

}  // namespace onnx_tag::structure

#endif  // ONNX_TAG_CLUES_STRUCTURE_LIKENESS_H_
