#include "mapping/classes/catalogue/assigner.h"

#include <algorithm>

#include "mapping/classes/catalogue/table.h"

namespace onnx_tag::catalogue {
namespace {

// The minimum lead over another family, in names.
constexpr double kDistinctNames = 3;
constexpr double kDistinctShare = 0.03;
// The minimum share of modules that have exactly the members of their class.
constexpr double kExactShare = 0.9;

}  // namespace

Assigner::Assigner(const Table& table, const Observation& observation,
                   const Shapes& shapes, Matcher& matcher)
    : table_(table),
      tree_(observation.modules),
      shapes_(shapes),
      matcher_(matcher),
      likely_versions_(LikelyVersions(table, observation.torch_version)) {}

std::vector<Below> Assigner::Subtree(ModuleId top) const {
  std::vector<Below> below;
  // A list that grows would take three times as much.
  if (top == ModuleTree::kRoot) below.reserve(tree_.size());
  below.push_back({top, 0, false});
  for (std::uint32_t i = 0; i < below.size(); ++i) {
    for (const ModuleId child : tree_.Children(below[i].id)) {
      below.push_back({child, i, false});
    }
    if (!tree_.Children(below[i].id).empty()) below.back().last = true;
  }
  return below;
}

Assignment Assigner::Assign(ClassId root, const std::vector<Below>& modules) {
  Assignment places(modules.size());
  Custom custom;
  custom.home = table_[root].section;
  custom.versions = likely_versions_;
  places[0].target = root;
  for (std::size_t i = 1; i < modules.size(); ++i) {
    const ModuleId id = modules[i].id;
    const Assigned& owner = places[modules[i].owner];
    if (owner.target == kNo<ClassId>) continue;
    const std::string_view atom = tree_.Atom(id);
    const Matcher::Found found = matcher_.FindMember(
        owner.container != nullptr ? table_.Members(*owner.container)
                                   : table_.Members(owner.target),
        table_.FindText(atom), IsIndex(atom));
    Assigned& place = places[i];
    const ShapeId shape = shapes_.Of(id);
    if (found.member == nullptr) {
      place.target = BestRecorded(shape);
      continue;
    }
    if (shape == kNo<ShapeId>) {
      // The usual class; used only by the mapping.
      if (found.member->alternative_count == 0) continue;
      const ClassId usual =
          matcher_.Usual(*found.member, likely_versions_).target;
      if (usual >= kFirstTable) continue;
      place = {usual, kNo<ClassId>, found.member};
    } else {
      custom.in_list = IsIndex(atom);
      custom.first = atom == "0";
      custom.last = modules[i].last;
      const Choice choice = matcher_.Best(found, shape, custom);
      place = {choice.target, choice.rival, choice.member};
      if (shapes_[shape].has_record &&
          (place.target == kNo<ClassId> ||
           table_[place.target].name != shapes_[shape].recorded)) {
        place = {BestRecorded(shape), kNo<ClassId>, nullptr};
      }
    }
    if (place.target == kNo<ClassId> ||
        table_.Kind(place.target) != LeafKind::kContainer) {
      place.container = nullptr;
    }
  }
  return places;
}

ClassId Assigner::BestRecorded(ShapeId shape) {
  ClassId best = kNo<ClassId>;
  if (shape == kNo<ShapeId> || !shapes_[shape].has_record) return best;
  for (const ClassId id : matcher_.Recorded(shapes_[shape])) {
    if (best == kNo<ClassId> ||
        matcher_.Score(id, shape) > matcher_.Score(best, shape)) {
      best = id;
    }
  }
  return best;
}

double Assigner::Explained(const std::vector<Below>& modules,
                           const Assignment& places) const {
  double explained = 0;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const ShapeId shape = shapes_.Of(modules[i].id);
    const ClassId target = places[i].target;
    if (shape == kNo<ShapeId> || target == kNo<ClassId>) continue;
    if (i > 0) ++explained;
    for (const TextId name : shapes_.Parameters(shapes_[shape])) {
      if (name != kNo<TextId> && matcher_.HasParameter(target, name)) {
        ++explained;
      }
    }
  }
  return explained;
}

bool Assigner::IsExact(const std::vector<Below>& modules,
                       const Assignment& places) {
  double exact = 0;
  double all = 0;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const ShapeId shape = shapes_.Of(modules[i].id);
    if (shape == kNo<ShapeId>) continue;
    if (places[i].target != kNo<ClassId> &&
        matcher_.IsExcluded(places[i].target, shapes_[shape])) {
      return false;
    }
    if (shapes_[shape].child_count == 0) continue;
    ++all;
    if (places[i].target != kNo<ClassId> &&
        matcher_.FitsExactly(places[i].target, places[i].container, shape)) {
      ++exact;
    }
  }
  return exact >= kExactShare * all;
}

bool Assigner::IsDistinct(const std::vector<Below>& modules,
                          const Assignment& places) {
  const TextId family = table_.Family(places[0].target);
  const double whole = shapes_[shapes_.Of(modules[0].id)].size;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const ClassId target = places[i].target;
    const ShapeId shape = shapes_.Of(modules[i].id);
    if (target == kNo<ClassId> || shape == kNo<ShapeId> ||
        shapes_[shape].size < kWholeShare * whole ||
        table_.Family(target) != family) {
      continue;
    }
    const double margin =
        std::max(kDistinctNames, kDistinctShare * shapes_[shape].size);
    const double own = matcher_.Score(target, shape);
    for (const ClassId id : matcher_.Candidates(shape)) {
      if (table_.Family(id) != family &&
          matcher_.Score(id, shape) > own - margin) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace onnx_tag::catalogue
