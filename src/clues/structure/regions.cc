#include "clues/structure/regions.h"

#include <algorithm>

namespace onnx_tag::structure {
namespace {

// Heavy operators in a row that one block has at most, as a rule.
constexpr std::uint32_t kLongBlock = 5;
// More rounds than any network needs; the work stays linear.
constexpr int kMostRounds = 24;
constexpr double kTwinShare = 0.5;

}  // namespace

Regions::Regions(const Atoms& atoms) : atoms_(atoms) {
  FindTowers();
  Reopen();
  residual_sums_.assign(atoms.size() + 1, 0);
  for (std::uint32_t j = 0; j < atoms.size(); ++j) {
    bool hit = false;
    if (IsSum(j)) {
      for (const std::uint32_t q : atoms.ins(j)) {
        hit |= atoms.Heavies({q, j}) > (atoms.IsHeavyAt(q) ? 1u : 0u);
      }
    }
    residual_sums_[j + 1] = residual_sums_[j] + (hit ? 1 : 0);
  }
  TakeApart();
}

// A tower is a range that reads nothing made before it and has heavy operators
// in a row. A value that bridges a whole tower holds nothing together. Of the
// values that several concatenations read, only the first counts: features are
// accumulated there.
void Regions::FindTowers() {
  const std::uint32_t count = atoms_.size();
  std::vector<std::uint32_t> lowest(count);  // atom that this one depends on
  for (std::uint32_t i = 0; i < count; ++i) {
    lowest[i] = i;
    for (const std::uint32_t from : atoms_.ins(i)) {
      lowest[i] = std::min(lowest[i], lowest[from]);
    }
  }
  std::vector<std::uint32_t> end(count, count);  // where a tower would end
  std::vector<std::uint32_t> stack;
  for (std::uint32_t i = 0; i < count; ++i) {
    while (!stack.empty() && lowest[stack.back()] > lowest[i]) {
      end[stack.back()] = i;
      stack.pop_back();
    }
    stack.push_back(i);
  }
  // The least last atom of the towers that begin at an atom or behind it.
  std::vector<std::uint32_t> tower(count + 1, count + 1);
  for (std::uint32_t i = count; i-- > 0;) {
    tower[i] = tower[i + 1];
    if (i > 0 && atoms_.ins(i).empty() &&
        atoms_.Heavies({i, end[i] - 1}) >= 2) {
      tower[i] = std::min(tower[i], end[i] - 1);
    }
  }
  live_until_.resize(count);
  for (std::uint32_t q = 0; q < count; ++q) {
    live_until_[q] = q;
    bool accumulated = false;
    for (const std::uint32_t r : atoms_.outs(q)) {
      if (atoms_.FirstOp(r) == Op::kConcat) {
        if (accumulated) continue;
        accumulated = true;
      }
      if (tower[q + 1] >= r) live_until_[q] = r;
    }
  }
}

void Regions::Reopen() {
  open_.assign(atoms_.size(), -1);
  std::vector<std::uint32_t> live;
  for (std::uint32_t i = 0; i < atoms_.size(); ++i) {
    while (!live.empty() && live_until_[live.back()] <= i) live.pop_back();
    if (!live.empty()) open_[i] = live.back();
    if (live_until_[i] > i) live.push_back(i);
  }
}

std::vector<Range> Regions::Inside(Range range) const {
  std::vector<Range> result;
  std::uint32_t first = range.first;
  for (std::uint32_t i = range.first; i <= range.last; ++i) {
    if (i == range.last || open_[i] < static_cast<std::int64_t>(range.first)) {
      result.push_back({first, i});
      first = i + 1;
    }
  }
  return result;
}

bool Regions::IsSum(std::uint32_t atom) const {
  return atoms_.Kind(atom) == AtomKind::kJoin &&
         atoms_.FirstOp(atom) != Op::kConcat;
}

std::optional<std::uint32_t> Regions::JoinOf(Range range) const {
  constexpr std::uint32_t kFarthest = 4;
  for (std::uint32_t i = range.last + 1; i-- > range.first;) {
    if (range.last - i > kFarthest) break;
    const AtomKind kind = atoms_.Kind(i);
    if (kind == AtomKind::kJoin) return i;
    if (atoms_.TokenOf(i) != 0 && kind != AtomKind::kActivation &&
        kind != AtomKind::kNorm) {
      break;
    }
  }
  return std::nullopt;
}

bool Regions::IsResidual(Range range) const {
  const std::optional<std::uint32_t> join = JoinOf(range);
  if (!join || *join == range.first) return false;
  bool works = false;
  for (std::uint32_t i = range.first; i < *join && !works; ++i) {
    works = atoms_.IsHeavyAt(i) || atoms_.FirstOp(i) == Op::kAveragePool;
  }
  if (!works) return false;
  bool from_outside = false;
  for (const std::uint32_t q : atoms_.ins(*join)) {
    if (q >= range.first) continue;
    from_outside = true;
    for (const std::uint32_t r : atoms_.outs(q)) {
      if (r >= range.first && r < *join) return true;
    }
  }
  if (from_outside) return false;
  const auto ins = atoms_.ins(*join);
  return std::any_of(ins.begin(), ins.end(), [&](std::uint32_t q) {
    return IsShortCut(q, range, *join);
  });
}

// A chain with at most one heavy operator, from a value outside that is read
// again inside.
bool Regions::IsShortCut(std::uint32_t atom, Range range,
                         std::uint32_t join) const {
  std::uint32_t heavy = 0;
  for (int step = 0; step < 6; ++step) {
    if (atom < range.first) {
      std::uint32_t readers = 0;
      for (const std::uint32_t r : atoms_.outs(atom)) {
        readers += r >= range.first && r < join ? 1u : 0u;
      }
      return readers > 1;
    }
    heavy += atoms_.IsHeavyAt(atom) ? 1u : 0u;
    if (heavy > 1 || atoms_.ins(atom).size() != 1 ||
        atoms_.outs(atom).size() != 1) {
      return false;
    }
    atom = atoms_.ins(atom)[0];
  }
  return false;
}

std::uint32_t Regions::ResidualsInside(Range range) const {
  const std::optional<std::uint32_t> join = JoinOf(range);
  return residual_sums_[range.last + 1] - residual_sums_[range.first] -
         (join ? residual_sums_[*join + 1] - residual_sums_[*join] : 0);
}

Regions::Hold Regions::WhatHolds(Range range) const {
  if (atoms_.Heavies(range) < 2) return Hold::kBlock;
  // A skip over a lower resolution, or over a higher one.
  bool down = false;
  bool up = false;
  for (std::uint32_t i = range.first; i <= range.last; ++i) {
    down |= atoms_.Scale(i) < 0;
    up |= atoms_.Scale(i) > 0;
  }
  if (down && up) return Hold::kSkip;
  const std::uint32_t inside = ResidualsInside(range);
  const std::optional<std::uint32_t> join = JoinOf(range);
  if (join && IsSum(*join)) {
    // A block at the end of the region, and something else before it.
    for (const std::uint32_t q : atoms_.ins(*join)) {
      if (q < range.first || atoms_.outs(q).front() >= *join) continue;
      const std::uint32_t before = atoms_.Heavies({range.first, q});
      if (before >= 3 || (inside >= 1 && before > 0)) return Hold::kSkip;
    }
  }
  return inside >= 2 || (inside >= 1 && atoms_.Series(range) > kLongBlock)
             ? Hold::kLoose
             : Hold::kBlock;
}

void Regions::TakeApart() {
  for (int round = 0; round < kMostRounds && atoms_.size() > 0; ++round) {
    struct Loose {
      Range region;
      Hold hold;
      std::uint32_t class_of;
    };
    std::vector<Loose> loose;
    Classes classes;
    for (const Range region : Inside({0, atoms_.size() - 1})) {
      if (region.first == region.last || atoms_.Heavies(region) < 2) continue;
      const std::uint32_t class_of =
          classes.Add(0, atoms_.Bag(region), kTwinShare);
      const Hold hold = WhatHolds(region);
      if (hold != Hold::kBlock) loose.push_back({region, hold, class_of});
    }
    bool changed = false;
    for (const auto& [region, hold, class_of] : loose) {
      // Two regions that are much alike are blocks, whatever is inside.
      if (hold == Hold::kLoose && classes.Count(class_of) > 1) continue;
      changed |= Loosen(region);
    }
    if (!changed) return;
    Reopen();
  }
}

bool Regions::Loosen(Range range) {
  const std::uint32_t begin = range.first > 0 ? range.first - 1 : 0;
  const auto span = [&](std::uint32_t q) {
    return live_until_[q] > q + 1 ? std::min(live_until_[q], range.last) - q
                                  : 0;
  };
  // What ends in a sum is dropped only if nothing else is there to drop.
  const auto is_aside = [&](std::uint32_t q) { return !IsSum(live_until_[q]); };
  std::uint32_t longest = 0;
  bool aside = false;
  for (std::uint32_t q = begin; q < range.last; ++q) {
    if (span(q) == 0 || (aside && !is_aside(q))) continue;
    longest = !aside && is_aside(q) ? span(q) : std::max(longest, span(q));
    aside |= is_aside(q);
  }
  if (longest == 0) return false;
  for (std::uint32_t q = begin; q < range.last; ++q) {
    if (span(q) < longest || (aside && !is_aside(q))) continue;
    // Live up to the sum that closes a block, if there is one.
    std::uint32_t until = q;
    for (const std::uint32_t r : atoms_.outs(q)) {
      if (r < live_until_[q] && residual_sums_[r + 1] > residual_sums_[r]) {
        until = std::max(until, r);
      }
    }
    live_until_[q] = until;
  }
  return true;
}

}  // namespace onnx_tag::structure
