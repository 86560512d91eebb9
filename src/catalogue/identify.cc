#include "catalogue/identify.h"

#include <algorithm>

#include "catalogue/equals.h"
#include "catalogue/matcher.h"
#include "catalogue/versions.h"

namespace onnx_tag::catalogue {
namespace {

constexpr double kTie = 0.25;  // roots this close are equals
// Roots this close, as a share of the names, are worth mentioning where the
// best one misses something: what it misses may not be its own.
constexpr double kNearShare = 0.05;
constexpr double kPrefix = 0.75;
constexpr double kOutside = 1.5;
constexpr double kWholeShare = 0.6;  // of the names, below a wrapper's child
constexpr int kDeepestWrapper = 3;
constexpr std::size_t kMostEquals = 24;  // that are compared module by module
// A model is accepted when its names are explained, and are enough to prove
// something; what is missing only ranks (folded norms lose their names).
constexpr double kExplained = 0.95;
constexpr double kFewestNames = 30;
constexpr double kFewestNamesBelow = 12;
constexpr double kFewestNamesOfTorch = 3;  // in_proj_weight says enough
// Fewer prove nothing by themselves; a public model that they fit exactly is
// worth naming, with all its likes.
constexpr double kFewNames = 8;
constexpr double kAllExplained = 0.999;
// Less is enough where all that the root itself holds is there: a changed
// configuration added names that the catalogue has not seen.
constexpr double kLooselyExplained = 0.85;

// How far behind another family must be.
constexpr double kDistinctNames = 3;
constexpr double kDistinctShare = 0.03;
// How many of the modules must show what their class has, no more, no less.
constexpr double kExactShare = 0.9;

struct Ranked {
  double score = 0;
  ClassId root = kNo<ClassId>;
  ModuleId at = ModuleTree::kRoot;
};

struct Below {
  ModuleId id;
  std::size_t owner;  // index of its parent in the list
  bool last;          // of its parent's children
};

// What one root makes of a module.
struct Place {
  ClassId target = kNo<ClassId>;
  ClassId rival = kNo<ClassId>;
  const MemberRecord* container = nullptr;  // whose members are its own
};
using Assignment = std::vector<Place>;  // parallel to a list of modules

class Identifier {
 public:
  Identifier(const Table& table, const Observation& observation, TextId hidden)
      : table_(table),
        observation_(observation),
        tree_(observation.modules),
        shapes_(table, observation),
        matcher_(table, observation, shapes_, hidden),
        order_(table, observation),
        likely_versions_(LikelyVersions(table, observation.torch_version)) {
    result_.modules.resize(tree_.size());
    refused_.resize(shapes_.size(), false);
  }

  Identification Run() {
    Visit(ModuleTree::kRoot);
    return std::move(result_);
  }

 private:
  // `top` and what lies below it, owners first.
  std::vector<Below> Subtree(ModuleId top) const {
    std::vector<Below> below = {{top, 0, false}};
    for (std::size_t i = 0; i < below.size(); ++i) {
      for (const ModuleId child : tree_.Children(below[i].id)) {
        below.push_back({child, i, false});
      }
      if (!tree_.Children(below[i].id).empty()) below.back().last = true;
    }
    return below;
  }

  void Visit(ModuleId start) {
    std::vector<ModuleId> open = {start};
    while (!open.empty()) {
      const ModuleId at = open.back();
      open.pop_back();
      const ShapeId shape = shapes_.Of(at);
      if (shape == kNo<ShapeId> || matcher_.exhausted()) continue;
      const bool enough = shapes_[shape].size >= kFewestNamesOfTorch;
      if (enough && !refused_[shape]) {
        if (PlaceModel(at)) continue;
        refused_[shape] = true;
      }
      for (const ModuleId child : tree_.Children(at)) open.push_back(child);
    }
  }

  // Modules that may be the model itself: `top`, and what a wrapper around
  // nearly everything holds.
  std::vector<std::pair<ModuleId, int>> Anchors(ModuleId top) const {
    const double whole = shapes_[shapes_.Of(top)].size;
    std::vector<std::pair<ModuleId, int>> anchors = {{top, 0}};
    for (std::size_t i = 0; i < anchors.size(); ++i) {
      const auto [at, depth] = anchors[i];
      if (depth == kDeepestWrapper) break;
      for (const ModuleId child : tree_.Children(at)) {
        const ShapeId shape = shapes_.Of(child);
        if (shape != kNo<ShapeId> &&
            shapes_[shape].size >= kWholeShare * whole) {
          anchors.emplace_back(child, depth + 1);
        }
      }
    }
    return anchors;
  }

  // Any list looks like any other.
  bool HoldsOnlyIndices(ShapeId at) const {
    const Shape& shape = shapes_[at];
    const auto children = shapes_.Children(shape);
    return !shape.has_record && shape.parameter_count == 0 &&
           std::all_of(children.begin(), children.end(),
                       [](const ShapeChild& child) { return child.is_index; });
  }

  // Finds the class of `top`, or of what it wraps, and of all below it; false
  // where the catalogue does not explain it.
  bool PlaceModel(ModuleId top) {
    const double whole = shapes_[shapes_.Of(top)].size;
    double best = -1e9;
    ModuleId anchor = top;
    std::vector<Ranked> ranked;
    for (const auto& [at, depth] : Anchors(top)) {
      const ShapeId shape = shapes_.Of(at);
      if (HoldsOnlyIndices(shape)) continue;
      const double outside = whole - shapes_[shape].size - depth;
      for (const ClassId id : matcher_.Candidates(shape)) {
        if (table_.Kind(id) == LeafKind::kContainer) continue;
        const double score = matcher_.Score(id, shape) - kPrefix * depth -
                             kOutside * std::max(0.0, outside);
        if (score > best) {
          best = score;
          anchor = at;
        }
        ranked.push_back({score, id, at});
      }
    }
    const double window = std::max(kTie, kNearShare * whole);
    std::erase_if(ranked, [&](const Ranked& r) {
      return r.at != anchor || r.score < best - window;
    });
    if (ranked.empty()) return false;
    // Equals first, in the order of what else speaks for them; then those
    // that come near, by their score.
    std::sort(
        ranked.begin(), ranked.end(), [&](const Ranked& a, const Ranked& b) {
          const bool a_equal = a.score >= best - kTie;
          const bool b_equal = b.score >= best - kTie;
          if (a_equal != b_equal) return a_equal;
          if (!a_equal && a.score != b.score) return a.score > b.score;
          return order_.Key(a.root, a.score) > order_.Key(b.root, b.score);
        });
    const auto equal = [&](const Ranked& r) { return r.score >= best - kTie; };
    std::vector<ClassId> near;
    while (!equal(ranked.back())) {
      near.push_back(ranked.back().root);
      ranked.pop_back();
    }
    std::reverse(near.begin(), near.end());
    return Accept(top, anchor, ranked, near);
  }

  bool Accept(ModuleId top, ModuleId anchor, const std::vector<Ranked>& equals,
              const std::vector<ClassId>& near) {
    const std::vector<Below> modules = Subtree(anchor);
    std::vector<Assignment> assigned;
    for (const Ranked& equal : equals) {
      if (assigned.size() == kMostEquals) break;
      assigned.push_back(Assign(equal.root, modules));
    }
    const double explained = Explained(modules, assigned[0]);
    const double whole = shapes_[shapes_.Of(top)].size;
    const double share = explained / std::max(1.0, whole);
    if (top == ModuleTree::kRoot) {
      result_.nearest = table_.Name(equals[0].root);
      result_.explained = share;
    }
    if (!IsEnough(top, anchor, equals[0].root, share)) return false;
    // Without scopes half of the names are lost, and with them the proof.
    const bool firm = top == ModuleTree::kRoot && observation_.scopes &&
                      share >= kAllExplained && whole >= kFewestNames &&
                      IsExact(modules, assigned[0]) &&
                      IsDistinct(modules, assigned[0]);
    Write(modules, assigned, equals, firm);
    if (!IsExact(modules, assigned[0])) {
      ClassAnswer& answer = result_.modules[anchor];
      for (const ClassId other : near) AddCandidate(other, answer);
      if (!answer.candidates.empty()) {
        answer.belief = std::min(answer.belief, Belief::kMedium);
      }
    }
    if (result_.family_word.empty()) {
      result_.family_word = table_.Text(table_[equals[0].root].word);
    }
    return true;
  }

  bool IsEnough(ModuleId top, ModuleId anchor, ClassId best, double share) {
    const ShapeId shape = shapes_.Of(anchor);
    if (shapes_[shape].has_record) return true;
    const double names = shapes_[shapes_.Of(top)].size;
    if (share >= kExplained && names >= kFewestNames) return true;
    if (anchor != top || !matcher_.FitsExactly(best, nullptr, shape)) {
      return false;
    }
    if (top == ModuleTree::kRoot) {
      if (names >= kFewestNames) return share >= kLooselyExplained;
      return names >= kFewNames && share >= kAllExplained &&
             table_[best].mark == Mark::kListed;
    }
    return share >= kAllExplained && table_.IsTorch(best);
  }

  // Whether nearly every module shows what its class has, and no operator
  // speaks against a class.
  bool IsExact(const std::vector<Below>& modules, const Assignment& places) {
    double exact = 0;
    double all = 0;
    for (std::size_t i = 0; i < modules.size(); ++i) {
      const ShapeId shape = shapes_.Of(modules[i].id);
      if (shape == kNo<ShapeId>) continue;
      if (places[i].target != kNo<ClassId> &&
          Fit(table_.Kind(places[i].target), shapes_[shape].operators,
              observation_.scopes) < 0) {
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

  // Whether no other family comes near: neither for the whole nor for the
  // model within it (`bert` of a head's model). A family that has been copied
  // once may have been copied again, by one that nobody here has heard of.
  bool IsDistinct(const std::vector<Below>& modules, const Assignment& places) {
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

  Assignment Assign(ClassId root, const std::vector<Below>& modules) {
    Assignment places(modules.size());
    Custom custom;
    custom.home = table_[root].section;
    custom.versions = likely_versions_;
    places[0].target = root;
    for (std::size_t i = 1; i < modules.size(); ++i) {
      const ModuleId id = modules[i].id;
      const Place& owner = places[modules[i].owner];
      if (owner.target == kNo<ClassId>) continue;
      const std::string_view atom = tree_.Atom(id);
      const Matcher::Found found = matcher_.FindMember(
          owner.container != nullptr ? table_.Members(*owner.container)
                                     : table_.Members(owner.target),
          table_.FindText(atom), IsIndex(atom));
      Place& place = places[i];
      const ShapeId shape = shapes_.Of(id);
      if (found.member == nullptr) {
        place.target = BestRecorded(shape);
        continue;
      }
      if (shape == kNo<ShapeId>) {
        // Only considered by the mapping: the usual class.
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

  // The class that the file records for a module that no member explains.
  ClassId BestRecorded(ShapeId shape) {
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

  // How many names the assignment accounts for.
  double Explained(const std::vector<Below>& modules,
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

  // Classes that models of all families use: torch.nn, activations.
  bool IsOfNoFamily(ClassId id) const {
    return table_.IsTorch(id) ||
           table_.Text(table_[table_[id].section].module) ==
               "transformers.activations";
  }

  Belief Believe(const Place& place, ShapeId shape, const ClassAnswer& answer,
                 bool exact) const {
    if (!answer.candidates.empty()) return Belief::kMedium;
    if (shape == kNo<ShapeId>) return Belief::kMedium;
    const bool leaf = IsOfNoFamily(place.target) &&
                      Fit(table_.Kind(place.target), shapes_[shape].operators,
                          observation_.scopes) > 0 &&
                      !matcher_.IsSurprise(place.target, shapes_[shape]);
    if (leaf || exact) return Belief::kCertain;
    return Belief::kHigh;
  }

  void AddCandidate(ClassId other, ClassAnswer& answer) const {
    if (other == kNo<ClassId>) return;
    const std::string_view name = table_.Name(other);
    auto& candidates = answer.candidates;
    if (name != answer.name && candidates.size() < kMostCandidates &&
        std::find(candidates.begin(), candidates.end(), name) ==
            candidates.end()) {
      candidates.push_back(name);
    }
  }

  void Write(const std::vector<Below>& modules,
             const std::vector<Assignment>& assigned,
             const std::vector<Ranked>& equals, bool firm) {
    std::vector<bool> exact(modules.size());
    for (std::size_t i = 0; i < modules.size(); ++i) {
      const Place& first = assigned[0][i];
      if (first.target == kNo<ClassId>) continue;
      ClassAnswer& answer = result_.modules[modules[i].id];
      answer.name = table_.Name(first.target);
      const auto add = [&](ClassId other) { AddCandidate(other, answer); };
      if (i == 0) {
        for (const Ranked& equal : equals) add(equal.root);
      } else {
        for (const Assignment& other : assigned) {
          add(other[i].target);
        }
      }
      add(first.rival);
      const ShapeId shape = shapes_.Of(modules[i].id);
      exact[i] = shape != kNo<ShapeId> && (i == 0 || exact[modules[i].owner]) &&
                 matcher_.FitsExactly(first.target, first.container, shape);
      answer.belief = Believe(first, shape, answer, firm && exact[i]);
    }
  }

  const Table& table_;
  const Observation& observation_;
  const ModuleTree& tree_;
  Shapes shapes_;
  Matcher matcher_;
  EqualsOrder order_;
  VersionMask likely_versions_;
  IdVector<ShapeId, bool> refused_;
  Identification result_;
};

}  // namespace

Identification Identify(const Table& table, const Observation& observation,
                        std::string_view hidden) {
  const TextId family = hidden.empty() ? kNo<TextId> : table.FindText(hidden);
  return Identifier(table, observation, family).Run();
}

}  // namespace onnx_tag::catalogue
