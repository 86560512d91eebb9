#include "classes/catalogue/matcher.h"

#include <algorithm>

#include "classes/catalogue/versions.h"

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
      weight_(table.FindText("weight")),
      bias_(table.FindText("bias")),
      parametrizations_(table.FindText(kParametrizations)),
      likely_versions_(LikelyVersions(table, observation.torch_version)),
      newest_(LikelyVersions(table, {})),
      today_(IsToday(observation.torch_version)),
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
    if (!std::binary_search(seen.begin(), seen.end(), parameter.name)) {
      if (IsRequired(parameter, versions)) score -= kMissing;
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
  const bool silent =
      kind == LeafKind::kNothing ||
      (kind == LeafKind::kContainer && table_.Name(target) != "Sequential");
  double score = observation_.scopes && shape.called && silent ? -kMatched : 0;
  if (kind == LeafKind::kContainer) {
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
    const std::span<const TextId> seen = shapes_.Parameters(shape);
    const auto differs = [&](TextId name, int bit) {
      const bool wanted = (alternative.own & bit) != 0;
      if (wanted && !IsVisible(target, name)) return false;
      return wanted != std::binary_search(seen.begin(), seen.end(), name);
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

}  // namespace onnx_tag::catalogue
