// Units: closed regions with what belongs to them, the letters of which blocks
// are words. A convolution with its norm and activation is a unit, a residual
// block with the activation or norm behind its sum, a squeeze-and-excite.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "clues/structure/regions.h"

namespace onnx_tag::structure {

enum class Role : std::uint8_t {
  kNeutral,  // only moves data
  kOther,
  kActivation,
  kPool,
  kNorm,
  kLinear,
  kRecurrent,
  kConv,
  kAttention,
  kRun,  // of blocks: see below
};

struct Unit {
  Range atoms;
  Role role = Role::kOther;
  bool residual = false;
  bool queries = false;  // an attention whose queries are learned
  bool closed = false;   // branches, their concatenation and its convolution
  std::uint32_t class_of = 0;  // equal for units that are alike
};

class Units {
 public:
  Units(const Atoms& atoms, const Regions& regions)
      : atoms_(atoms), regions_(regions) {}

  // The units of a range, in their order; together they are the range.
  std::vector<Unit> Find(Range range) const;
  // Gives units that are alike the same class, and joins units that are like
  // the body of a residual block to one unit.
  std::vector<Unit> Classify(std::vector<Unit> units) const;

  // Ends in a sum that adds to a value what was made of it.
  bool AddsUp(const Unit& unit) const;
  // The operator that tells what a unit is.
  std::uint32_t MainKind(const Unit& unit) const;
  bool IsSqueezeExcite(const Unit& unit) const;
  Role RoleOf(Range range) const;
  std::uint32_t Heavies(const Unit& unit) const {
    return atoms_.Heavies(unit.atoms);
  }
  // Makes pictures smaller or larger.
  bool IsStrided(Range range) const;
  // Channels behind the last convolution or linear layer; 0 if unknown.
  std::int64_t Width(Range range) const;

  const Atoms& atoms() const { return atoms_; }
  const Regions& regions() const { return regions_; }

 private:
  bool IsJoined(const Unit& before, const Unit& unit, bool norms_follow) const;
  void TakeQueries(std::vector<Unit>& before, Unit& sum) const;
  std::vector<Unit> CloseBranches(const std::vector<Unit>& units) const;
  std::vector<Unit> JoinBodies(std::vector<Unit> units) const;
  void GiveClasses(std::vector<Unit>& units) const;
  bool StartsWith(const Unit& unit, AtomKind kind) const;
  bool IsReadOnlyBy(std::uint32_t atom, Range range) const;

  const Atoms& atoms_;
  const Regions& regions_;
};

// Repeats: rows of units that are the same blocks again and again.

// A unit, or a run: copies of a block, which has units and runs in turn.
struct Item {
  Unit unit;                // of a run: its atoms, from `ranges`
  bool transition = false;  // leads to another width or resolution
  std::vector<std::vector<Item>> copies;
  std::vector<Range> ranges;  // the atoms of each copy, with what is between

  bool IsRun() const { return !copies.empty(); }
  Range atoms() const { return unit.atoms; }
};

inline bool HasRuns(const std::vector<Item>& items) {
  return std::any_of(items.begin(), items.end(),
                     [](const Item& item) { return item.IsRun(); });
}

// The units of `range`, which are `row`, with repeats collapsed to runs, level
// by level. Runs know their ranges.
std::vector<Item> FindRepeats(const Units& units, const std::vector<Unit>& row,
                              Range range);

}  // namespace onnx_tag::structure
