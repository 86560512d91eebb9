// How well a class fits what a file shows of a module.
//
// Scores add up over the names: one for each that the class expects, a
// deduction for each it does not, a small one for each that it expects and
// the file should show. So the best alternative of each attribute can be
// chosen for itself, and remembered.
#ifndef ONNX_TAG_CLASSES_CATALOGUE_MATCHER_H_
#define ONNX_TAG_CLASSES_CATALOGUE_MATCHER_H_

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "classes/catalogue/shapes.h"

namespace onnx_tag::catalogue {

// What stands behind an attribute: a class, or a container whose own members
// are the owner's.
struct Choice {
  double score = 0;
  ClassId target = kNo<ClassId>;
  // Another class fits as well, and only custom speaks for this one.
  ClassId rival = kNo<ClassId>;
  const MemberRecord* member = nullptr;  // whose alternative it is
};

// What speaks for one of several alternatives that fit equally well: its
// family, its place in its list, its version; then how frequent it is.
struct Custom {
  SectionId home = kNo<SectionId>;
  VersionMask versions = 0;
  bool in_list = false;
  bool first = false;
  bool last = false;
};

class Matcher {
 public:
  // `hidden` is left out, as if the catalogue had never heard of the family.
  Matcher(const Table& table, const Observation& observation,
          const Shapes& shapes, TextId hidden);

  double Score(ClassId id, ShapeId shape) { return Score(id, shape, 0); }

  // The member for an attribute; null where there is none. An index may have
  // an entry of its own, and fall back to that of all indices.
  struct Found {
    const MemberRecord* member = nullptr;
    const MemberRecord* fallback = nullptr;
  };
  Found FindMember(std::span<const MemberRecord> members, TextId name,
                   bool is_index) const;

  // The best alternative of what was found.
  Choice Best(const Found& found, ShapeId shape, const Custom& custom);

  // The classes of the name that the file records, in order.
  std::vector<ClassId> Recorded(const Shape& shape) const;
  // The classes that could be the shape's, in order.
  const std::vector<ClassId>& Candidates(ShapeId shape);

  bool HasParameter(ClassId id, TextId name) const;

  // Whether a Linear shows its weight where others have lost theirs: it may
  // be GPT-2's Conv1D, which needs no transposition.
  bool IsSurprise(ClassId id, const Shape& shape) const;

  // What usually stands behind the member in these versions.
  const AlternativeRecord& Usual(const MemberRecord& member,
                                 VersionMask versions) const;

  // Whether the module shows what the class has, no more and no less; what
  // lies below its children is not looked at.
  bool FitsExactly(ClassId id, const MemberRecord* container, ShapeId shape);
  bool IsHidden(ClassId id) const {
    return hidden_ != kNo<TextId> && table_.Family(id) == hidden_;
  }
  // Whether the file was too large or too strange to be compared in full.
  bool exhausted() const { return work_ > kMostWork; }

 private:
  // Enough for every real model (which need some 10^5), and some 100 ms.
  static constexpr std::uint64_t kMostWork = 4'000'000;
  static constexpr int kDeepest = 64;
  static constexpr double kEqual = 1e-6;
  static constexpr double kImpossible = -1e6;

  double Score(ClassId id, ShapeId shape, int depth);
  double ScoreParameters(ClassId id, const Shape& shape, VersionMask versions);
  double ScoreMembers(std::span<const MemberRecord> members,
                      VersionMask versions, const Shape& shape, int depth);
  double ScoreAlternative(const MemberRecord& member,
                          const AlternativeRecord& alternative, ShapeId shape,
                          int depth);
  Choice Best(const MemberRecord& member, ShapeId shape, const Custom& custom,
              int depth);
  int Suits(const AlternativeRecord& alternative, const Custom& custom) const;
  double BestScore(const MemberRecord& member, ShapeId shape, int depth);
  bool IsSubstantial(const MemberRecord& member) const;
  bool MayBeModel(const MemberRecord& member) const;
  Choice BestModel(ShapeId shape, int depth);
  // Whether the file would show such a module, and such a parameter.
  bool IsVisible(ClassId id) const;
  bool IsVisible(ClassId id, TextId parameter) const;
  double Expected(ClassId id, int depth);
  double Expected(const MemberRecord& member, VersionMask versions, int depth);
  // The versions by which a class is judged: the newest, if it has it. An
  // older one is no more than likely, and may not rule anything out.
  VersionMask Judging(VersionMask own) const {
    return (own & newest_) != 0 && likely_versions_ == newest_ ? newest_ : own;
  }
  VersionMask VersionsOf(ClassId id) const {
    return Judging(table_[id].versions);
  }
  // The same, of versions that have what the module shows.
  VersionMask VersionsOf(std::span<const MemberRecord> members, VersionMask own,
                         const Shape& shape) const;
  // Whether an alternative is no thing of the past to a file of today.
  bool IsCurrent(const AlternativeRecord& alternative) const {
    return !today_ || (alternative.versions & newest_) != 0;
  }
  // Whether a parameter or member is there in all configurations.
  template <typename Record>
  static bool IsRequired(const Record& record, VersionMask versions) {
    return record.optional == Optional::kNever &&
           (versions & ~record.versions) == 0;
  }

  const Table& table_;
  const Observation& observation_;
  const Shapes& shapes_;
  TextId hidden_;
  TextId weight_;
  TextId bias_;
  TextId parametrizations_;
  VersionMask likely_versions_;
  VersionMask newest_;
  bool today_;  // exported by a torch that goes with the newest version
  std::uint64_t work_ = 0;
  std::unordered_map<std::uint64_t, double> scores_;  // by class and shape
  std::unordered_map<std::uint64_t, double> best_;    // by member and shape
  std::vector<float> expected_class_;                 // negative: not known yet
  std::vector<float> expected_member_;
  std::unordered_map<std::uint32_t, std::vector<ClassId>> candidates_;
  std::unordered_map<std::uint32_t, Choice> best_model_;
  std::vector<std::uint32_t> hits_;  // by class, all zero between calls
};

}  // namespace onnx_tag::catalogue

#endif  // ONNX_TAG_CLASSES_CATALOGUE_MATCHER_H_
