// Names ranges of atoms: stem, stages, blocks, what is inside a block, head.
#ifndef ONNX_TAG_CLUES_STRUCTURE_ARRANGE_H_
#define ONNX_TAG_CLUES_STRUCTURE_ARRANGE_H_

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "clues/structure/repeats.h"
#include "clues/structure/structure.h"

namespace onnx_tag {

// The modules that are found, as they are found.
class FoundTree {
 public:
  explicit FoundTree(Structure& structure) : structure_(structure) {}

  // The module of that kind and number in `parent`, new or not.
  FoundId Child(FoundId parent, FoundKind kind, std::uint32_t number);
  // The next module of that kind in `parent`: number 0, then 2, 3, ...
  FoundId New(FoundId parent, FoundKind kind);
  // The module is called again: the names inside it are given anew.
  FoundId Again(FoundId id);
  FoundModule& operator[](FoundId id) { return structure_.modules_[id]; }

 private:
  using Counts = std::array<std::uint32_t, kFoundKinds>;

  Structure& structure_;
  std::unordered_map<std::uint64_t, FoundId> children_;
  Counts at_root_{};
  IdVector<FoundId, Counts> counts_;  // of the names inside a module
};

namespace structure {

class Arranger {
 public:
  Arranger(const Units& units, FoundTree& tree)
      : units_(units),
        atoms_(units.atoms()),
        regions_(units.regions()),
        tree_(tree),
        module_of_(atoms_.size(), kNo<FoundId>) {}

  // Names all atoms, below `parent`. The graph of a whole model has the root
  // for a parent (kNo), and gets a stem and a head.
  void Arrange(FoundId parent);

  FoundId ModuleOf(std::uint32_t atom) const { return module_of_[atom]; }

 private:
  // Units of a range, sorted.
  using UnitSpan = std::span<const Unit>;

  bool Solve(Range range, FoundId parent, bool top);
  void EmitFlat(Range range, FoundId parent, UnitSpan units);
  void FillBody(Range range, FoundId parent, UnitSpan units);
  void EmitRun(const Item& run, FoundId parent, UnitSpan units, bool inside);
  void EmitCopy(const Item& run, std::size_t copy, FoundId module,
                UnitSpan units);
  FoundId NewCopy(FoundId list, std::size_t number, std::size_t copies,
                  CopyKind like);
  void FillGap(Range range, FoundId module, UnitSpan units, FoundKind kind);
  void Fill(Range range, FoundId module, UnitSpan units);
  void FillNew(Range range, FoundId parent, FoundKind kind, UnitSpan units);
  void FillSiblings(Range range, FoundId module, UnitSpan units);
  void FillResidual(const Unit& unit, FoundId module, bool alone);
  void FillChains(Range range, FoundId module);
  void FillCopies(const std::vector<Range>& copies, std::uint32_t own,
                  FoundId list);
  void FillClosed(const Unit& unit, FoundId module);
  void ShareActivation(const Unit& unit, UnitSpan parts, FoundId module);
  void FillLeaf(const Unit& unit, FoundId module);

  void Put(Range range, FoundId module);
  static UnitSpan Within(UnitSpan units, Range range);
  bool IsFresh(Range range) const;
  std::vector<ValueId> WeightsOf(Range range) const;
  CopyKind Compare(Range first, Range copy) const;
  // Where stages begin in a run: indices of copies.
  std::vector<std::size_t> Stages(const Item& run) const;

  const Units& units_;
  const Atoms& atoms_;
  const Regions& regions_;
  FoundTree& tree_;
  std::vector<FoundId> module_of_;  // by atom
  int depth_ = 0;
};

}  // namespace structure
}  // namespace onnx_tag

#endif  // ONNX_TAG_CLUES_STRUCTURE_ARRANGE_H_
