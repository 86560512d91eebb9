// Closed regions: ranges of atoms that one value enters and one value leaves.
//
// A value is live from the atom that makes it to the last atom that reads it. A
// region that begins at atom a ends behind p if no value made in a..p-1 is live
// there: values from outside do not count. So the inside of a residual block is
// a row of smaller regions, because the value that the block adds to comes from
// outside. Regions nest; each atom ends exactly one region at one level.
//
// Some values hold many blocks together: the skips of a U-Net, conditions that
// every block reads, the output of another tower. TakeApart finds and drops
// them, so that the blocks are the regions of the outermost level.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "clues/structure/atoms.h"

namespace onnx_tag::structure {

class Regions {
 public:
  explicit Regions(const Atoms& atoms);

  // The regions of `range`, in their order; together they are the range.
  std::vector<Range> Inside(Range range) const;

  // The sum or concatenation that ends a region, with at most activations,
  // norms and scales behind it.
  std::optional<std::uint32_t> JoinOf(Range range) const;
  // Whether a sum, not a concatenation.
  bool IsSum(std::uint32_t atom) const;
  // The region adds to a value, or to a projection of it, what it makes of it.
  bool IsResidual(Range range) const;
  // Residual sums inside a region, without the one that ends it.
  std::uint32_t ResidualsInside(Range range) const;

 private:
  enum class Hold { kBlock, kLoose, kSkip };

  void FindTowers();
  void Reopen();
  void TakeApart();
  Hold WhatHolds(Range range) const;
  // Drops the longest values that hold `range` together.
  bool Loosen(Range range);
  bool IsShortCut(std::uint32_t atom, Range range, std::uint32_t join) const;

  const Atoms& atoms_;
  std::vector<std::uint32_t> live_until_;  // the atom itself if nobody reads it
  // The latest value that is live behind an atom, but its own; kNothing if
  // none is.
  std::vector<std::int64_t> open_;
  std::vector<std::uint32_t> residual_sums_;  // before each atom
};

}  // namespace onnx_tag::structure
