#include "mapping/classes/catalogue/identify.h"

#include <algorithm>
#include <unordered_set>

#include "base/lists.h"
#include "mapping/classes/catalogue/equals.h"
#include "mapping/classes/catalogue/matcher.h"

namespace onnx_tag::catalogue {
namespace {

constexpr double kTie = 0.25;  // roots with a smaller difference are equal
// If the best root lacks some members, roots within this share of the names are
// listed as alternatives.
constexpr double kNearShare = 0.05;
constexpr double kPrefix = 0.75;
constexpr double kOutside = 1.5;
constexpr int kDeepestWrapper = 3;
constexpr std::size_t kMostEquals = 24;  // compared module by module
// A model is accepted if it explains its names and there are enough of them.
// Missing names only affect the order, because folded norms lose their names.
constexpr double kExplained = 0.95;
constexpr double kFewestNames = 30;
constexpr double kFewestNamesOfTorch = 3;  // in_proj_weight is distinctive
// Fewer names prove nothing. But if they fit a public model exactly, the model
// is given together with its alternatives.
constexpr double kFewNames = 8;
constexpr double kAllExplained = 0.999;
// A smaller share is enough if all members of the root exist. Then a changed
// configuration added names that are not in the catalogue.
constexpr double kLooselyExplained = 0.85;

// The least weight of names (WeightOf) that prove a family of a library.
// Measured: what plain networks share with a family weighs 0.0, the right
// families of the larger set weigh 1.7 and more.
constexpr double kDistinctive = 1.5;

// A module with at least this share of the names is the model inside a wrapper.
constexpr double kWholeShare = 0.6;
// The minimum lead over another family, in names.
constexpr double kDistinctNames = 3;
constexpr double kDistinctShare = 0.03;
// The minimum share of modules that have exactly the members of their class.
constexpr double kExactShare = 0.9;

struct Below {
  ModuleId id;
  std::uint32_t owner;  // index of its parent in the list
  bool last;            // of its parent's children
};

// The class of a module under one root class.
struct Assigned {
  ClassId target = kNo<ClassId>;
  ClassId rival = kNo<ClassId>;
  const MemberRecord* container = nullptr;  // the record with its members
  TextId name = kNo<TextId>;                // of the member; "*": any index
};
using Assignment = std::vector<Assigned>;  // parallel to a list of modules

// Assigns classes to the modules below a root class.
class Assigner {
 public:
  Assigner(const Table& table, const Observation& observation,
           const Shapes& shapes, Matcher& matcher)
      : table_(table),
        tree_(observation.modules),
        shapes_(shapes),
        matcher_(matcher) {}

  // `top` and all modules below it, parents first.
  std::vector<Below> Subtree(ModuleId top) const {
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

  // A class for each of `modules`, as far as `root` explains them.
  Assignment Assign(ClassId root, const std::vector<Below>& modules) {
    Assignment places(modules.size());
    Custom custom;
    custom.home = table_[root].section;
    custom.versions = matcher_.version().likely;
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
            matcher_.Usual(*found.member, matcher_.version().likely).target;
        if (usual >= kFirstTable) continue;
        place = {usual, kNo<ClassId>, found.member, found.member->name};
      } else {
        custom.in_list = IsIndex(atom);
        custom.first = atom == "0";
        custom.last = modules[i].last;
        const Choice choice = matcher_.Best(found, shape, custom);
        place = {choice.target, choice.rival, choice.member,
                 found.member->name};
        if (shapes_[shape].has_record &&
            (place.target == kNo<ClassId> ||
             table_[place.target].name != shapes_[shape].recorded)) {
          place = {BestRecorded(shape), kNo<ClassId>, nullptr, kNo<TextId>};
        }
      }
      if (place.target == kNo<ClassId> ||
          !Is(table_.Kind(place.target), Trait::kContainer)) {
        place.container = nullptr;
      }
    }
    return places;
  }

  // The number of names that the assignment explains.
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

  // How distinctive the names are that the classes of a library explain. A
  // name of twelve equal layers counts once.
  double Distinctive(const std::vector<Below>& modules,
                     const Assignment& places) const {
    std::unordered_set<std::uint64_t> counted;
    double sum = 0;
    const auto text = [&](TextId id) {
      return id == kNo<TextId> ? std::string_view() : table_.Text(id);
    };
    const auto count = [&](TextId owner, TextId name) {
      const std::uint64_t key =
          static_cast<std::uint64_t>(owner) << 32 | Index(name);
      if (counted.insert(key).second) sum += WeightOf(text(owner), text(name));
    };
    std::vector<bool> library(modules.size());  // the owner of its members is
    for (std::size_t i = 0; i < modules.size(); ++i) {
      const Assigned& place = places[i];
      const ShapeId shape = shapes_.Of(modules[i].id);
      if (place.target == kNo<ClassId>) continue;
      const Assigned& owner = places[modules[i].owner];
      const bool own = !table_.IsTorch(place.target);
      library[i] = place.container == nullptr ? own : library[modules[i].owner];
      if (shape == kNo<ShapeId>) continue;
      if (i > 0 && library[modules[i].owner] && place.name != kNo<TextId>)
        count(owner.name, place.name);
      if (!own) continue;
      for (const TextId name : shapes_.Parameters(shapes_[shape])) {
        if (name != kNo<TextId> && !matcher_.IsUsual(name) &&
            matcher_.HasParameter(place.target, name)) {
          count(place.name, name);
        }
      }
    }
    return sum;
  }

  // Whether nearly every module has exactly the members of its class, and no
  // operator contradicts a class.
  bool IsExact(const std::vector<Below>& modules, const Assignment& places) {
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

  // Whether no other family is similar, neither for the whole model nor for the
  // model inside it (`bert` in a model with a head). A family that was copied
  // once may have been copied again by a family that is not in the catalogue.
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

 private:
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

  const Table& table_;
  const ModuleTree& tree_;
  const Shapes& shapes_;
  Matcher& matcher_;
};

struct Ranked {
  double score = 0;
  ClassId root = kNo<ClassId>;
  ModuleId at = ModuleTree::kRoot;
};

class Identifier {
 public:
  Identifier(const Table& table, const Observation& observation, TextId hidden)
      : table_(table),
        observation_(observation),
        matcher_(table, observation, shapes_, hidden) {
    const OperatorSet convolution = SetOf(Op::kConv);
    for (const SeenModule& module : observation.seen) {
      convolves_ |= (module.operators & convolution) != 0;
    }
  }

  ClassAnswers Run() {
    Visit(ModuleTree::kRoot);
    result_.resize(tree_.size());
    return std::move(result_);
  }

 private:
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

  // The modules that may be the model itself: `top`, and the content of a
  // wrapper that has nearly all names.
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

  // All lists look the same.
  bool HoldsOnlyIndices(ShapeId at) const {
    const Shape& shape = shapes_[at];
    return !shape.has_record && shape.parameter_count == 0 &&
           AllIn(shapes_.Children(shape),
                 [](const ShapeChild& child) { return child.is_index; });
  }

  // Finds the class of `top`, or of the model it wraps, and of all modules
  // below. Returns false if the catalogue does not explain it.
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
        if (Is(table_.Kind(id), Trait::kContainer)) continue;
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
    // First the equal roots, ordered by other evidence; then the similar roots,
    // ordered by score.
    std::sort(ranked.begin(), ranked.end(),
              [&](const Ranked& a, const Ranked& b) {
                const bool a_equal = a.score >= best - kTie;
                const bool b_equal = b.score >= best - kTie;
                if (a_equal != b_equal) return a_equal;
                if (!a_equal && a.score != b.score) return a.score > b.score;
                return order_.Key(a.root, a.at, a.score) >
                       order_.Key(b.root, b.at, b.score);
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
    const std::vector<Below> modules = assigner_.Subtree(anchor);
    const Assignment best = assigner_.Assign(equals[0].root, modules);
    const double explained = assigner_.Explained(modules, best);
    const double whole = shapes_[shapes_.Of(top)].size;
    const double share = explained / std::max(1.0, whole);
    if (!IsEnough(top, anchor, equals[0].root, share)) return false;
    if (!table_.IsTorch(equals[0].root) &&
        !shapes_[shapes_.Of(anchor)].has_record &&
        assigner_.Distinctive(modules, best) < kDistinctive) {
      return false;
    }
    const bool exact = assigner_.IsExact(modules, best);
    Write(modules, best, equals, exact && IsProven(top, modules, best, share));
    if (!exact) {
      ClassAnswer& answer = result_[anchor];
      for (const ClassId other : near) AddCandidate(other, answer);
      if (!answer.candidates.empty()) {
        answer.confidence = Confidence::kLow;
      }
    }
    return true;
  }

  // Whether the classes of a family are proven if every module has the members
  // of its class. Anybody may write a model with the names of GPT-2 that is not
  // GPT-2. Without scopes half of the names are missing, so there is no proof.
  bool IsProven(ModuleId top, const std::vector<Below>& modules,
                const Assignment& best, double share) {
    return top == ModuleTree::kRoot && observation_.scopes &&
           share >= kAllExplained &&
           shapes_[shapes_.Of(top)].size >= kFewestNames &&
           assigner_.IsDistinct(modules, best);
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

  // Model libraries have their own norms (BatchNormAct2d, LayerNorm2d) with the
  // same names and operators as torch's norms. Only scopes show the difference.
  bool HasTwins(LeafKind kind) const {
    return !observation_.scopes && convolves_ && Is(kind, Trait::kNorm);
  }

  Confidence ConfidenceIn(const Assigned& place, ShapeId shape,
                          const ClassAnswer& answer, bool proven) const {
    // The first of several is right in four of five cases.
    if (!answer.candidates.empty()) return Confidence::kLow;
    if (shape == kNo<ShapeId>) return Confidence::kMedium;
    const bool leaf = table_.IsTorch(place.target) &&
                      Fit(table_.Kind(place.target), shapes_[shape].operators,
                          observation_.scopes) > 0 &&
                      !matcher_.IsSurprise(place.target, shapes_[shape]) &&
                      !HasTwins(table_.Kind(place.target));
    if (leaf || proven) return Confidence::kCertain;
    return table_.IsTorch(place.target) ? Confidence::kHigh
                                        : Confidence::kMedium;
  }

  void AddCandidate(ClassId other, ClassAnswer& answer) const {
    if (other == kNo<ClassId>) return;
    const std::string_view name = table_.Name(other);
    const auto known = answer.candidates.names();
    if (name != answer.name && known.size() < kMostCandidates &&
        !IsAmong(name, known)) {
      answer.candidates.Add(name);
    }
  }

  // The other equal roots are laid over the modules one after the other: with
  // a module for each of 10^6 nodes, one assignment takes 20 MB.
  void Write(const std::vector<Below>& modules, const Assignment& best,
             const std::vector<Ranked>& equals, bool proven) {
    // Not before: a model may be refused, and an answer for each of its
    // modules takes as much memory as all that led to it.
    result_.resize(tree_.size());
    for (std::size_t i = 0; i < modules.size(); ++i) {
      if (best[i].target == kNo<ClassId>) continue;
      const ShapeId shape = shapes_.Of(modules[i].id);
      if (shape != kNo<ShapeId> &&
          matcher_.IsExcluded(best[i].target, shapes_[shape])) {
        continue;
      }
      result_[modules[i].id].name = table_.Name(best[i].target);
    }
    for (const Ranked& equal : equals) {
      AddCandidate(equal.root, result_[modules[0].id]);
    }
    const std::size_t compared = std::min(equals.size(), kMostEquals);
    for (std::size_t k = 1; k < compared; ++k) {
      const Assignment other = assigner_.Assign(equals[k].root, modules);
      for (std::size_t i = 1; i < modules.size(); ++i) {
        if (!result_[modules[i].id].known()) continue;
        AddCandidate(other[i].target, result_[modules[i].id]);
      }
    }
    std::vector<bool> exact(modules.size());
    for (std::size_t i = 0; i < modules.size(); ++i) {
      const Assigned& first = best[i];
      ClassAnswer& answer = result_[modules[i].id];
      if (!answer.known()) continue;
      AddCandidate(first.rival, answer);
      const ShapeId shape = shapes_.Of(modules[i].id);
      exact[i] = shape != kNo<ShapeId> && (i == 0 || exact[modules[i].owner]) &&
                 matcher_.FitsExactly(first.target, first.container, shape);
      answer.confidence =
          ConfidenceIn(first, shape, answer, proven && exact[i]);
    }
  }

  const Table& table_;
  const Observation& observation_;
  const ModuleTree& tree_ = observation_.modules;
  Shapes shapes_{table_, observation_};
  Matcher matcher_;
  Assigner assigner_{table_, observation_, shapes_, matcher_};
  EqualsOrder order_{table_, observation_, matcher_.version()};
  IdVector<ShapeId, bool> refused_{shapes_.size()};
  bool convolves_ = false;
  ClassAnswers result_;
};

}  // namespace

ClassAnswers Identify(const Table& table, const Observation& observation,
                      std::string_view hidden) {
  const TextId family = hidden.empty() ? kNo<TextId> : table.FindText(hidden);
  return Identifier(table, observation, family).Run();
}

}  // namespace onnx_tag::catalogue
