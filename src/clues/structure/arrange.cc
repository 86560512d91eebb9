#include "clues/structure/arrange.h"

#include <algorithm>
#include <map>
#include <optional>

namespace onnx_tag {

FoundId FoundTree::Child(FoundId parent, FoundKind kind, std::uint32_t number) {
  const std::uint64_t key =
      ((static_cast<std::uint64_t>(Index(parent)) + 1) << 40) ^
      (static_cast<std::uint64_t>(kind) << 32) ^ number;
  const auto [at, added] = children_.emplace(key, kNo<FoundId>);
  if (added) {
    at->second = structure_.modules_.Add(
        {.parent = parent, .kind = kind, .number = number});
  }
  return at->second;
}

namespace structure {
namespace {

// Blocks in blocks in blocks: what is deeper is not taken apart, so that the
// work stays linear.
constexpr int kDeepest = 8;

std::optional<FoundKind> LeafKind(AtomKind kind) {
  switch (kind) {
    case AtomKind::kLinear:
      return FoundKind::kLinear;
    case AtomKind::kPointwise:
    case AtomKind::kConv:
    case AtomKind::kDepthwise:
      return FoundKind::kConv;
    case AtomKind::kDeconv:
      return FoundKind::kDeconv;
    case AtomKind::kRecurrent:
      return FoundKind::kRecurrent;
    case AtomKind::kAttention:
      return FoundKind::kAttention;
    case AtomKind::kNorm:
      return FoundKind::kNorm;
    case AtomKind::kActivation:
      return FoundKind::kActivation;
    case AtomKind::kPool:
      return FoundKind::kPool;
    case AtomKind::kEmbedding:
      return FoundKind::kEmbedding;
    default:
      return std::nullopt;
  }
}

bool IsQuiet(const Unit& unit) {
  return unit.role == Role::kNeutral || unit.role == Role::kOther;
}

}  // namespace

void Arranger::Put(Range range, FoundId module) {
  std::fill(module_of_.begin() + range.first,
            module_of_.begin() + range.last + 1, module);
}

Arranger::UnitSpan Arranger::Within(UnitSpan units, Range range) {
  const auto first = std::lower_bound(
      units.begin(), units.end(), range.first,
      [](const Unit& unit, std::uint32_t at) { return unit.atoms.first < at; });
  auto last = first;
  last = std::upper_bound(
      first, units.end(), range.last,
      [](std::uint32_t at, const Unit& unit) { return at < unit.atoms.last; });
  return units.subspan(static_cast<std::size_t>(first - units.begin()),
                       static_cast<std::size_t>(last - first));
}

void Arranger::Arrange(FoundId parent) {
  if (atoms_.size() == 0) return;
  const Range all{0, atoms_.size() - 1};
  if (Solve(all, parent, parent == kNo<FoundId>)) return;
  Names names;
  Fill(all, parent, units_.Find(all), names);
}

bool Arranger::Solve(Range range, FoundId parent, bool top) {
  if (depth_ >= kDeepest) return false;
  ++depth_;
  const std::vector<Unit> units = units_.Classify(units_.Find(range));
  if (top && IsFlat(units)) {
    EmitFlat(range, parent, units);
    --depth_;
    return true;
  }
  Repeats repeats(units_);
  const std::vector<Item> items = repeats.Find(units, range);
  std::vector<const Item*> runs;
  for (const Item& item : items) {
    if (item.IsRun()) runs.push_back(&item);
  }
  const bool found = top || !runs.empty();
  if (found) {
    Put(range, parent);
    Names names;
    for (const Item* run : runs) EmitRun(*run, parent, names, units, false);
    std::uint32_t next = range.first;
    const auto fill_gap = [&](std::uint32_t end) {
      if (next >= end) return;
      const Range gap{next, end - 1};
      const UnitSpan inside = Within(units, gap);
      if (!top) {
        Fill(gap, parent, inside, names);
      } else if (runs.empty()) {
        FillBody(gap, parent, inside);
      } else if (gap.first == range.first) {
        FillNew(gap, parent, FoundKind::kStem, 0, inside);
      } else if (gap.last == range.last) {
        FillNew(gap, parent, FoundKind::kHead, 0, inside);
      } else {
        FillNew(gap, parent, FoundKind::kNeck, names.Next(FoundKind::kNeck),
                inside);
      }
    };
    for (const Item* run : runs) {
      fill_gap(run->atoms().first);
      next = run->atoms().last + 1;
    }
    fill_gap(range.last + 1);
  }
  --depth_;
  return found;
}

// Detectors whose blocks are branches with a convolution behind them (C2f, C3,
// ELAN) are written as one list of modules; its last one is the head.
bool Arranger::IsFlat(UnitSpan units) const {
  constexpr std::ptrdiff_t kFewest = 6;
  return std::count_if(units.begin(), units.end(),
                       [](const Unit& unit) { return unit.closed; }) >= kFewest;
}

void Arranger::EmitFlat(Range range, FoundId parent, UnitSpan units) {
  std::size_t head = units.size();
  while (!units[head - 1].closed) --head;
  const FoundId list = tree_.Child(parent, FoundKind::kBlocks, 0);
  Put(range, list);
  const bool has_head = head < units.size();
  const auto count = static_cast<std::uint32_t>(head + (has_head ? 1 : 0));
  const auto emit = [&](std::uint32_t number, Range part) {
    const FoundId copy = tree_.Child(list, FoundKind::kCopy, number);
    tree_[copy].copies = count;
    tree_[copy].like = CopyKind::kAlike;
    Names names;
    Fill(part, copy, Within(units, part), names);
    FillSiblings(part, copy, Within(units, part), names);
  };
  for (std::uint32_t i = 0; i < head; ++i) emit(i, units[i].atoms);
  if (has_head) emit(count - 1, {units[head].atoms.first, range.last});
}

void Arranger::FillNew(Range range, FoundId parent, FoundKind kind,
                       std::uint32_t number, UnitSpan units) {
  Names names;
  const FoundId module = tree_.Child(parent, kind, number);
  Fill(range, module, units, names);
  FillSiblings(range, module, units, names);
}

// Chains that are alike, side by side, that end in the same sum or
// concatenation, or all in outputs: the branches of a pyramid, heads.
void Arranger::FillSiblings(Range range, FoundId module, UnitSpan units,
                            Names& names) {
  constexpr double kAlike = 0.7;
  constexpr std::uint32_t kFewest = 3;  // nodes
  struct Chain {
    Range atoms;
    std::uint32_t end;  // what reads it; none: the atom behind the range
    bool whole = true;
  };
  std::vector<bool> taken(range.last - range.first + 1, false);
  for (const Unit& unit : units) {
    if ((!unit.residual || unit.closed) && unit.role != Role::kAttention) {
      continue;
    }
    for (std::uint32_t i = unit.atoms.first; i <= unit.atoms.last; ++i) {
      taken[i - range.first] = true;
    }
  }
  std::vector<Chain> chains;
  std::vector<std::size_t> of(taken.size(), chains.max_size());
  for (std::uint32_t i = range.first; i <= range.last; ++i) {
    if (taken[i - range.first]) continue;
    const auto ins = atoms_.ins(i);
    const std::uint32_t from = ins.size() == 1 ? ins[0] : i;
    const std::size_t chain =
        from < i && from >= range.first && atoms_.outs(from).size() == 1
            ? of[from - range.first]
            : chains.max_size();
    if (chain == chains.max_size()) {
      if (ins.size() > 1 || atoms_.Kind(i) == AtomKind::kJoin) continue;
      of[i - range.first] = chains.size();
      chains.push_back({{i, i}, i});
      continue;
    }
    Chain& grown = chains[chain];
    grown.whole &= grown.atoms.last + 1 == i;
    grown.atoms.last = i;
    of[i - range.first] = chain;
  }
  std::map<std::uint32_t, std::vector<Range>> groups;  // by end
  for (Chain& chain : chains) {
    const auto outs = atoms_.outs(chain.atoms.last);
    if (!chain.whole || outs.size() > 1) continue;
    const std::uint32_t end = outs.empty() ? range.last + 1 : outs[0];
    if (end <= range.last && atoms_.ins(end).size() < 2) continue;
    while (chain.atoms.last > chain.atoms.first &&
           (atoms_.Kind(chain.atoms.last) == AtomKind::kNeutral ||
            atoms_.Kind(chain.atoms.last) == AtomKind::kPool)) {
      --chain.atoms.last;
    }
    if (atoms_.Heavies(chain.atoms) > 0 &&
        atoms_.NodesIn(chain.atoms) >= kFewest) {
      groups[end].push_back(chain.atoms);
    }
  }
  for (const auto& [end, ranges] : groups) {
    const Bag first(atoms_, ranges.front());
    std::vector<Range> alike;
    for (const Range other : ranges) {
      if (Bag(atoms_, other).IsLike(first, kAlike)) alike.push_back(other);
    }
    if (alike.size() < 2) continue;
    FillCopies(alike, 0, New(module, names, FoundKind::kBranch));
  }
}

// The last `own` atoms of a copy are in none of its parts.
void Arranger::FillCopies(const std::vector<Range>& copies, std::uint32_t own,
                          FoundId list) {
  for (std::uint32_t i = 0; i < copies.size(); ++i) {
    const FoundId copy = tree_.Child(list, FoundKind::kCopy, i);
    tree_[copy].copies = static_cast<std::uint32_t>(copies.size());
    tree_[copy].like = Compare(copies[0], copies[i]);
    Put(copies[i], copy);
    Names below;
    for (const Unit& part :
         units_.Find({copies[i].first, copies[i].last - own})) {
      FillLeaf(part, copy, below);
    }
  }
}

// Nothing is repeated: convolutions are features, linear layers behind them a
// head; if pictures become smaller and larger again, an encoder and a decoder.
void Arranger::FillBody(Range range, FoundId parent, UnitSpan units) {
  std::optional<std::uint32_t> last_conv;
  for (const Unit& unit : units) {
    if (unit.role == Role::kConv) last_conv = unit.atoms.last;
  }
  std::optional<std::uint32_t> first_linear;
  bool only_pictures = true;
  for (const Unit& unit : units) {
    if (unit.role == Role::kLinear && last_conv &&
        unit.atoms.first > *last_conv && !first_linear) {
      first_linear = unit.atoms.first;
    }
    if (last_conv && unit.atoms.last <= *last_conv) {
      only_pictures &= unit.role <= Role::kNorm || unit.role == Role::kConv;
    }
  }
  std::optional<std::uint32_t> up;
  for (std::uint32_t i = range.first; i <= range.last && !up; ++i) {
    if (atoms_.Scale(i) > 0) up = i;
  }
  if (up && *up > range.first && !first_linear &&
      atoms_.Heavies({range.first, *up - 1}) > 0) {
    std::uint32_t cut = range.first;
    for (const Unit& unit : units) {
      if (unit.atoms.last >= *up) {
        cut = unit.atoms.first;
        break;
      }
    }
    if (cut > range.first) {
      const Range down{range.first, cut - 1};
      FillNew(down, parent, FoundKind::kEncoder, 0, Within(units, down));
    }
    const Range rest{cut, range.last};
    FillNew(rest, parent, FoundKind::kDecoder, 0, Within(units, rest));
    return;
  }
  if (!last_conv || !first_linear || !only_pictures) {
    FillNew(range, parent, FoundKind::kBody, 0, units);
    return;
  }
  for (const Unit& unit : units) {  // the pool of the last convolutions
    if (unit.atoms.first == *last_conv + 1 && unit.role == Role::kPool &&
        atoms_.Kind(unit.atoms.first) == AtomKind::kPool &&
        atoms_.FirstOp(unit.atoms.first) != Op::kGlobalAveragePool &&
        atoms_.FirstOp(unit.atoms.first) != Op::kGlobalMaxPool) {
      last_conv = unit.atoms.last;
    }
  }
  const Range features{range.first, *last_conv};
  FillNew(features, parent, FoundKind::kFeatures, 0, Within(units, features));
  if (*last_conv + 1 < *first_linear) {
    const Range neck{*last_conv + 1, *first_linear - 1};
    FillNew(neck, parent, FoundKind::kNeck, 0, Within(units, neck));
  }
  const Range head{*first_linear, range.last};
  FillNew(head, parent, FoundKind::kHead, 0, Within(units, head));
}

// Two copies that are equal, then two that are equal to each other only: the
// same blocks with another expansion.
bool Arranger::IsNewKind(const Item& run, std::size_t copy) const {
  if (copy < 2 || copy + 1 >= run.ranges.size()) return false;
  const auto like = [&](std::size_t a) {
    return Compare(run.ranges[a], run.ranges[a + 1]);
  };
  return like(copy - 2) == CopyKind::kEqual &&
         like(copy - 1) == CopyKind::kOtherWidth &&
         like(copy) == CopyKind::kEqual;
}

std::vector<std::size_t> Arranger::Stages(const Item& run) const {
  bool attention = false;
  for (const Item& item : run.copies.back()) {
    attention |= item.unit.role == Role::kAttention;
  }
  std::vector<std::size_t> begins = {0};
  for (std::size_t i = 1; i < run.ranges.size(); ++i) {
    const std::int64_t before = units_.Width(run.ranges[i - 1]);
    const std::int64_t width = units_.Width(run.ranges[i]);
    const bool known = before != 0 && width != 0;
    const bool begins_here = attention ? known && width != before
                                       : units_.IsStrided(run.ranges[i]) ||
                                             (known && width > before) ||
                                             IsNewKind(run, i);
    if (begins_here) begins.push_back(i);
  }
  return begins;
}

void Arranger::EmitRun(const Item& run, FoundId parent, Names& names,
                       UnitSpan units, bool inside) {
  bool has_runs = false;
  bool has_transition = false;
  bool attention = false;
  for (const std::vector<Item>& copy : run.copies) {
    for (const Item& item : copy) {
      has_runs |= item.IsRun();
      has_transition |= item.transition;
    }
  }
  for (const Item& item : run.copies.back()) {
    attention |= item.unit.role == Role::kAttention;
  }
  const bool staged = has_runs && has_transition;
  const FoundId list = New(parent, names,
                           staged      ? FoundKind::kStage
                           : attention ? FoundKind::kLayers
                                       : FoundKind::kBlocks);
  const auto copies = static_cast<std::uint32_t>(run.copies.size());
  const auto emit = [&](std::size_t i, FoundId copy, std::uint32_t count) {
    tree_[copy].copies = count;
    tree_[copy].like = Compare(run.ranges[0], run.ranges[i]);
    EmitCopy(run, i, copy, units);
  };
  if (!staged && !inside) {
    const std::vector<std::size_t> begins = Stages(run);
    if (begins.size() > 1 && copies > begins.size()) {
      for (std::size_t s = 0; s < begins.size(); ++s) {
        const std::size_t end =
            s + 1 < begins.size() ? begins[s + 1] : run.copies.size();
        const FoundId stage =
            tree_.Child(list, FoundKind::kCopy, static_cast<std::uint32_t>(s));
        tree_[stage].copies = static_cast<std::uint32_t>(begins.size());
        tree_[stage].like = CopyKind::kAlike;
        const FoundId blocks = tree_.Child(stage, FoundKind::kBlock, 0);
        for (std::size_t i = begins[s]; i < end; ++i) {
          emit(i,
               tree_.Child(blocks, FoundKind::kCopy,
                           static_cast<std::uint32_t>(i - begins[s])),
               static_cast<std::uint32_t>(end - begins[s]));
        }
      }
      return;
    }
  }
  const bool towers = parent == kNo<FoundId> && copies > 1 &&
                      std::all_of(run.ranges.begin() + 1, run.ranges.end(),
                                  [&](Range range) { return IsFresh(range); });
  // Copies with the same weights are one module that is called again.
  std::map<std::vector<ValueId>, std::uint32_t> numbers;
  std::uint32_t next = 0;
  for (std::size_t i = 0; i < run.copies.size(); ++i) {
    const std::vector<ValueId> weights = WeightsOf(run.ranges[i]);
    std::uint32_t number = next;
    if (!weights.empty()) number = numbers.emplace(weights, next).first->second;
    if (number == next) ++next;
    emit(i,
         towers ? tree_.Child(parent, FoundKind::kTower,
                              number == 0 ? 0 : number + 1)
                : tree_.Child(list, FoundKind::kCopy, number),
         copies);
  }
}

bool Arranger::IsFresh(Range range) const {
  for (std::uint32_t i = range.first; i <= range.last; ++i) {
    for (const std::uint32_t q : atoms_.ins(i)) {
      if (q < range.first && atoms_.Depth(q) > 0) return false;
    }
  }
  return true;
}

std::vector<ValueId> Arranger::WeightsOf(Range range) const {
  std::vector<ValueId> weights;
  for (std::uint32_t i = range.first; i <= range.last; ++i) {
    if (atoms_.IsHeavyAt(i) && atoms_.WeightOf(i) != kNo<ValueId>) {
      weights.push_back(atoms_.WeightOf(i));
    }
  }
  return weights;
}

CopyKind Arranger::Compare(Range first, Range copy) const {
  if (copy.last - copy.first != first.last - first.first) {
    return CopyKind::kAlike;
  }
  bool other_width = false;
  for (std::uint32_t i = 0; i <= copy.last - copy.first; ++i) {
    const std::uint32_t a = first.first + i;
    const std::uint32_t b = copy.first + i;
    if (atoms_.Kind(a) != atoms_.Kind(b) ||
        atoms_.TokenOf(a) != atoms_.TokenOf(b) ||
        atoms_.NodesIn({a, a}) != atoms_.NodesIn({b, b})) {
      return CopyKind::kAlike;
    }
    other_width |= atoms_.Width(a) != atoms_.Width(b);
  }
  return other_width ? CopyKind::kOtherWidth : CopyKind::kEqual;
}

void Arranger::EmitCopy(const Item& run, std::size_t copy, FoundId module,
                        UnitSpan units) {
  const Range range = run.ranges[copy];
  Put(range, module);
  Names names;
  std::vector<const Item*> runs;
  std::vector<Unit> own;
  for (const Item& item : run.copies[copy]) {
    if (item.IsRun()) {
      runs.push_back(&item);
    } else {
      own.push_back(item.unit);
    }
  }
  if (runs.empty()) {
    Fill(range, module, own, names);
    return;
  }
  std::uint32_t next = range.first;
  for (const Item* inner : runs) {
    if (inner->atoms().first > next) {
      FillGap({next, inner->atoms().first - 1}, module, units, names,
              FoundKind::kDownsample);
    }
    next = inner->atoms().last + 1;
  }
  if (next <= range.last) {
    FillGap({next, range.last}, module, units, names, FoundKind::kAfter);
  }
  for (const Item* inner : runs) EmitRun(*inner, module, names, units, true);
}

void Arranger::FillGap(Range range, FoundId module, UnitSpan units,
                       Names& names, FoundKind kind) {
  const UnitSpan inside = Within(units, range);
  if (!(inside.size() == 1 && inside[0].residual) &&
      atoms_.Heavies(range) > 0) {
    FillNew(range, module, kind, names.Next(kind), inside);
  } else {
    Fill(range, module, inside, names);
  }
}

void Arranger::Fill(Range range, FoundId module, UnitSpan units, Names& names) {
  Put(range, module);
  for (std::uint32_t i = range.first; i <= range.last; ++i) {
    if (atoms_.Kind(i) == AtomKind::kEmbedding) {
      Put({i, i}, New(module, names, FoundKind::kEmbedding));
    }
  }
  std::vector<const Unit*> loud;
  for (const Unit& unit : units) {
    if (!IsQuiet(unit) || unit.residual) loud.push_back(&unit);
  }
  for (const Unit* unit : loud) {
    if (unit->residual) {
      FillResidual(*unit, module, names, loud.size() == 1);
    } else {
      FillLeaf(*unit, module, names);
    }
  }
}

// A value, a chain that is made of it, and their sum: the blocks of a branch.
void Arranger::FillChains(Range range, FoundId module, Names& names) {
  std::vector<Range> blocks;
  for (std::uint32_t i = range.first; i <= range.last; ++i) {
    const auto ins = atoms_.ins(i);
    if (!regions_.IsSum(i) || ins.size() != 2) continue;
    const std::uint32_t value = std::min(ins[0], ins[1]);
    std::uint32_t first = std::max(ins[0], ins[1]);
    while (first > range.first && atoms_.outs(first).size() == 1 &&
           atoms_.ins(first).size() == 1 && atoms_.ins(first)[0] + 1 == first &&
           atoms_.ins(first)[0] != value) {
      --first;
    }
    if (atoms_.ins(first).size() == 1 && atoms_.ins(first)[0] == value &&
        first > value && atoms_.Heavies({first, i}) > 1) {
      blocks.push_back({first, i});
    }
  }
  if (blocks.empty()) return;
  FillCopies(blocks, 1, New(module, names, FoundKind::kBlock));
}

void Arranger::FillClosed(const Unit& unit, FoundId module, Names& names) {
  const FoundId sub = New(module, names, FoundKind::kBranches);
  Put(unit.atoms, sub);
  if (regions_.ResidualsInside(unit.atoms) >= 2 &&
      Solve(unit.atoms, sub, false)) {
    return;
  }
  Names below;
  const std::vector<Unit> parts = units_.Find(unit.atoms);
  for (const Unit& part : parts) {
    if (part.residual && !part.closed && parts.size() > 1) {
      FillResidual(part, sub, below, false);
    } else {
      FillLeaf(part, sub, below);
    }
  }
  FillChains(unit.atoms, sub, below);
}

// [norm] core sum [activation or norm]
void Arranger::FillResidual(const Unit& unit, FoundId module, Names& names,
                            bool alone) {
  if (depth_ >= kDeepest) return FillLeaf(unit, module, names);
  if (unit.closed) return FillClosed(unit, module, names);
  const auto join = regions_.JoinOf(unit.atoms);
  if (!join || *join == unit.atoms.first) {
    return FillLeaf(unit, module, names);
  }
  ++depth_;
  const Range body{unit.atoms.first, *join - 1};
  const bool solved =
      regions_.ResidualsInside(body) >= 2 && Solve(body, module, false);
  const std::vector<Unit> inner =
      solved ? std::vector<Unit>() : units_.Find(body);
  if (*join < unit.atoms.last) {
    for (const Unit& part : units_.Find({*join + 1, unit.atoms.last})) {
      if (part.role == Role::kNorm || part.role == Role::kActivation) {
        FillLeaf(part, module, names);
      }
    }
  }
  std::size_t begin = 0;
  while (begin < inner.size() && IsQuiet(inner[begin])) ++begin;
  if (begin + 1 < inner.size() && inner[begin].role == Role::kNorm) {
    FillLeaf(inner[begin], module, names);
    ++begin;
  } else {
    begin = 0;
  }
  if (begin < inner.size()) {
    const Role role = units_.RoleOf(unit.atoms);
    if (alone && role == Role::kConv) {
      for (std::size_t i = begin; i < inner.size(); ++i) {
        FillInner(inner[i], module, names);
      }
      ShareActivation(unit, inner, module);
    } else {
      const FoundId sub = New(module, names,
                              role == Role::kAttention ? FoundKind::kAttention
                              : role == Role::kLinear  ? FoundKind::kFeedForward
                              : role == Role::kConv    ? FoundKind::kConvBranch
                                                       : FoundKind::kBranch);
      Range core{inner[begin].atoms.first, inner.back().atoms.last};
      if (role == Role::kAttention) {
        // Windows around the attention belong to the block.
        std::uint32_t first = core.first;
        std::uint32_t last = core.last;
        while (first < core.last && !atoms_.IsHeavyAt(first)) ++first;
        while (last > core.first && !atoms_.IsHeavyAt(last)) --last;
        if (first - core.first >= 3) core.first = first;
        if (core.last - last >= 3) core.last = last;
      }
      Put(core, sub);
      Names below;
      for (std::size_t i = begin; i < inner.size(); ++i) {
        FillInner(inner[i], sub, below);
      }
    }
  }
  --depth_;
}

// A block of convolutions calls one ReLU several times, as a rule.
void Arranger::ShareActivation(const Unit& unit, UnitSpan parts,
                               FoundId module) {
  for (const Unit& part : parts) {
    if (part.residual || units_.IsSqueezeExcite(part)) return;
  }
  std::vector<std::uint32_t> shared;
  for (std::uint32_t i = unit.atoms.first; i <= unit.atoms.last; ++i) {
    if (atoms_.FirstOp(i) == Op::kRelu) shared.push_back(i);
  }
  if (shared.size() < 2) return;
  const FoundId activation = tree_.Child(module, FoundKind::kActivation, 0);
  for (const std::uint32_t i : shared) Put({i, i}, activation);
}

void Arranger::FillInner(const Unit& unit, FoundId module, Names& names) {
  if (!unit.residual || unit.role != Role::kConv) {
    return FillLeaf(unit, module, names);
  }
  const FoundId sub = New(module, names, FoundKind::kBlock);
  Put(unit.atoms, sub);
  Names below;
  FillResidual(unit, sub, below, true);
}

void Arranger::FillLeaf(const Unit& unit, FoundId module, Names& names) {
  std::vector<std::uint32_t> parts;
  for (std::uint32_t i = unit.atoms.first; i <= unit.atoms.last; ++i) {
    if (LeafKind(atoms_.Kind(i))) parts.push_back(i);
  }
  const bool excites = units_.IsSqueezeExcite(unit);
  if (unit.atoms.last - unit.atoms.first < 2 || units_.Heavies(unit) <= 1 ||
      excites) {
    const Role role = units_.RoleOf(unit.atoms);
    if (role == Role::kNeutral || role == Role::kOther) return;
    if (role == Role::kConv && parts.size() > 1) {
      const FoundId sub =
          New(module, names,
              excites ? FoundKind::kSqueezeExcite : FoundKind::kConvUnit);
      Put(unit.atoms, sub);
      Names below;
      for (const std::uint32_t i : parts) {
        Put({i, i}, New(sub, below, *LeafKind(atoms_.Kind(i))));
      }
      return;
    }
    if (parts.size() == 1) {
      Put(unit.atoms, New(module, names, *LeafKind(atoms_.Kind(parts[0]))));
      return;
    }
  }
  for (const std::uint32_t i : parts) {
    Put({i, i}, New(module, names, *LeafKind(atoms_.Kind(i))));
  }
}

}  // namespace structure
}  // namespace onnx_tag
