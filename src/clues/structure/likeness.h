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
  Bag() = default;
  // With `once`, a token counts once, however often it occurs.
  Bag(const Atoms& atoms, Range range, bool once = false);

  // The share of tokens that both have, of those that either has.
  bool IsLike(const Bag& other, double share) const;
  double Likeness(const Bag& other) const;
  std::uint64_t Hash() const;

 private:
  std::vector<std::pair<Token, std::uint32_t>> counts_;
};

// Finds ranges that are alike. Time is linear: a range is compared with at most
// a few others.
class Twins {
 public:
  explicit Twins(const Atoms& atoms) : atoms_(atoms) {}

  // `end` is the token of the atom that ends the range, or any other mark that
  // twins have in common.
  void Add(Range range, Token end);
  // Whether another range that was added is like this one, which was, too.
  bool Has(Range range, Token end) const;

 private:
  struct Entry {
    Bag bag;
    std::uint64_t hash;
    std::uint32_t count;
  };
  std::uint64_t KeyOf(Range range, Token end) const;

  const Atoms& atoms_;
  std::unordered_map<std::uint64_t, std::vector<Entry>> entries_;
};

}  // namespace onnx_tag::structure

#endif  // ONNX_TAG_CLUES_STRUCTURE_LIKENESS_H_
