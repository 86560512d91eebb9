#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "clues/structure/units.h"

namespace onnx_tag::structure {
namespace {

constexpr std::size_t kLongestPeriod = 24;
constexpr std::uint32_t kFirstRunClass = 1u << 30;

using Words = std::vector<std::uint32_t>;

Words ClassesOf(const std::vector<Item>& items, std::size_t begin,
                std::size_t end) {
  Words words;
  for (std::size_t i = begin; i < end; ++i) {
    words.push_back(items[i].unit.class_of);
  }
  return words;
}

// Sums of a row of numbers or flags.
class Tally {
 public:
  template <typename Number>
  Tally(std::size_t size, Number number) : before_(size + 1, 0) {
    for (std::size_t i = 0; i < size; ++i) {
      before_[i + 1] = before_[i] + static_cast<std::uint32_t>(number(i));
    }
  }
  std::uint32_t In(std::size_t begin, std::size_t end) const {
    return before_[end] - before_[begin];
  }

 private:
  std::vector<std::uint32_t> before_;
};

std::vector<Item> Moved(std::vector<Item>& items, std::size_t begin,
                        std::size_t end) {
  return {std::make_move_iterator(items.begin() +
                                  static_cast<std::ptrdiff_t>(begin)),
          std::make_move_iterator(items.begin() +
                                  static_cast<std::ptrdiff_t>(end))};
}

void Append(std::vector<Item>& to, std::vector<Item> items) {
  std::move(items.begin(), items.end(), std::back_inserter(to));
}

class Repeats {
 public:
  explicit Repeats(const Units& units) : units_(units), atoms_(units.atoms()) {}

  std::vector<Item> Find(const std::vector<Unit>& units, Range range) {
    std::vector<Item> items;
    for (const Unit& unit : units) {
      // What only moves data does not tell blocks apart.
      if (unit.role != Role::kNeutral) items.emplace_back().unit = unit;
    }
    MarkTransitions(items);
    std::vector<Cover> covers = Periods(items, false);
    items = TakeSingles(Collapse(std::move(items), covers));
    // Layers in blocks.
    covers = Periods(items, true);
    items = Collapse(std::move(items), covers);
    const bool rigid = std::any_of(
        items.begin(), items.end(),
        [&](const Item& item) { return item.IsRun() && HasResidual(item); });
    items = WithoutPlain(std::move(items), rigid);
    for (const Item& item : items) LearnGaps(item, range);
    for (Item& item : items) {
      if (item.IsRun()) Settle(item, range);
    }
    return items;
  }

 private:
  // Copies begin at `begin` and, from `second` on, every `period` items.
  struct Cover {
    std::size_t begin = 0;
    std::size_t second = 0;
    std::size_t period = 0;
    std::size_t end = 0;
  };

  void MarkTransitions(std::vector<Item>& items) const {
    const auto adds_up = [&](const Item& item) {
      return units_.AddsUp(item.unit);
    };
    if (std::count_if(items.begin(), items.end(), adds_up) < 2) return;
    std::int64_t width = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const Unit& unit = items[i].unit;
      const std::int64_t after = units_.Width(unit.atoms);
      items[i].transition =
          !unit.residual && (units_.IsStrided(unit.atoms) ||
                             (after != 0 && width != 0 && after != width));
      if (after != 0) width = after;
    }
    for (std::size_t i = items.size(); i-- > 1;) {
      const Unit& before = items[i - 1].unit;
      if (items[i].transition && !before.residual &&
          (before.role == Role::kNorm || before.role == Role::kOther ||
           before.role == Role::kPool)) {
        items[i - 1].transition = true;
      }
    }
  }

  // A residual unit that is a block by itself, whatever its neighbours are.
  bool IsComplete(const Unit& unit) const {
    if (!units_.AddsUp(unit)) return false;
    if (unit.role == Role::kConv) return true;
    return unit.role == Role::kAttention &&
           units_.regions().ResidualsInside(unit.atoms) >= 1;
  }

  // A transition that puts neighbours together, as the first patch mergers did:
  // it closes its stage.
  bool Gathers(const std::vector<Item>& items, std::size_t begin,
               std::size_t end) const {
    for (std::size_t i = begin; i < end; ++i) {
      if (items[i].IsRun() || !items[i].transition) continue;
      const Range range = items[i].atoms();
      for (std::uint32_t p = range.first; p <= range.last; ++p) {
        if (atoms_.FirstOp(p) == Op::kConcat && atoms_.ins(p).size() >= 4) {
          return true;
        }
      }
    }
    return false;
  }

  std::vector<Cover> Periods(const std::vector<Item>& items, bool deep) const {
    const std::size_t n = items.size();
    if (n < 2) return {};
    const std::size_t longest = std::min(kLongestPeriod, n - 1);
    const auto unit = [&](std::size_t i) -> const Unit& {
      return items[i].unit;
    };
    // The first layer of a decoder may have learned queries, and nothing to
    // attend to itself: its attention is like any other.
    const auto is_like = [&](std::size_t i, std::size_t other) {
      if (!deep && unit(other).queries) return false;  // of another stack
      return unit(i).class_of == unit(other).class_of ||
             (!deep && unit(i).queries && unit(other).residual &&
              unit(other).role == Role::kAttention);
    };
    // equal[k][i]: how many items from i on are like the item k later.
    std::vector<std::vector<std::uint32_t>> equal(longest + 1);
    for (std::size_t k = 1; k <= longest; ++k) {
      equal[k].assign(n + 1, 0);
      for (std::size_t i = n - k; i-- > 0;) {
        if (is_like(i, i + k)) {
          equal[k][i] = equal[k][i + 1] + 1;
        }
      }
    }
    const Tally nodes(
        n, [&](std::size_t i) { return atoms_.NodesIn(items[i].atoms()); });
    const Tally works(
        n, [&](std::size_t i) { return atoms_.Heavies(items[i].atoms()) > 0; });
    const Tally runs(n, [&](std::size_t i) { return items[i].IsRun(); });
    const Tally transitions(n,
                            [&](std::size_t i) { return items[i].transition; });
    const Tally residuals(n, [&](std::size_t i) { return unit(i).residual; });
    // The shortest repeat of residual units that begins at an item.
    std::vector<std::size_t> inner(n, 0);
    for (std::size_t i = 0; i < n && !deep; ++i) {
      for (std::size_t j = 1; j <= longest / 2 && inner[i] == 0; ++j) {
        if (equal[j][i] >= j && residuals.In(i, i + j) > 0 &&
            (j > 1 || unit(i).role != Role::kAttention)) {
          inner[i] = j;
        }
      }
    }
    // Whether the period of k items from i on cannot be a block.
    const auto is_refused = [&](std::size_t i, std::size_t k) {
      const std::size_t end = std::min(i + k, n);
      if (deep) return runs.In(i, end) == 0;
      if (residuals.In(i, end) > 0 && transitions.In(i, end) > 0) return true;
      for (std::size_t s = i; s < end; ++s) {
        if (inner[s] != 0 && inner[s] <= k / 2 &&
            s + 2 * inner[s] <= i + 2 * k) {
          return true;  // it has a repeat of its own
        }
      }
      return false;
    };
    // No copy begins inside a transition.
    const auto is_torn = [&](std::size_t i) {
      return deep && i > 0 && i < n && items[i].transition &&
             items[i - 1].transition;
    };
    std::vector<std::size_t> complete(n + 1, 0);
    for (std::size_t i = n; i-- > 0 && !deep;) {
      if (!items[i].transition && IsComplete(unit(i))) {
        complete[i] = complete[i + 1] + 1;
      }
    }

    // From the right: the most nodes that repeats cover. A repeat costs as much
    // as one node, and so does a copy that is incomplete or torn.
    std::vector<std::int64_t> best(n + 1, 0);
    std::vector<Cover> pick(n);
    for (std::size_t i = n; i-- > 0;) {
      best[i] = best[i + 1];
      const auto offer = [&](int cost, std::size_t first, std::size_t period,
                             std::size_t end) {
        const std::int64_t gain =
            std::int64_t{nodes.In(i, end)} - cost + best[end];
        if (gain <= best[i]) return;
        best[i] = gain;
        pick[i] = {i, first, period, end};
      };
      if (complete[i] >= 3) {
        offer(1, i + 1, 1, i + complete[i]);
      }
      for (std::size_t k = 1; k <= longest; ++k) {
        const std::size_t same = equal[k][i];
        // Items that are all alike have no longer period.
        if (same == 0 || (k > 1 && equal[1][i] + 1 >= same + k)) continue;
        // With an incomplete first copy of s items, or without.
        for (std::size_t s = 0; s < k && s <= same; ++s) {
          const std::size_t full = i + s;
          const std::size_t second = s == 0 ? i + k : full;
          const bool may_be =
              s == 0 ? same >= k
              : deep ? runs.In(i, full) > 0 && 10 * nodes.In(i, full) >=
                                                   3 * nodes.In(full, full + k)
                     : unit(i).queries && s + 1 == k;
          if (!may_be || works.In(i, second) == 0 || is_refused(full, k)) {
            continue;
          }
          const std::size_t most = (same + k - s) / k;
          for (std::size_t count = most;
               count + 1 >= most && full + k * count > second; --count) {
            const std::size_t end = full + k * count;
            const bool torn = is_torn(end) || is_torn(second);
            offer(1 + (s > 0 ? 1 : 0) + (torn ? 1 : 0), second, k, end);
          }
        }
        if (!deep) continue;
        // An incomplete last copy, where the transition closes a stage.
        for (std::size_t s = 1; s < k && s <= same && items[i].IsRun(); ++s) {
          const std::size_t count = (same + k - s) / k;
          const std::size_t full = i + k * count;
          const std::size_t end = full + s;
          if (runs.In(full, end) == 0 || !Gathers(items, i, i + k)) continue;
          offer(1, i + k, k, end);
        }
      }
    }
    std::vector<Cover> covers;
    for (std::size_t i = 0; i < n;) {
      if (pick[i].end == 0) {
        ++i;
        continue;
      }
      Cover cover = pick[i];
      if (!deep && cover.period == 1) {
        cover.period = PeriodOfEqual(items, i, cover.end);
        cover.second = i + cover.period;
      }
      covers.push_back(cover);
      i = cover.end;
    }
    return covers;
  }

  // Units that are alike, but alternate: the two halves of a block.
  std::size_t PeriodOfEqual(const std::vector<Item>& items, std::size_t begin,
                            std::size_t end) const {
    const Unit& first = items[begin].unit;
    const std::size_t count = end - begin;
    if (count < 4 || !first.residual || first.role == Role::kConv) return 1;
    std::vector<Words> codes;
    for (std::size_t i = begin; i < end; ++i) {
      const Range range = items[i].atoms();
      codes.push_back(Codes(range.first, range.last, range));
    }
    for (const std::size_t period : {2u, 3u}) {
      if (count % period != 0) continue;
      bool repeats = true;
      bool differs = false;
      for (std::size_t i = 0; i + period < count; ++i) {
        repeats &= codes[i] == codes[i + period];
      }
      for (std::size_t i = 1; i < count; ++i) differs |= codes[i] != codes[0];
      if (repeats && differs) return period;
    }
    return 1;
  }

  std::uint32_t ClassOf(const std::vector<Item>& block) {
    const auto next =
        kFirstRunClass + static_cast<std::uint32_t>(classes_.size());
    return classes_.emplace(ClassesOf(block, 0, block.size()), next)
        .first->second;
  }

  Item MakeRun(std::vector<std::vector<Item>> copies) {
    Item run;
    run.unit = {.atoms = {copies.front().front().atoms().first,
                          copies.back().back().atoms().last},
                .role = Role::kRun,
                .residual = true,
                .class_of = ClassOf(copies.back())};
    run.copies = std::move(copies);
    return run;
  }

  std::vector<Item> Collapse(std::vector<Item> items,
                             const std::vector<Cover>& covers) {
    std::vector<Item> result;
    std::size_t i = 0;
    for (const Cover& cover : covers) {
      Append(result, Moved(items, i, cover.begin));
      std::vector<std::vector<Item>> copies;
      copies.push_back(Moved(items, cover.begin, cover.second));
      for (i = cover.second; i < cover.end; i += cover.period) {
        copies.push_back(
            Moved(items, i, std::min(i + cover.period, cover.end)));
      }
      result.push_back(MakeRun(std::move(copies)));
      i = cover.end;
    }
    Append(result, Moved(items, i, items.size()));
    return result;
  }

  // A block that is repeated elsewhere, or that stands between transitions like
  // others, is a run of one copy.
  std::vector<Item> TakeSingles(std::vector<Item> items) {
    constexpr std::size_t kMostKnown = 16;
    const std::size_t n = items.size();
    std::set<Words> known;
    std::map<Words, std::uint32_t> count;  // of what stands between transitions
    std::size_t first = n;
    std::size_t last = 0;
    bool has_run = false;
    for (std::size_t i = 0; i <= n && known.size() < kMostKnown; ++i) {
      if (i == n || items[i].transition) {
        if (first < n && !has_run) {
          const Words words = ClassesOf(items, first, last + 1);
          if (++count[words] == 2) known.insert(words);
        }
        first = n;
        has_run = false;
      } else if (items[i].IsRun()) {
        has_run = true;
        if (!HasResidual(items[i])) continue;
        known.insert(ClassesOf(items[i].copies.back(), 0,
                               items[i].copies.back().size()));
      } else if (units_.AddsUp(items[i].unit)) {
        first = std::min(first, i);
        last = i;
      }
    }
    const auto fits = [&](std::size_t begin, const Words& words) {
      for (std::size_t i = 0; i < words.size(); ++i, ++begin) {
        if (begin >= n || items[begin].transition ||
            items[begin].unit.class_of != words[i]) {
          return false;
        }
      }
      return true;
    };
    std::vector<Item> result;
    for (std::size_t i = 0; i < n;) {
      const auto words =
          std::find_if(known.begin(), known.end(),
                       [&](const Words& one) { return fits(i, one); });
      if (words == known.end()) {
        result.push_back(std::move(items[i++]));
        continue;
      }
      std::vector<std::vector<Item>> copies;
      copies.push_back(Moved(items, i, i + words->size()));
      result.push_back(MakeRun(std::move(copies)));
      i += words->size();
    }
    return result;
  }

  bool HasResidual(const Item& run) const {
    for (const std::vector<Item>& copy : run.copies) {
      for (const Item& item : copy) {
        if (item.IsRun() ? HasResidual(item) : item.unit.residual) return true;
      }
    }
    return false;
  }

  // A few convolutions or linear layers in a row are no list of blocks.
  // `rigid`: there are blocks with residual sums, too.
  std::vector<Item> WithoutPlain(std::vector<Item> items, bool rigid) const {
    std::vector<Item> result;
    for (Item& item : items) {
      bool plain = false;
      if (item.IsRun()) {
        const bool has_runs =
            std::any_of(item.copies.begin(), item.copies.end(), HasRuns);
        if (has_runs && rigid) {
          for (std::vector<Item>& copy : item.copies) {
            copy = WithoutPlain(std::move(copy), rigid);
          }
        } else if (!has_runs && !HasResidual(item)) {
          const std::size_t period = item.copies.back().size();
          const std::size_t copies = item.copies.size();
          const bool few = (period == 1 && copies < 5) ||
                           (period == 2 && copies < (rigid ? 3u : 5u));
          const std::size_t small = rigid ? 12 : 3 * period;
          plain = few && atoms_.NodesIn(item.atoms()) < small * copies;
        }
      }
      if (!plain) {
        result.push_back(std::move(item));
        continue;
      }
      for (std::vector<Item>& copy : item.copies)
        Append(result, std::move(copy));
    }
    return result;
  }

  // What the atoms of a range are, moves of data told apart, too; empty if the
  // range is not inside of `around`.
  Words Codes(std::int64_t first, std::int64_t last, Range around) const {
    constexpr std::uint32_t kMove = 1u << 28;
    Words codes;
    if (first < around.first || last > around.last) return codes;
    for (std::int64_t i = first; i <= last; ++i) {
      const auto atom = static_cast<std::uint32_t>(i);
      const Token token = atoms_.TokenOf(atom);
      codes.push_back(token != 0 ? token
                                 : kMove + static_cast<std::uint32_t>(
                                               atoms_.FirstOp(atom)));
    }
    return codes;
  }

  void LearnGaps(const Item& item, Range range) {
    for (const std::vector<Item>& copy : item.copies) {
      for (const Item& part : copy) LearnGaps(part, range);
    }
    if (item.copies.size() < 2) return;
    gaps_.emplace(
        item.unit.class_of,
        Codes(std::int64_t{item.copies[0].back().atoms().last} + 1,
              std::int64_t{item.copies[1].front().atoms().first} - 1, range));
  }

  // What only moves data between two copies belongs to the copy before it, or
  // to the copy behind it if the first copy is preceded by the same.
  void Settle(Item& run, Range range) {
    std::vector<Range>& ranges = run.ranges;
    for (std::vector<Item>& copy : run.copies) {
      for (Item& item : copy) {
        if (item.IsRun()) Settle(item, range);
      }
      ranges.push_back({copy.front().atoms().first, copy.back().atoms().last});
    }
    const Words gap = gaps_[run.unit.class_of];
    const auto length = static_cast<std::uint32_t>(gap.size());
    const std::int64_t begin = ranges[0].first;
    const std::int64_t end = ranges.back().last;
    const bool follows =
        length > 0 && Codes(end + 1, end + length, range) == gap;
    const bool precedes = length > 0 && ranges.size() > 1 && !follows &&
                          Codes(begin - length, begin - 1, range) == gap;
    if (precedes) ranges[0].first -= length;
    // A linear transition gathers what it needs; before a convolution, the
    // stage puts its values back into a picture.
    bool gathers = ranges.size() > 1 && run.copies[0].back().IsRun() &&
                   run.copies[1].front().transition;
    for (const Item& item : run.copies.back()) {
      gathers &=
          item.IsRun() || !item.transition || item.unit.role != Role::kConv;
    }
    for (std::size_t i = 1; i < ranges.size(); ++i) {
      if (precedes || gathers) {
        ranges[i].first = ranges[i - 1].last + 1;
      } else {
        ranges[i - 1].last = ranges[i].first - 1;
      }
    }
    if (follows && !gathers) ranges.back().last += length;
    run.unit.atoms = {ranges.front().first, ranges.back().last};
  }

  const Units& units_;
  const Atoms& atoms_;
  std::map<Words, std::uint32_t> classes_;  // of runs
  // What is between two copies, by the class of the run.
  std::map<std::uint32_t, Words> gaps_;
};

}  // namespace

std::vector<Item> FindRepeats(const Units& units, const std::vector<Unit>& row,
                              Range range) {
  return Repeats(units).Find(row, range);
}

}  // namespace onnx_tag::structure
