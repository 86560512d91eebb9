// Scores how well a class fits the names of a module in a file.
//
// The score is a sum over names: plus one for each expected name, a deduction
// for each unexpected name, and a small deduction for each expected name that
// is missing. So the best alternative of each attribute can be chosen
// independently and cached.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "mapping/classes/catalogue/shapes.h"

namespace onnx_tag::catalogue {

// The value of an attribute: a class, or a container whose members are listed
// with its owner.
struct Choice {
  double score = 0;
  ClassId target = kNo<ClassId>;
  // Another class that fits equally well; only Custom prefers this one.
  ClassId rival = kNo<ClassId>;
  const MemberRecord* member = nullptr;  // the member with this alternative
};

// Preferences between alternatives that fit equally well: family, place in the
// list, version; then frequency.
struct Custom {
  SectionId home = kNo<SectionId>;
  VersionMask versions = 0;
  bool in_list = false;
  bool first = false;
  bool last = false;
};

class Matcher {
 public:
  // The family `hidden` is ignored, as if it were not in the catalogue.
  Matcher(const Table& table, const Observation& observation,
          const Shapes& shapes, TextId hidden);

  double Score(ClassId id, ShapeId shape) { return Score(id, shape, 0); }

  // The member for an attribute; null if there is none. An index may have its
  // own entry; the fallback is the entry for all indices.
  struct Found {
    const MemberRecord* member = nullptr;
    const MemberRecord* fallback = nullptr;
  };
  Found FindMember(std::span<const MemberRecord> members, TextId name,
                   bool is_index) const;

  // The best alternative of the member.
  Choice Best(const Found& found, ShapeId shape, const Custom& custom);

  // The classes with the name that the file records, in order.
  std::vector<ClassId> Recorded(const Shape& shape) const;
  // The candidate classes of the shape, in order.
  const std::vector<ClassId>& Candidates(ShapeId shape);

  bool HasParameter(ClassId id, TextId name) const;
  // Whether modules of all kinds have such a parameter.
  bool IsUsual(TextId name) const { return name == weight_ || name == bias_; }

  // Whether a Linear has a named weight in a file where Linears lost theirs. It
  // may be a class whose weight needs no transposition.
  bool IsSurprise(ClassId id, const Shape& shape) const;

  // Whether the operators or parameters of the module exclude the class.
  bool IsExcluded(ClassId id, const Shape& shape) const;
  // Whether its weight was transposed, but that of the class needs none.
  bool IsTransposed(ClassId id, const Shape& shape) const;

  // The usual alternative of the member in these versions.
  const AlternativeRecord& Usual(const MemberRecord& member,
                                 VersionMask versions) const;

  // Whether the module has exactly the members of the class. Only direct
  // members are compared.
  bool FitsExactly(ClassId id, const MemberRecord* container, ShapeId shape);
  bool IsHidden(ClassId id) const {
    return hidden_ != kNo<TextId> && (table_.Family(id) == hidden_ ||
                                      table_.SectionOf(id).library == hidden_);
  }
  const LibraryVersion& version() const { return version_; }
  // Whether the comparison was stopped because the file is too large or
  // unusual.
  bool exhausted() const { return work_ > kMostWork; }

 private:
  // Real models need about 10^5 steps. This limit takes about 100 ms.
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
  // Whether such a module, and such a parameter, would be visible in the file.
  bool IsVisible(ClassId id) const;
  bool IsVisible(ClassId id, TextId parameter) const;
  double Expected(ClassId id, int depth);
  double Expected(const MemberRecord& member, VersionMask versions, int depth);
  // The versions that are compared: the newest, if the class has it. An older
  // version is only likely and must not exclude anything.
  VersionMask Judging(VersionMask own) const {
    return (own & version_.newest) != 0 && version_.likely == version_.newest
               ? version_.newest
               : own;
  }
  VersionMask VersionsOf(ClassId id) const {
    return Judging(table_[id].versions);
  }
  // The same, for versions that have the members of the module.
  VersionMask VersionsOf(std::span<const MemberRecord> members, VersionMask own,
                         const Shape& shape) const;
  // Whether the alternative is still present in the newest version, if the file
  // is recent.
  bool IsCurrent(const AlternativeRecord& alternative) const {
    return !version_.today || (alternative.versions & version_.newest) != 0;
  }
  // Whether a parameter or member exists in all configurations.
  template <typename Record>
  static bool IsRequired(const Record& record, VersionMask versions) {
    return record.optional == Optional::kNever &&
           (versions & ~record.versions) == 0;
  }

  const Table& table_;
  const Observation& observation_;
  const Shapes& shapes_;
  TextId hidden_;
  TextId weight_ = table_.FindText("weight");
  TextId bias_ = table_.FindText("bias");
  TextId parametrizations_ = table_.FindText(kParametrizations);
  LibraryVersion version_{table_, observation_.torch_version};
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
