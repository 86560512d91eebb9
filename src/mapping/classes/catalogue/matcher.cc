#include "mapping/classes/catalogue/matcher.h"

#include <algorithm>

#include "mapping/classes/catalogue/table.h"

namespace onnx_tag::catalogue {
namespace {

// Tuned on models with known answers.
constexpr double kMatched = 1.0;
constexpr double kUnexpected = 1.5;
constexpr double kMissing = 0.3;
constexpr double kVariant = 0.5;
constexpr double kWrongRecord = 5.0;
constexpr double kMostMissing = 8.0;
constexpr double kVisibleWeight = 0.1;
// Deductions for alternatives that are possible but were never seen there, and
// for less frequent ones.
constexpr double kFromTable = 0.2;
constexpr double kAnyModelCost = 0.5;
constexpr double kOtherModelCost = 3.0;
constexpr double kFewestNamesOfModel = 20;
constexpr double kLessFrequent = 0.01;
constexpr double kMostLessFrequent = 0.05;
constexpr double kFallback = 0.1;  // deduction for an entry for all indices
constexpr double kRival = 0.1;     // with a smaller lead, neither is proven

std::uint64_t KeyOf(std::size_t a, ShapeId shape) {
  return static_cast<std::uint64_t>(a) << 32 | Index(shape);
}

}  // namespace

Matcher::Matcher(const Table& table, const Observation& observation,
                 const Shapes& shapes, TextId hidden)
    : table_(table),
      observation_(observation),
      shapes_(shapes),
      hidden_(hidden),
      expected_class_(table.class_count(), -1),
      expected_member_(table.member_count(), -1),
      hits_(table.class_count()) {}

Matcher::Found Matcher::FindMember(std::span<const MemberRecord> members,
                                   TextId name, bool is_index) const {
  const auto find = [&](TextId text) -> const MemberRecord* {
    const auto at =
        std::lower_bound(members.begin(), members.end(), text,
                         [](const MemberRecord& member, TextId wanted) {
                           return member.name < wanted;
                         });
    return at == members.end() || at->name != text ? nullptr : &*at;
  };
  Found found;
  if (name != kNo<TextId>) found.member = find(name);
  if (!is_index) return found;
  const MemberRecord* const any = find(Table::kAnyIndex);
  (found.member == nullptr ? found.member : found.fallback) = any;
  return found;
}

Choice Matcher::Best(const Found& found, ShapeId shape, const Custom& custom) {
  Choice best = Best(*found.member, shape, custom, 0);
  if (found.fallback == nullptr) return best;
  const Choice other = Best(*found.fallback, shape, custom, 0);
  return other.score - kFallback > best.score ? other : best;
}

double Matcher::Score(ClassId id, ShapeId at, int depth) {
  if (IsHidden(id) || depth > kDeepest || exhausted()) return kImpossible;
  const std::uint64_t key = KeyOf(Index(id), at);
  const auto known = scores_.find(key);
  if (known != scores_.end()) return known->second;
  ++work_;
  const Shape& shape = shapes_[at];
  const VersionMask versions =
      VersionsOf(table_.Members(id), table_[id].versions, shape);
  double score = ScoreParameters(id, shape, versions);
  if (shape.has_record) {
    score += table_[id].name == shape.recorded ? kMatched : -kWrongRecord;
  }
  const int fit = Fit(table_.Kind(id), shape.operators, observation_.scopes);
  score += fit > 0                              ? kMatched
           : fit < 0 || IsTransposed(id, shape) ? -kUnexpected
                                                : 0;
  score += ScoreMembers(table_.Members(id), versions, shape, depth);
  scores_.emplace(key, score);
  return score;
}

double Matcher::ScoreParameters(ClassId id, const Shape& shape,
                                VersionMask versions) {
  const std::span<const TextId> seen = shapes_.Parameters(shape);
  double score = 0;
  for (const TextId name : seen) {
    if (name == kNo<TextId> || !HasParameter(id, name)) {
      score -= kUnexpected;
    } else {
      score += kMatched;
    }
  }
  if (IsSurprise(id, shape)) score -= kVisibleWeight;
  for (const ParameterRecord& parameter : table_.Parameters(id)) {
    if (parameter.buffer || !IsVisible(id, parameter.name)) continue;
    if (IsRequired(parameter, versions) &&
        !shapes_.HasParameter(shape, parameter.name)) {
      score -= kMissing;
    }
  }
  return score;
}

double Matcher::ScoreMembers(std::span<const MemberRecord> members,
                             VersionMask versions, const Shape& shape,
                             int depth) {
  double score = 0;
  std::vector<bool> used(members.size());
  const auto score_child = [&](const ShapeChild& child) {
    const Found found = FindMember(members, child.name, child.is_index);
    if (found.member == nullptr) {
      return -kUnexpected * (1 + shapes_[child.shape].size);
    }
    used[static_cast<std::size_t>(found.member - members.data())] = true;
    double best = BestScore(*found.member, child.shape, depth);
    if (found.fallback != nullptr) {
      const double other = BestScore(*found.fallback, child.shape, depth);
      best = std::max(best, other - kFallback);
      used[static_cast<std::size_t>(found.fallback - members.data())] = true;
    }
    return kMatched + best;
  };
  // Equal children, the layers of a list, follow each other.
  const ShapeChild* before = nullptr;
  double of_child = 0;
  for (const ShapeChild& child : shapes_.Children(shape)) {
    if (before == nullptr || child != *before) of_child = score_child(child);
    before = &child;
    score += of_child;
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (used[i]) continue;
    if (IsRequired(members[i], versions)) {
      score -= kMissing * std::min(kMostMissing,
                                   Expected(members[i], versions, depth + 1));
    }
  }
  return score;
}

double Matcher::BestScore(const MemberRecord& member, ShapeId shape,
                          int depth) {
  const std::uint64_t key = KeyOf(Index(table_.IdOf(member)), shape);
  const auto known = best_.find(key);
  if (known != best_.end()) return known->second;
  ++work_;
  const double best = Best(member, shape, Custom(), depth + 1).score;
  best_.emplace(key, best);
  return best;
}

double Matcher::ScoreAlternative(const MemberRecord& member,
                                 const AlternativeRecord& alternative,
                                 ShapeId at, int depth) {
  const ClassId target = alternative.target;
  const Shape& shape = shapes_[at];
  const LeafKind kind = table_.Kind(target);
  // It is in a scope, so it is not an Identity, a Dropout or a list.
  const bool silent = Is(kind, Trait::kSilent);
  double score = observation_.scopes && shape.called && silent ? -kMatched : 0;
  if (Is(kind, Trait::kContainer)) {
    if (shape.has_record) {
      score += table_[target].name == shape.recorded ? kMatched : -kWrongRecord;
    }
    const VersionMask versions =
        VersionsOf(table_.Members(member), member.versions, shape);
    return score +
           ScoreMembers(table_.Members(member), versions, shape, depth) -
           kUnexpected * shape.parameter_count;
  }
  score += Score(target, at, depth);
  if (table_.Members(target).empty() && (alternative.own & kOwnSaid) != 0) {
    const auto differs = [&](TextId name, int bit) {
      const bool wanted = (alternative.own & bit) != 0;
      if (wanted && !IsVisible(target, name)) return false;
      return wanted != shapes_.HasParameter(shape, name);
    };
    if (differs(weight_, kOwnWeight)) score -= kVariant;
    if (differs(bias_, kOwnBias)) score -= kVariant;
  }
  return score;
}

int Matcher::Suits(const AlternativeRecord& alternative,
                   const Custom& custom) const {
  int suits = (alternative.usual & custom.versions) != 0      ? 2
              : (alternative.versions & custom.versions) != 0 ? 1
                                                              : 0;
  if (custom.in_list && alternative.place != Place::kAnywhere) {
    const bool there =
        alternative.place == Place::kFirst ? custom.first : custom.last;
    suits += there ? 3 : -3;
  }
  if (custom.home == kNo<SectionId>) return suits;
  const SectionRecord& home = table_[custom.home];
  const SectionRecord& section = table_.SectionOf(alternative.target);
  // torch.nn fits every family.
  if (section.family == home.family) {
    suits += 6;
  } else if (section.library == home.library ||
             table_.IsTorch(alternative.target)) {
    suits += 5;
  }
  return suits;
}

Choice Matcher::Best(const MemberRecord& member, ShapeId shape,
                     const Custom& custom, int depth) {
  Choice best;
  best.score = kImpossible;
  int best_suits = 0;
  bool best_current = false;
  const auto consider = [&](double score, const AlternativeRecord& what) {
    if (score <= kImpossible / 2) return;
    const int suits = Suits(what, custom);
    const bool near = score > best.score - kRival;
    if (best.target == kNo<ClassId> || score > best.score + kRival ||
        (near && suits > best_suits) ||
        (suits == best_suits && score > best.score + kEqual)) {
      const bool rival = best.target != kNo<ClassId> && best_current &&
                         score <= best.score + kRival &&
                         table_[best.target].name != table_[what.target].name;
      best_current = IsCurrent(what);
      best = {score, what.target, rival ? best.target : kNo<ClassId>, &member};
      best_suits = suits;
    } else if (near && best.rival == kNo<ClassId> && IsCurrent(what) &&
               table_[what.target].name != table_[best.target].name) {
      best.rival = what.target;
    }
  };
  double order = 0;
  for (const AlternativeRecord& alternative : table_.Alternatives(member)) {
    const double rarity = std::min(kLessFrequent * order++, kMostLessFrequent);
    if (alternative.target == kAnyModel) {
      const Choice any = BestModel(shape, depth);
      if (any.target != kNo<ClassId>) {
        consider(any.score - kAnyModelCost,
                 {any.target, alternative.versions, 0, 0, {}});
        if (best.target == any.target && best.rival == kNo<ClassId>) {
          best.rival = any.rival;
        }
      }
      continue;
    }
    if (alternative.target >= kFirstTable) {
      for (const AlternativeRecord& entry :
           table_.TableEntries(alternative.target)) {
        consider(ScoreAlternative(member, entry, shape, depth) - kFromTable,
                 entry);
      }
      continue;
    }
    consider(ScoreAlternative(member, alternative, shape, depth) - rarity,
             alternative);
  }
  // One model in place of another: a configuration that is not in the
  // catalogue.
  const double size = shapes_[shape].size;
  if (size >= kFewestNamesOfModel && best.score < 0 && MayBeModel(member)) {
    const Choice any = BestModel(shape, depth);
    if (any.target != kNo<ClassId> && any.score > size / 2) {
      consider(any.score - kOtherModelCost,
               {any.target, table_[any.target].versions, 0, 0, {}});
      if (best.target == any.target) best.rival = any.rival;
    }
  }
  if (best.target == kNo<ClassId>) best.score = -kUnexpected * size;
  return best;
}

// Chooses the classes to compare with a module.

bool Matcher::MayBeModel(const MemberRecord& member) const {
  for (const AlternativeRecord& alternative : table_.Alternatives(member)) {
    if (alternative.target < kFirstTable &&
        !table_.IsTorch(alternative.target)) {
      return true;
    }
  }
  return false;
}

// If the configuration chooses the class of the child, it can be any model.
Choice Matcher::BestModel(ShapeId shape, int depth) {
  const auto known = best_model_.find(static_cast<std::uint32_t>(shape));
  if (known != best_model_.end()) return known->second;
  Choice best;
  best.score = kImpossible;
  std::uint32_t best_rank = 0;
  const std::vector<ClassId> candidates = Candidates(shape);
  for (const ClassId id : candidates) {
    if (table_[id].mark == Mark::kNone) continue;
    const double score = Score(id, shape, depth);
    if (score <= kImpossible / 2) continue;
    const std::uint32_t given = table_.SectionOf(id).rank;
    const std::uint32_t rank = given == 0 ? 0xffffffff : given;
    if (best.target == kNo<ClassId> || score > best.score + kEqual) {
      best = {score, id, kNo<ClassId>, nullptr};
      best_rank = rank;
    } else if (score > best.score - kEqual) {
      if (rank < best_rank) {
        best = {score, id, best.target, nullptr};
        best_rank = rank;
      } else if (best.rival == kNo<ClassId>) {
        best.rival = id;
      }
    }
  }
  return best_model_.emplace(static_cast<std::uint32_t>(shape), best)
      .first->second;
}

// If the file records a class, there are no other candidates.
std::vector<ClassId> Matcher::Recorded(const Shape& shape) const {
  std::vector<ClassId> classes;
  if (shape.recorded == kNo<TextId>) return classes;
  for (const ClassId id : table_.Namesakes(shape.recorded)) {
    if (!IsHidden(id) && !table_.Members(id).empty()) classes.push_back(id);
  }
  return classes;
}

const std::vector<ClassId>& Matcher::Candidates(ShapeId at) {
  const auto known = candidates_.find(static_cast<std::uint32_t>(at));
  if (known != candidates_.end()) return known->second;
  const Shape& shape = shapes_[at];
  if (shape.has_record)
    return candidates_[static_cast<std::uint32_t>(at)] = Recorded(shape);
  std::vector<ClassId> touched;
  const auto add = [&](TextId name, double weight) {
    if (name == kNo<TextId>) return;
    for (const ClassId id : table_.Owners(name)) {
      if (hits_[Index(id)] == 0) touched.push_back(id);
      hits_[Index(id)] += static_cast<std::uint32_t>(weight);
    }
  };
  double in_lists = 0;
  for (const ShapeChild& child : shapes_.Children(shape)) {
    const double weight = 1 + std::min(shapes_[child.shape].size, 30.0);
    if (child.is_index) in_lists += weight;
    if (child.name != Table::kAnyIndex) add(child.name, weight);
  }
  if (in_lists > 0) add(Table::kAnyIndex, in_lists);
  TextId last = kNo<TextId>;
  for (const TextId name : shapes_.Parameters(shape)) {
    if (name != last) add(name, 1);
    last = name;
  }
  std::uint32_t most = 0;
  for (const ClassId id : touched) most = std::max(most, hits_[Index(id)]);
  std::vector<ClassId> candidates;
  for (const ClassId id : touched) {
    if (2 * hits_[Index(id)] >= most && !IsHidden(id)) candidates.push_back(id);
    hits_[Index(id)] = 0;
  }
  work_ += touched.size() / 16;
  std::sort(candidates.begin(), candidates.end());
  return candidates_
      .emplace(static_cast<std::uint32_t>(at), std::move(candidates))
      .first->second;
}

// The names that a class would leave in this kind of file.

// The most frequent alternative represents all alternatives.
const AlternativeRecord& Matcher::Usual(const MemberRecord& member,
                                        VersionMask versions) const {
  const auto alternatives = table_.Alternatives(member);
  const AlternativeRecord* usual = nullptr;
  for (const AlternativeRecord& alternative : alternatives) {
    if ((alternative.usual & versions) != 0) return alternative;
    if (usual == nullptr && (alternative.versions & versions) != 0) {
      usual = &alternative;
    }
  }
  return usual == nullptr ? alternatives[0] : *usual;
}

bool Matcher::IsVisible(ClassId id) const {
  const LeafKind kind = table_.Kind(id);
  return observation_.scopes && !Is(kind, Trait::kSilent) &&
         !Is(kind, Trait::kContainer) &&
         !(Is(kind, Trait::kFolded) && observation_.batch_norms_folded) &&
         !(Is(kind, Trait::kTable) && observation_.constants_folded);
}

bool Matcher::IsVisible(ClassId id, TextId parameter) const {
  const LeafKind kind = table_.Kind(id);
  if (observation_.batch_norms_folded &&
      (Is(kind, Trait::kFolded) ||
       (Is(kind, Trait::kConvolution) && parameter == weight_))) {
    return false;
  }
  // Tied embeddings are one tensor with one of their names. The rows of fixed
  // positions are a constant.
  if (Is(kind, Trait::kTable) &&
      (!observation_.scopes || observation_.constants_folded)) {
    return false;
  }
  return !observation_.linear_weights_lost || parameter != weight_ ||
         !(Is(kind, Trait::kTransposed) || Is(kind, Trait::kSummed));
}

bool Matcher::HasParameter(ClassId id, TextId name) const {
  for (const ParameterRecord& parameter : table_.Parameters(id)) {
    if (parameter.name == name) return true;
  }
  return false;
}

bool Matcher::IsSurprise(ClassId id, const Shape& shape) const {
  return Is(table_.Kind(id), Trait::kTransposed) && !IsVisible(id, weight_) &&
         shapes_.HasParameter(shape, weight_);
}

bool Matcher::IsExcluded(ClassId id, const Shape& shape) const {
  return Fit(table_.Kind(id), shape.operators, observation_.scopes) < 0 ||
         IsTransposed(id, shape);
}

bool Matcher::IsTransposed(ClassId id, const Shape& shape) const {
  return Is(table_.Kind(id), Trait::kAsIs) &&
         observation_.linear_weights_lost &&
         shapes_.HasParameter(shape, bias_) &&
         !shapes_.HasParameter(shape, weight_);
}

// Whether a member has parameters, so that it leaves traces in a file. A member
// without parameters may leave no node.
bool Matcher::IsSubstantial(const MemberRecord& member) const {
  const AlternativeRecord& first = Usual(member, version_.likely);
  if (first.target >= kFirstTable) return false;
  const LeafKind kind = table_.Kind(first.target);
  if (Is(kind, Trait::kContainer)) return member.child_count > 0;
  if (Is(kind, Trait::kFolded)) return false;
  return (first.own & ~kOwnSaid) != 0 ||
         !table_.Members(first.target).empty() ||
         !table_.Parameters(first.target).empty();
}

bool Matcher::FitsExactly(ClassId id, const MemberRecord* container,
                          ShapeId at) {
  const Shape& shape = shapes_[at];
  const std::span<const MemberRecord> members =
      container == nullptr ? table_.Members(id) : table_.Members(*container);
  const std::span<const TextId> seen = shapes_.Parameters(shape);
  const VersionMask versions = VersionsOf(
      members, container == nullptr ? table_[id].versions : container->versions,
      shape);
  for (const TextId name : seen) {
    if (name == kNo<TextId> || !HasParameter(id, name)) return false;
  }
  // Other parameters are often folded into constants, and a batch norm into the
  // preceding convolution.
  for (const ParameterRecord& parameter : table_.Parameters(id)) {
    if (IsRequired(parameter, versions) && !parameter.buffer &&
        (parameter.name == weight_ || parameter.name == bias_) &&
        IsVisible(id, parameter.name) && !Is(table_.Kind(id), Trait::kFolded) &&
        !shapes_.HasParameter(shape, parameter.name)) {
      return false;
    }
  }
  std::vector<bool> used(members.size());
  for (const ShapeChild& child : shapes_.Children(shape)) {
    const MemberRecord* const member =
        FindMember(members, child.name, child.is_index).member;
    if (member == nullptr) return false;
    used[static_cast<std::size_t>(member - members.data())] = true;
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (!used[i] && IsRequired(members[i], versions) &&
        Expected(members[i], versions, 0) >= 1 && IsSubstantial(members[i])) {
      return false;
    }
  }
  return true;
}

// The number of names that a class would leave.
double Matcher::Expected(ClassId id, int depth) {
  float& known = expected_class_[Index(id)];
  if (known >= 0 || depth > kDeepest) return std::max(known, 0.0F);
  known = 0;  // ends the recursion for a class that contains itself
  double expected = IsVisible(id) ? 1 : 0;
  for (const ParameterRecord& parameter : table_.Parameters(id)) {
    if (IsRequired(parameter, VersionsOf(id)) && !parameter.buffer &&
        IsVisible(id, parameter.name)) {
      ++expected;
    }
  }
  for (const MemberRecord& member : table_.Members(id)) {
    expected += Expected(member, VersionsOf(id), depth + 1);
  }
  expected_class_[Index(id)] = static_cast<float>(expected);
  return expected;
}

double Matcher::Expected(const MemberRecord& member, VersionMask versions,
                         int depth) {
  float& known = expected_member_[Index(table_.IdOf(member))];
  if (known >= 0) return known;
  known = 0;
  if (member.alternative_count == 0 || member.name == parametrizations_) {
    return 0;
  }
  double expected = 0;
  const AlternativeRecord& first = Usual(member, versions);
  if (first.target >= kFirstTable) {
    expected = observation_.scopes ? 1 : 0;
  } else if (Is(table_.Kind(first.target), Trait::kContainer)) {
    for (const MemberRecord& child : table_.Members(member)) {
      expected += Expected(child, versions, depth + 1);
    }
  } else if (table_.Members(first.target).empty() &&
             (first.own & kOwnSaid) != 0) {
    expected = IsVisible(first.target) ? 1 : 0;
    if ((first.own & kOwnWeight) != 0 && IsVisible(first.target, weight_)) {
      ++expected;
    }
    if ((first.own & kOwnBias) != 0 && IsVisible(first.target, bias_)) {
      ++expected;
    }
  } else {
    expected = Expected(first.target, depth + 1);
  }
  expected_member_[Index(table_.IdOf(member))] = static_cast<float>(expected);
  return expected;
}

VersionMask Matcher::VersionsOf(std::span<const MemberRecord> members,
                                VersionMask own, const Shape& shape) const {
  VersionMask seen = own;
  const ShapeChild* before = nullptr;
  for (const ShapeChild& child : shapes_.Children(shape)) {
    const bool again = before != nullptr && child == *before;
    before = &child;
    if (again) continue;
    const MemberRecord* const member =
        FindMember(members, child.name, child.is_index).member;
    if (member != nullptr && (seen & member->versions) != 0) {
      seen = seen & member->versions;
    }
  }
  return Judging(seen);
}

}  // namespace onnx_tag::catalogue
