// Repeats: rows of units that are the same blocks again and again.
#ifndef ONNX_TAG_CLUES_STRUCTURE_REPEATS_H_
#define ONNX_TAG_CLUES_STRUCTURE_REPEATS_H_

#include <cstdint>
#include <map>
#include <vector>

#include "clues/structure/units.h"

namespace onnx_tag::structure {

// A unit, or a run: copies of a block, which has units and runs in turn.
struct Item {
  Unit unit;                // of a run: its atoms, from `ranges`
  bool transition = false;  // leads to another width or resolution
  std::vector<std::vector<Item>> copies;
  std::vector<Range> ranges;  // the atoms of each copy, with what is between

  bool IsRun() const { return !copies.empty(); }
  Range atoms() const { return unit.atoms; }
};

class Repeats {
 public:
  explicit Repeats(const Units& units) : units_(units), atoms_(units.atoms()) {}

  // The units of `range` with repeats collapsed to runs, level by level. Runs
  // know their ranges.
  std::vector<Item> Find(const std::vector<Unit>& units, Range range);

 private:
  struct Cover;

  void MarkTransitions(std::vector<Item>& items) const;
  // The best cover by repeats. `deep`: of items that have runs, by blocks that
  // have runs.
  std::vector<Cover> Periods(const std::vector<Item>& items, bool deep) const;
  std::vector<Item> Collapse(std::vector<Item> items,
                             const std::vector<Cover>& covers);
  std::vector<Item> TakeSingles(std::vector<Item> items);
  std::vector<Item> WithoutPlain(std::vector<Item> items, bool rigid) const;
  bool HasResidual(const Item& run) const;
  bool IsComplete(const Unit& unit) const;
  bool Gathers(const std::vector<Item>& items, std::size_t begin,
               std::size_t end) const;
  bool IsOneDimensional(const Unit& unit) const;
  std::size_t PeriodOfEqual(const std::vector<Item>& items, std::size_t begin,
                            std::size_t end) const;
  Item MakeRun(std::vector<std::vector<Item>> copies);
  std::uint32_t ClassOf(const std::vector<Item>& block);

  void LearnGaps(const Item& item);
  void Settle(Item& run, Range range);
  std::vector<std::uint32_t> Codes(std::int64_t first, std::int64_t last) const;

  const Units& units_;
  const Atoms& atoms_;
  std::map<std::vector<std::uint32_t>, std::uint32_t> classes_;  // of runs
  // What is between two copies, by the class of the run.
  std::map<std::uint32_t, std::vector<std::uint32_t>> gaps_;
};

}  // namespace onnx_tag::structure

#endif  // ONNX_TAG_CLUES_STRUCTURE_REPEATS_H_
