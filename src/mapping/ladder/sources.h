// The sources of knowledge that write about every node, whatever others say of
// it: what the file spells, what the user gives, and what was recorded.
#pragma once

#include <span>
#include <string_view>

#include "mapping/evidence/evidence.h"
#include "mapping/ladder/claim.h"

namespace onnx_tag {

// Writes for one source: each claim passes the laws first.
class ClueWriter {
 public:
  ClueWriter(const Evidence& file, WriterId from, Confidence highest,
             Clues& clues)
      : file_(file), from_(from), highest_(highest), clues_(clues) {}

  void Add(Claim claim);

  // Whether a stronger kind of evidence than `kind` says a module.
  bool IsSaid(NodeId node, EvidenceKind kind) const {
    const Clue* const clue = clues_.Strongest(node);
    return clue != nullptr && clue->kind < kind;
  }
  // What is said so far; null: nothing.
  const Clue* Strongest(NodeId node) const { return clues_.Strongest(node); }

 private:
  const Evidence& file_;
  const WriterId from_;
  const Confidence highest_;
  Clues& clues_;
};

struct SourceRow {
  std::string_view name;
  std::string_view help;
  // Null: it wrote to Evidence::said while the evidence was gathered.
  void (*read)(const Evidence& file, ClueWriter& out) = nullptr;
  unsigned strategies = 0;  // a StrategySet
  // The highest level of its clues.
  Confidence highest = Confidence::kLow;
};

// By WriterId, in the order in which they write.
std::span<const SourceRow> AllSources();

// Writes the clues of one source. Those of stronger kinds are written before.
void ReadSource(const Evidence& file, WriterId from, Clues& clues);

// The clues of a strategy's sources. `without`: a source to leave out.
Clues ReadSources(const Evidence& file, unsigned strategy,
                  WriterId without = WriterId::kFirstRung);

// Gives each open node the tag of its strongest clue.
void AcceptClues(const Clues& clues, Placed& placed);

// The name of a source or of a rung.
std::string_view WriterName(WriterId from);

}  // namespace onnx_tag
