// Repeats: rows of units that are the same blocks again and again.
#ifndef ONNX_TAG_CLUES_STRUCTURE_REPEATS_H_
#define ONNX_TAG_CLUES_STRUCTURE_REPEATS_H_

#include <cstdint>
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

// The units of `range`, which are `row`, with repeats collapsed to runs, level
// by level. Runs know their ranges.
std::vector<Item> FindRepeats(const Units& units, const std::vector<Unit>& row,
                              Range range);

}  // namespace onnx_tag::structure

#endif  // ONNX_TAG_CLUES_STRUCTURE_REPEATS_H_
