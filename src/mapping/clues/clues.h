// One relation: what every source of knowledge says about the modules of the
// nodes.
//
// A source writes clues and knows no other source. For each node the clue of
// the strongest kind wins; of clues of one kind, the first that was written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "onnx_tag/hierarchy.h"
#include "onnx_tag/ids.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag {

// What a source says about one node, before it is written.
struct Claim {
  NodeId node;
  ModuleId module;
  Confidence confidence;
  Source source;
  std::string_view because;  // a sentence for people
};

using Claims = std::vector<Claim>;

enum class ReasonId : std::uint32_t {};

// What wrote a clue: a row of kSources (mapping/ladder/sources.h), or a rung of
// inference; those follow from kFirstRung on.
enum class WriterId : std::uint8_t {
  kRule,
  kMetadata,
  kFunction,
  kDialect,
  kScope,
  kReturned,
  kRecorded,
  kHelperBody,
  kParameter,
  kCalled,
  // What inference takes when it is its turn.
  kRecordedPart,
  kRecipe,
  kLooseRecipe,
  kFirstRung,
};

// What the words of a source prove. A clue that nothing confirms is not certain
// and has a weaker kind than a certain one of the same source.
constexpr EvidenceKind KindOf(WriterId from, Confidence level) {
  const bool certain = level == Confidence::kCertain;
  switch (from) {
    case WriterId::kRule:
      return EvidenceKind::kRule;
    case WriterId::kMetadata:
      return certain ? EvidenceKind::kMetadata : EvidenceKind::kMerged;
    case WriterId::kFunction:
      return EvidenceKind::kScope;
    case WriterId::kDialect:
    case WriterId::kScope:
      return certain ? EvidenceKind::kScope : EvidenceKind::kName;
    case WriterId::kReturned:
    case WriterId::kHelperBody:
      return EvidenceKind::kName;
    case WriterId::kRecorded:
      return EvidenceKind::kRecording;
    case WriterId::kParameter:
      return EvidenceKind::kParameter;
    case WriterId::kCalled:
      return EvidenceKind::kCalls;
    case WriterId::kRecordedPart:
    case WriterId::kRecipe:
      return EvidenceKind::kPattern;
    default:
      return EvidenceKind::kNeighbours;
  }
}

struct Clue {
  NodeId node;
  ModuleId module;
  ReasonId why;
  EvidenceKind kind;
  Confidence level;
  Source source;
  WriterId from;
};
static_assert(sizeof(Clue) == 16);

class Clues {
 public:
  // Without an index of nodes: Strongest() finds nothing.
  Clues() = default;
  explicit Clues(std::size_t nodes) : strongest_(nodes, kNobody) {}
  Clues(const Clues&) = delete;
  Clues& operator=(const Clues&) = delete;
  Clues(Clues&&) = default;
  Clues& operator=(Clues&&) = default;

  void Add(WriterId from, const Claim& claim) {
    Add(from, KindOf(from, claim.confidence), claim);
  }
  void Add(WriterId from, EvidenceKind kind, const Claim& claim);

  // The clue that wins so far; null if nothing is written about the node.
  const Clue* Strongest(NodeId node) const {
    if (strongest_.empty() || strongest_[node] == kNobody) return nullptr;
    return &clues_[strongest_[node]];
  }
  // The clues about one node, the strongest first. It looks at all clues.
  std::vector<Clue> Of(NodeId node) const;
  // All clues: by node, and of each node the strongest first.
  std::vector<Clue> Sorted() const;

  // A sentence for people. Equal sentences are stored once.
  const std::string& Why(const Clue& clue) const { return *reasons_[clue.why]; }
  Claim AsClaim(const Clue& clue) const {
    return {clue.node, clue.module, clue.level, clue.source, Why(clue)};
  }

  // What one source has written, in the order of writing.
  class Range {
   public:
    class Iterator {
     public:
      Iterator(const Clue* at, const Range& range) : at_(at), range_(range) {
        Skip();
      }
      const Clue& operator*() const { return *at_; }
      Iterator& operator++() {
        ++at_;
        Skip();
        return *this;
      }
      bool operator==(const Iterator& other) const { return at_ == other.at_; }

     private:
      void Skip() {
        while (at_ != range_.end_ && at_->from != range_.from_) ++at_;
      }
      const Clue* at_;
      const Range& range_;
    };
    Range(const std::vector<Clue>& clues, WriterId from)
        : begin_(clues.data()), end_(begin_ + clues.size()), from_(from) {}
    Iterator begin() const { return {begin_, *this}; }
    Iterator end() const { return {end_, *this}; }
    bool empty() const { return begin() == end(); }

   private:
    const Clue* begin_;
    const Clue* end_;
    WriterId from_;
  };
  Range From(WriterId from) const { return {clues_, from}; }

  // Takes back what one source has written, where `wrong` says so. Only without
  // an index of nodes.
  template <typename Wrong>
  void TakeBack(WriterId from, const Wrong& wrong) {
    std::erase_if(clues_, [&](const Clue& clue) {
      return clue.from == from && wrong(clue);
    });
  }

 private:
  static constexpr std::uint32_t kNobody = 0xffffffff;

  ReasonId Intern(std::string_view reason);

  std::vector<Clue> clues_;                    // in the order of writing
  IdVector<NodeId, std::uint32_t> strongest_;  // index in clues_
  // The keys of a map do not move.
  std::unordered_map<std::string, ReasonId> ids_;
  IdVector<ReasonId, const std::string*> reasons_;
};

}  // namespace onnx_tag
