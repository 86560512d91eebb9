// The names that a class would leave in this kind of file.
#include <algorithm>

#include "classes/catalogue/matcher.h"

namespace onnx_tag::catalogue {

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
  return observation_.scopes && LeavesNodes(kind) &&
         (kind != LeafKind::kBatchNorm || !observation_.batch_norms_folded) &&
         (kind != LeafKind::kEmbedding || !observation_.constants_folded);
}

bool Matcher::IsVisible(ClassId id, TextId parameter) const {
  const LeafKind kind = table_.Kind(id);
  // A convolution with a folded norm has a new weight without a name.
  if (observation_.batch_norms_folded &&
      (kind == LeafKind::kBatchNorm ||
       (kind == LeafKind::kConv && parameter == weight_))) {
    return false;
  }
  // Tied embeddings are one tensor with one of their names. The rows of fixed
  // positions are a constant.
  if (kind == LeafKind::kEmbedding &&
      (!observation_.scopes || observation_.constants_folded)) {
    return false;
  }
  if (!observation_.linear_weights_lost || parameter != weight_) return true;
  // GPT-2's Conv1D is a Linear that needs no transposition.
  return kind == LeafKind::kLinear ? table_.Name(id) == "Conv1D"
                                   : kind != LeafKind::kRmsNormPlusOne;
}

bool Matcher::HasParameter(ClassId id, TextId name) const {
  for (const ParameterRecord& parameter : table_.Parameters(id)) {
    if (parameter.name == name) return true;
  }
  return false;
}

bool Matcher::IsSurprise(ClassId id, const Shape& shape) const {
  const std::span<const TextId> seen = shapes_.Parameters(shape);
  return table_.Kind(id) == LeafKind::kLinear && !IsVisible(id, weight_) &&
         std::binary_search(seen.begin(), seen.end(), weight_);
}

bool Matcher::IsExcluded(ClassId id, const Shape& shape) const {
  // It multiplies tables, and looks nothing up.
  if (table_.Name(id).ends_with("RotaryEmbedding")) return false;
  return Fit(table_.Kind(id), shape.operators, observation_.scopes) < 0 ||
         IsTransposed(id, shape);
}

bool Matcher::IsTransposed(ClassId id, const Shape& shape) const {
  const std::span<const TextId> seen = shapes_.Parameters(shape);
  return table_.Name(id) == "Conv1D" && observation_.linear_weights_lost &&
         std::binary_search(seen.begin(), seen.end(), bias_) &&
         !std::binary_search(seen.begin(), seen.end(), weight_);
}

// Whether a member has parameters, so that it leaves traces in a file. A member
// without parameters may leave no node.
bool Matcher::IsSubstantial(const MemberRecord& member) const {
  const AlternativeRecord& first = Usual(member, likely_versions_);
  if (first.target >= kFirstTable) return false;
  const LeafKind kind = table_.Kind(first.target);
  if (kind == LeafKind::kContainer) return member.child_count > 0;
  if (kind == LeafKind::kBatchNorm || (first.own & ~kOwnSaid) != 0) {
    return kind != LeafKind::kBatchNorm;
  }
  return !table_.Members(first.target).empty() ||
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
        IsVisible(id, parameter.name) &&
        table_.Kind(id) != LeafKind::kBatchNorm &&
        !std::binary_search(seen.begin(), seen.end(), parameter.name)) {
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
  } else if (table_.Kind(first.target) == LeafKind::kContainer) {
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
