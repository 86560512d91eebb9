#include "clues/recipes/align/replay.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include "base/lists.h"
#include "clues/recipes/tokens/program.h"

namespace onnx_tag::recipes {

namespace {

// The operations of an item, in order.
struct ItemOperations {
  std::vector<std::uint64_t> solid;
  std::size_t convolutions = 0;
  bool ended = false;  // another item has begun since
  bool torn = false;   // and this item continued after that
};

class Truster {
 public:
  Truster(const File& file, const std::vector<Step>& steps,
          const std::vector<std::optional<Path>>& paths, const PathSet& open)
      : file_(file), steps_(steps), paths_(paths), open_(open) {}

  PathSet Run() {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (paths_[i]) TrustNamed(i);
    }
    for (const auto& path : paths_) {
      if (path) TrustNumbered(*path);
    }
    CollectItems();
    for (const auto& [path, list] : lists_) {
      if (!Repeats(list)) continue;
      for (const auto& [index, item] : list.items) {
        trusted_.insert(Join(path, {index}));
      }
    }
    return std::move(trusted_);
  }

 private:
  struct List {
    std::map<Atom, ItemOperations> items;
    Atom current = kAnyIndex;
  };

  void TrustNamed(std::size_t step) {
    const Path& anchor = file_.anchors[steps_[step].token];
    const Path& path = *paths_[step];
    const std::size_t common = CommonLength(anchor, path);
    for (std::size_t k = 0; k < common; ++k) {
      if (!IsIndex(path[k])) continue;
      trusted_.insert(First(path, k + 1));
      const Path list = First(path, k);
      if (!open_.contains(Generic(list))) numbered_.insert(list);
    }
  }

  void TrustNumbered(const Path& path) {
    for (std::size_t k = 0; k < path.size(); ++k) {
      if (IsIndex(path[k]) && numbered_.contains(First(path, k))) {
        trusted_.insert(First(path, k + 1));
      }
    }
  }

  // Steps without a match belong to the item around them.
  void CollectItems() {
    const Path* last = nullptr;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (!steps_[i].solid) continue;
      if (paths_[i]) last = &*paths_[i];
      if (last != nullptr) Add(*last, steps_[i]);
    }
  }

  void Add(const Path& path, const Step& step) {
    for (std::size_t k = 0; k < path.size(); ++k) {
      if (!IsIndex(path[k])) continue;
      List& list = lists_[First(path, k)];
      if (list.current != path[k] && list.current != kAnyIndex) {
        list.items[list.current].ended = true;
      }
      list.current = path[k];
      ItemOperations& item = list.items[path[k]];
      item.torn = item.torn || item.ended;
      item.solid.push_back(step.label);
      item.convolutions += step.convolution || step.batch_norm;
    }
  }

  static bool Repeats(const List& list) {
    constexpr std::size_t kLeastSolid = 4;
    if (list.items.size() < 2) return false;
    const ItemOperations& first = list.items.begin()->second;
    std::uint32_t expected = 0;
    for (const auto& [index, item] : list.items) {
      if (IndexOf(index) != expected++ || item.torn ||
          item.solid != first.solid) {
        return false;
      }
    }
    // Blocks of convolutions are also similar across stages.
    return first.solid.size() >= kLeastSolid &&
           2 * first.convolutions <= first.solid.size() &&
           !IsRepetition(first.solid);
  }

  // Whether two layers were counted as one.
  static bool IsRepetition(const std::vector<std::uint64_t>& labels) {
    for (std::size_t period = 1; 2 * period <= labels.size(); ++period) {
      if (labels.size() % period == 0 &&
          std::equal(labels.begin() + static_cast<std::ptrdiff_t>(period),
                     labels.end(), labels.begin())) {
        return true;
      }
    }
    return false;
  }

  const File& file_;
  const std::vector<Step>& steps_;
  const std::vector<std::optional<Path>>& paths_;
  const PathSet& open_;
  std::map<Path, List> lists_;
  PathSet numbered_;  // lists with the numbers of the recipe
  PathSet trusted_;
};

}  // namespace

PathSet FindTrustedItems(const File& file, const std::vector<Step>& steps,
                         const std::vector<std::optional<Path>>& paths,
                         const PathSet& open) {
  return Truster(file, steps, paths, open).Run();
}

namespace {

// With this fit, the file counts as the same program as the recipe.
constexpr double kSameFit = 0.97;
// The share of solid operations that may differ before indices are doubted.
constexpr double kFewDifferences = 0.02;

class Replayer {
 public:
  Replayer(const File& file, const Match& match)
      : file_(file),
        candidate_(*match.candidate),
        program_(match.candidate->ProgramIn(match.order)),
        alignment_(match.alignment),
        steps_(file.StepsIn(match.order)),
        fit_(match.fit) {}

  Replayed Run() {
    replayed_.tokens.resize(file_.graph.tokens().size());
    paths_ = Decode(program_, alignment_);
    for (auto& path : paths_) {
      if (path) path = ToFile(candidate_, *path);
    }
    FindMerged();
    CorrectIndices();
    const bool doubtful = fit_ < kSameFit && !IsSameProgram();
    if (doubtful) {
      trusted_ = FindTrustedItems(file_, steps_, paths_, OpenLists());
    }
    for (std::size_t i = 0; i < steps_.size(); ++i) PlaceStep(i, doubtful);
    PlaceInstead();
    std::vector<TokenPair> aligned;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (match_[i] == kNone || !AnswerAt(i).path) continue;
      aligned.push_back({steps_[i].token, program_.steps[match_[i]].token});
    }
    WalkSides(file_, candidate_, aligned, replayed_);
    return std::move(replayed_);
  }

 private:
  Answer& AnswerAt(std::size_t step) {
    return replayed_.tokens[steps_[step].token];
  }
  const Path& AnchorAt(std::size_t step) const {
    return file_.anchors[steps_[step].token];
  }

  // Equal tensors of an untrained model are stored once, with the first name.
  // So the name says nothing about the index of an item that reads the tensor.
  void FindMerged() {
    std::unordered_map<Path, const Path*, PathHash> first;
    for (std::size_t i = 0; i < paths_.size(); ++i) {
      const Path& anchor = AnchorAt(i);
      if (!paths_[i] || anchor.empty() || !HasIndex(anchor)) continue;
      const Path* const other =
          first.try_emplace(anchor, &*paths_[i]).first->second;
      if (*other != *paths_[i] && Generic(*other) == Generic(*paths_[i]) &&
          Generic(anchor) == Generic(*other)) {
        merged_.insert(anchor);
      }
    }
  }

  // The index in parameter names takes precedence over the counted index.
  void CorrectIndices() {
    std::unordered_map<Path, Names, PathHash> names;
    for (std::size_t i = 0; i < paths_.size(); ++i) {
      const Path& anchor = AnchorAt(i);
      if (!paths_[i] || anchor.empty() || merged_.contains(anchor)) continue;
      // From the leaf up, while the names are equal.
      const Path& path = *paths_[i];
      for (std::size_t k = 0; k < std::min(path.size(), anchor.size()); ++k) {
        const Atom counted = path[path.size() - 1 - k];
        const Atom said = anchor[anchor.size() - 1 - k];
        if (IsIndex(counted) && IsIndex(said)) {
          names[First(path, path.size() - k)].said.push_back(
              {i, First(anchor, anchor.size() - k)});
        } else if (counted != said) {
          break;
        }
      }
    }
    if (names.empty()) return;
    for (auto& [counted, of] : names) DropStrays(of);
    disputed_.resize(paths_.size(), false);
    for (std::size_t i = 0; i < paths_.size(); ++i) {
      auto& path = paths_[i];
      if (!path) continue;
      for (std::size_t k = path->size(); k > 0; --k) {
        const auto at = names.find(First(*path, k));
        if (at == names.end()) continue;
        disputed_[i] = at->second.several;
        path = Join(NameAt(i, at->second.said), Rest(*path, k));
        break;
      }
    }
  }

  // What parameters call an item that was counted, by step.
  struct Said {
    std::size_t step;
    Path item;
  };
  struct Names {
    std::vector<Said> said;
    bool several = false;
  };

  // A recorded item that was called again may stand for several items of the
  // file. A few names of another item are those of equal tensors.
  static void DropStrays(Names& names) {
    constexpr std::size_t kStrays = 4;  // as many times fewer
    std::map<Path, std::size_t> counts;
    for (const Said& one : names.said) ++counts[one.item];
    if (counts.size() == 1) return;
    std::size_t most = 0;
    for (const auto& [item, count] : counts) most = std::max(most, count);
    std::erase_if(names.said, [&](const Said& one) {
      return kStrays * counts.at(one.item) <= most;
    });
    names.several = AnyIn(names.said, [&](const Said& one) {
      return one.item != names.said.front().item;
    });
  }

  // What the parameters around the step call its item. Between two names, the
  // recorded order decides.
  const Path& NameAt(std::size_t step, const std::vector<Said>& said) const {
    const auto after = std::lower_bound(
        said.begin(), said.end(), step,
        [](const Said& one, std::size_t at) { return one.step < at; });
    if (after == said.begin()) return after->item;
    const auto before = std::prev(after);
    const bool goes_on =
        after == said.end() || match_[step] > match_[before->step];
    return goes_on ? before->item : after->item;
  }

  // The lists that may repeat, as paths of the file.
  PathSet OpenLists() const {
    PathSet lists;
    for (const Jump& jump : program_.jumps) {
      if (!jump.counts) continue;
      const auto list = ToFile(candidate_, jump.list);
      if (list) lists.insert(Generic(*list));
    }
    return lists;
  }

  // Whether the file has the same solid operations as the recipe. If so, all
  // indices are trusted; else each item is checked.
  bool IsSameProgram() const {
    std::size_t solid = 0;
    std::size_t odd = 0;
    std::vector<bool> hit(program_.steps.size(), false);
    for (std::size_t i = alignment_.stretch.begin; i < alignment_.stretch.end;
         ++i) {
      if (match_[i] != kNone) hit[match_[i]] = true;
      if (!steps_[i].solid) continue;
      ++solid;
      odd += match_[i] == kNone;
    }
    const auto first = std::find(hit.begin(), hit.end(), true);
    const auto last = std::find(hit.rbegin(), hit.rend(), true).base();
    PathSet items;  // the items that occur in the file
    for (std::size_t j = 0; j < hit.size(); ++j) {
      if (hit[j]) AddItems(j, items);
    }
    // Skipped operations, unless a whole layer is skipped.
    for (auto at = first; at < last; ++at) {
      const auto j = static_cast<std::size_t>(at - hit.begin());
      const Step& step = program_.steps[j];
      if (*at || !step.solid || step.batch_norm || !IsInside(j, items))
        continue;
      // The first item may differ; this does not change any index.
      odd += !IsInFirstItems(j);
    }
    return static_cast<double>(odd) <=
           kFewDifferences * static_cast<double>(solid);
  }

  bool IsInFirstItems(std::size_t step) const {
    const Path* const path = program_.path[step];
    return path != nullptr && HasIndex(*path) &&
           std::all_of(path->begin(), path->end(), [](Atom atom) {
             return !IsIndex(atom) || IndexOf(atom) == 0;
           });
  }

  void AddItems(std::size_t step, PathSet& items) const {
    const Path* const path = program_.path[step];
    if (path == nullptr) return;
    for (std::size_t k = 0; k < path->size(); ++k) {
      if (IsIndex((*path)[k])) items.insert(First(*path, k + 1));
    }
  }

  bool IsInside(std::size_t step, const PathSet& items) const {
    const Path* const path = program_.path[step];
    if (path == nullptr) return true;
    for (std::size_t k = 0; k < path->size(); ++k) {
      if (IsIndex((*path)[k]) && !items.contains(First(*path, k + 1))) {
        return false;
      }
    }
    return true;
  }

  void PlaceStep(std::size_t i, bool doubtful) {
    if (!paths_[i]) return;
    Path path = *paths_[i];
    bool cut = doubtful && CutDoubtful(path);
    const Path& anchor = AnchorAt(i);
    if (!anchor.empty() && path != anchor && !merged_.contains(anchor)) {
      // If the module of the recorded parameter ran the recorded token, the
      // module of this parameter ran this token.
      const Path* const recorded = program_.anchor[match_[i]];
      if (Generic(path) == Generic(anchor) || recorded == nullptr ||
          (recorded == program_.path[match_[i]] && !IsTied(i))) {
        path = anchor;
        cut = false;
      }
    }
    const Recipe& recipe = candidate_.recipe;
    const RecordedToken& token = recipe.tokens[program_.steps[match_[i]].token];
    if (file_.old_activations && IsActivationModule(recipe, token.module) &&
        !path.empty()) {
      path.pop_back();
    }
    AnswerAt(i) = {
        std::move(path),
        IsFirm(i) && !IsDisputed(i) ? Confidence::kCertain : Confidence::kHigh,
        kRunsIt, cut};
  }

  // An embedding that shares its matrix with the head and has the head's name.
  bool IsTied(std::size_t i) const {
    if (!steps_[i].gather) return false;
    const auto anchor = ToRecipe(candidate_, AnchorAt(i));
    if (!anchor) return false;
    for (std::size_t j = 0; j < program_.steps.size(); ++j) {
      const Path* const path = program_.path[j];
      if (path != nullptr && *path == *anchor) return !program_.steps[j].gather;
    }
    return false;
  }

  // If an index was only counted, shortens the path to the owner of the list.
  bool CutDoubtful(Path& path) const {
    for (std::size_t k = 0; k < path.size(); ++k) {
      if (!IsIndex(path[k]) || trusted_.contains(First(path, k + 1))) continue;
      CutAtItem(k, path);
      return true;
    }
    return false;
  }

  // Whether the parameters give the counted item several names.
  bool IsDisputed(std::size_t i) const {
    return !disputed_.empty() && disputed_[i];
  }

  // Whether nearly all its neighbours are aligned, too.
  bool IsFirm(std::size_t i) const {
    constexpr std::size_t kAround = 3;
    const std::size_t begin = i < kAround ? 0 : i - kAround;
    const std::size_t end = std::min(match_.size(), i + kAround + 1);
    std::size_t aligned = 0;
    for (std::size_t j = begin; j < end; ++j) aligned += match_[j] != kNone;
    return aligned >= 2 * kAround || aligned == end - begin;
  }

  // Places tokens at the place of a different recorded operation: they belong
  // to the module of that operation.
  void PlaceInstead() {
    for (std::size_t i = 0; i < match_.size();) {
      if (match_[i] != kNone) {
        ++i;
        continue;
      }
      std::size_t end = i;
      while (end < match_.size() && match_[end] == kNone) ++end;
      if (i > 0 && end < match_.size()) PlaceRun(i, end);
      i = end;
    }
  }

  void PlaceRun(std::size_t begin, std::size_t end) {
    constexpr std::uint32_t kMostReplaced = 12;
    const std::uint32_t before = match_[begin - 1];
    const std::uint32_t after = match_[end];
    if (after <= before + 1 || after - before > kMostReplaced) return;
    const Path* replaced = nullptr;
    for (std::uint32_t j = before + 1; j < after; ++j) {
      const Path* const path = program_.path[j];
      if (path == nullptr) continue;
      if (replaced != nullptr && *replaced != *path) return;
      replaced = path;
    }
    const Path* const recorded = program_.path[before];
    const Answer placed = AnswerAt(begin - 1);
    if (replaced == nullptr || recorded == nullptr || !placed.path) return;
    auto answer = Relative(candidate_, *recorded, placed, *replaced);
    if (!answer) return;
    answer->confidence = Confidence::kMedium;
    answer->because = "runs another operation in its place";
    for (std::size_t i = begin; i < end; ++i) AnswerAt(i) = *answer;
  }

  const File& file_;
  const Candidate& candidate_;
  const Program& program_;
  const Alignment& alignment_;
  const std::vector<std::uint32_t>& match_ = alignment_.match;
  const std::vector<Step>& steps_;
  double fit_;
  std::vector<std::optional<Path>> paths_;
  PathSet merged_;              // names of parameters that several items share
  PathSet trusted_;             // items of lists
  std::vector<bool> disputed_;  // by step; empty: none
  Replayed replayed_;
};

}  // namespace

Replayed Replay(const File& file, const Match& match) {
  return Replayer(file, match).Run();
}

}  // namespace onnx_tag::recipes
