#include "recipes/align/trusted_items.h"

#include <algorithm>
#include <cstdint>
#include <map>

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

}  // namespace onnx_tag::recipes
