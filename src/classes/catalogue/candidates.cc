// Chooses the classes to compare with a module.
#include <algorithm>

#include "classes/catalogue/matcher.h"

namespace onnx_tag::catalogue {

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

}  // namespace onnx_tag::catalogue
