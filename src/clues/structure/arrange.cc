#include "clues/structure/arrange.h"

#include <algorithm>
#include <map>
#include <optional>

namespace onnx_tag {

namespace structure {
namespace {

// Blocks in blocks in blocks: what is deeper is not taken apart, so that the
// work stays linear.
constexpr int kDeepest = 8;

std::optional<FoundKind> LeafKind(AtomKind kind) {
  static constexpr std::pair<AtomKind, FoundKind> kLeaves[] = {
      {AtomKind::kLinear, FoundKind::kLinear},
      {AtomKind::kRecurrent, FoundKind::kRecurrent},
      {AtomKind::kAttention, FoundKind::kAttention},
      {AtomKind::kNorm, FoundKind::kNorm},
      {AtomKind::kActivation, FoundKind::kActivation},
      {AtomKind::kPool, FoundKind::kPool},
      {AtomKind::kEmbedding, FoundKind::kEmbedding}};
  if (IsConv(kind)) return FoundKind::kConv;
  for (const auto& [atom, found] : kLeaves) {
    if (atom == kind) return found;
  }
  return std::nullopt;
}

bool HasAttention(const Item& run) {
  return std::any_of(
      run.copies.back().begin(), run.copies.back().end(),
      [](const Item& item) { return item.unit.role == Role::kAttention; });
}

bool IsQuiet(const Unit& unit) {
  return unit.role == Role::kNeutral || unit.role == Role::kOther;
}

class Arranger {
 public:
  Arranger(const Units& units, FoundTree& tree)
      : units_(units), tree_(tree), module_of_(atoms_.size(), kNo<FoundId>) {}

  std::vector<FoundId> Arrange(FoundId parent) {
    if (atoms_.size() > 0) {
      const Range all{0, atoms_.size() - 1};
      if (!Solve(all, parent, parent == kNo<FoundId>)) {
        Fill(all, parent, units_.Find(all));
      }
    }
    return std::move(module_of_);
  }

 private:
  // Units of a range, sorted.
  using UnitSpan = std::span<const Unit>;

  void Put(Range range, FoundId module) {
    std::fill(module_of_.begin() + range.first,
              module_of_.begin() + range.last + 1, module);
  }

  UnitSpan Within(UnitSpan units, Range range) {
    const auto first = std::partition_point(
        units.begin(), units.end(),
        [&](const Unit& unit) { return unit.atoms.first < range.first; });
    const auto last = std::partition_point(
        first, units.end(),
        [&](const Unit& unit) { return unit.atoms.last <= range.last; });
    return {first, last};
  }

  bool Solve(Range range, FoundId parent, bool top) {
    if (depth_ >= kDeepest) return false;
    ++depth_;
    const std::vector<Unit> units = units_.Classify(units_.Find(range));
    // Detectors whose blocks are branches with a convolution behind them (C2f,
    // C3, ELAN) are written as one list of modules; its last one is the head.
    constexpr std::ptrdiff_t kFewest = 6;
    if (top && std::count_if(units.begin(), units.end(), [](const Unit& unit) {
                 return unit.closed;
               }) >= kFewest) {
      EmitFlat(range, parent, units);
      --depth_;
      return true;
    }
    const std::vector<Item> items = FindRepeats(units_, units, range);
    const bool has_runs = HasRuns(items);
    if (top || has_runs) {
      Put(range, parent);
      for (const Item& item : items) {
        if (item.IsRun()) EmitRun(item, parent, units, false);
      }
      ForEachGap(items, range, [&](Range gap) {
        FoundId module = parent;
        if (top && has_runs) {
          module =
              tree_.New(parent, gap.first == range.first ? FoundKind::kStem
                                : gap.last == range.last ? FoundKind::kHead
                                                         : FoundKind::kBody);
        } else if (top) {
          return FillBody(gap, parent, units);
        }
        Fill(gap, module, Within(units, gap));
      });
    }
    --depth_;
    return top || has_runs;
  }

  // What is before, between and behind the runs.
  template <typename Action>
  static void ForEachGap(const std::vector<Item>& items, Range range,
                         const Action& action) {
    std::uint32_t next = range.first;
    for (const Item& item : items) {
      if (!item.IsRun()) continue;
      if (next < item.atoms().first) {
        action(Range{next, item.atoms().first - 1});
      }
      next = item.atoms().last + 1;
    }
    if (next <= range.last) action(Range{next, range.last});
  }

  void EmitFlat(Range range, FoundId parent, UnitSpan units) {
    std::size_t head = units.size();
    while (!units[head - 1].closed) --head;
    const FoundId list = tree_.New(parent, FoundKind::kBlocks);
    Put(range, list);
    const std::size_t count = std::min(head + 1, units.size());
    for (std::size_t i = 0; i < count; ++i) {
      const FoundId copy = NewCopy(list, i, count, CopyKind::kAlike);
      const Range part{units[i].atoms.first,
                       i == head ? range.last : units[i].atoms.last};
      Fill(part, copy, Within(units, part));
    }
  }

  FoundId NewCopy(FoundId list, std::size_t number, std::size_t copies,
                  CopyKind like) {
    const FoundId copy =
        tree_.Child(list, FoundKind::kCopy, static_cast<std::uint32_t>(number));
    tree_[copy].copies = static_cast<std::uint32_t>(copies);
    tree_[copy].like = like;
    return copy;
  }

  // Nothing is repeated. Linear layers behind convolutions are another part; if
  // pictures become smaller and larger again, what makes them larger is.
  void FillBody(Range range, FoundId parent, UnitSpan units) {
    bool has_conv = false;
    std::uint32_t linear = range.first;  // the first one behind convolutions
    std::uint32_t up = range.first;
    for (const Unit& unit : units) {
      if (unit.role == Role::kConv) {
        has_conv = true;
        linear = range.first;
      } else if (unit.role == Role::kLinear && has_conv &&
                 linear == range.first) {
        linear = unit.atoms.first;
      }
      for (std::uint32_t i = unit.atoms.first; i <= unit.atoms.last; ++i) {
        if (atoms_.Scale(i) > 0 && up == range.first) up = unit.atoms.first;
      }
    }
    const std::uint32_t second = linear != range.first ? linear : up;
    if (second > range.first && atoms_.Heavies({range.first, second - 1}) > 0) {
      const Range first{range.first, second - 1};
      Fill(first, tree_.New(parent, FoundKind::kBody), Within(units, first));
      range.first = second;
    }
    Fill(range, tree_.New(parent, FoundKind::kBody), Within(units, range));
  }

  std::vector<std::size_t> Stages(const Item& run) const {
    const auto like = [&](std::size_t i) {  // the copy before
      return Compare(run.ranges[i - 1], run.ranges[i]);
    };
    // Two copies that are equal, then two that are equal to each other only:
    // the same blocks with another expansion.
    const auto is_new_kind = [&](std::size_t i) {
      return i > 1 && i + 1 < run.ranges.size() &&
             like(i - 1) == CopyKind::kEqual &&
             like(i) == CopyKind::kOtherWidth &&
             like(i + 1) == CopyKind::kEqual;
    };
    std::vector<std::size_t> begins = {0};
    for (std::size_t i = 1; i < run.ranges.size(); ++i) {
      const std::int64_t before = units_.Width(run.ranges[i - 1]);
      const std::int64_t width = units_.Width(run.ranges[i]);
      if (units_.IsStrided(run.ranges[i]) || (before != 0 && width > before) ||
          is_new_kind(i)) {
        begins.push_back(i);
      }
    }
    return begins;
  }

  void EmitRun(const Item& run, FoundId parent, UnitSpan units, bool inside) {
    const bool staged = HasRuns(run.copies.back());
    std::vector<std::size_t> begins = {0};
    if (!staged && !inside) begins = Stages(run);
    const bool has_stages = begins.size() > 1;
    begins.push_back(run.copies.size());
    const bool towers =
        parent == kNo<FoundId> && !has_stages && run.copies.size() > 1 &&
        std::all_of(run.ranges.begin() + 1, run.ranges.end(),
                    [&](Range range) { return !atoms_.ReadsBefore(range); });
    const FoundId list = towers ? parent
                                : tree_.New(parent, !staged && HasAttention(run)
                                                        ? FoundKind::kLayers
                                                        : FoundKind::kBlocks);
    for (std::size_t s = 0; s + 1 < begins.size(); ++s) {
      const std::size_t count = begins[s + 1] - begins[s];
      FoundId copies = list;
      if (has_stages) {
        copies =
            tree_.New(NewCopy(list, s, begins.size() - 1, CopyKind::kAlike),
                      FoundKind::kBlock);
      }
      // Copies with the same weights are one module that is called again.
      std::map<std::vector<ValueId>, FoundId> modules;
      std::size_t next = 0;
      for (std::size_t i = begins[s]; i < begins[s + 1]; ++i) {
        const std::vector<ValueId> weights = atoms_.WeightsIn(run.ranges[i]);
        const auto known = modules.find(weights);
        FoundId module = kNo<FoundId>;
        if (known != modules.end() && !weights.empty()) {
          module = tree_.Again(known->second);
        } else if (towers) {
          module = tree_.New(list, FoundKind::kBody);
        } else {
          module = NewCopy(copies, next++, count,
                           Compare(run.ranges[0], run.ranges[i]));
        }
        modules.emplace(weights, module);
        EmitCopy(run, i, module, units);
      }
    }
  }

  CopyKind Compare(Range first, Range copy) const {
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

  void EmitCopy(const Item& run, std::size_t copy, FoundId module,
                UnitSpan units) {
    const Range range = run.ranges[copy];
    const std::vector<Item>& items = run.copies[copy];
    Put(range, module);
    const bool has_runs = HasRuns(items);
    ForEachGap(items, range, [&](Range gap) {
      FoundId in = module;
      if (has_runs && atoms_.Heavies(gap) > 0) {
        in = tree_.New(module, gap.last == range.last ? FoundKind::kBody
                                                      : FoundKind::kStem);
      }
      Fill(gap, in, Within(units, gap));
    });
    for (const Item& item : items) {
      if (item.IsRun()) EmitRun(item, module, units, true);
    }
  }

  void Fill(Range range, FoundId module, UnitSpan units) {
    Put(range, module);
    for (std::uint32_t i = range.first; i <= range.last; ++i) {
      if (atoms_.Kind(i) == AtomKind::kEmbedding) {
        Put({i, i}, tree_.New(module, FoundKind::kEmbedding));
      }
    }
    std::vector<const Unit*> loud;
    for (const Unit& unit : units) {
      if (!IsQuiet(unit) || unit.residual) loud.push_back(&unit);
    }
    for (const Unit* unit : loud) {
      if (unit->residual) {
        FillResidual(*unit, module, loud.size() == 1);
      } else {
        FillLeaf(*unit, module);
      }
    }
  }

  // A value, a chain that is made of it, and their sum: the blocks of a branch.
  void FillChains(Range range, FoundId module) {
    std::vector<Range> blocks;
    for (std::uint32_t i = range.first; i <= range.last; ++i) {
      const auto ins = atoms_.ins(i);
      if (!regions_.IsSum(i) || ins.size() != 2) continue;
      const std::uint32_t value = std::min(ins[0], ins[1]);
      std::uint32_t first = std::max(ins[0], ins[1]);
      while (first > range.first && atoms_.outs(first).size() == 1 &&
             atoms_.ins(first).size() == 1 &&
             atoms_.ins(first)[0] + 1 == first &&
             atoms_.ins(first)[0] != value) {
        --first;
      }
      if (atoms_.ins(first).size() == 1 && atoms_.ins(first)[0] == value &&
          first > value && atoms_.Heavies({first, i}) > 1) {
        blocks.push_back({first, i});
      }
    }
    if (blocks.empty()) return;
    const FoundId list = tree_.New(module, FoundKind::kBlock);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const Range block = blocks[i];
      const FoundId copy =
          NewCopy(list, i, blocks.size(), Compare(blocks[0], block));
      Put(block, copy);
      for (const Unit& part : units_.Find({block.first, block.last - 1})) {
        FillLeaf(part, copy);
      }
    }
  }

  void FillClosed(const Unit& unit, FoundId module) {
    const FoundId sub = tree_.New(module, FoundKind::kBranch);
    Put(unit.atoms, sub);
    for (const Unit& part : units_.Find(unit.atoms)) FillLeaf(part, sub);
    FillChains(unit.atoms, sub);
  }

  // [norm] core sum [activation or norm]
  void FillResidual(const Unit& unit, FoundId module, bool alone) {
    if (depth_ >= kDeepest) return FillLeaf(unit, module);
    if (unit.closed) return FillClosed(unit, module);
    const auto join = regions_.JoinOf(unit.atoms);
    if (!join || *join == unit.atoms.first) {
      return FillLeaf(unit, module);
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
          FillLeaf(part, module);
        }
      }
    }
    std::size_t begin = 0;
    while (begin < inner.size() && IsQuiet(inner[begin])) ++begin;
    if (begin + 1 < inner.size() && inner[begin].role == Role::kNorm) {
      FillLeaf(inner[begin], module);
      ++begin;
    } else {
      begin = 0;
    }
    if (begin < inner.size()) {
      const Role role = units_.RoleOf(unit.atoms);
      const bool flat = alone && role == Role::kConv;
      FoundId sub = module;
      if (!flat) {
        sub =
            tree_.New(module, role == Role::kAttention ? FoundKind::kAttention
                              : role == Role::kLinear  ? FoundKind::kFeedForward
                                                       : FoundKind::kBranch);
        Put(WithoutWindows({inner[begin].atoms.first, inner.back().atoms.last},
                           role),
            sub);
      }
      for (std::size_t i = begin; i < inner.size(); ++i) {
        FillLeaf(inner[i], sub);
      }
      if (flat) ShareActivation(unit, module);
    }
    --depth_;
  }

  // Windows around an attention belong to the block.
  Range WithoutWindows(Range core, Role role) const {
    if (role != Role::kAttention) return core;
    std::uint32_t first = core.first;
    std::uint32_t last = core.last;
    while (first < core.last && !atoms_.IsHeavyAt(first)) ++first;
    while (last > core.first && !atoms_.IsHeavyAt(last)) --last;
    return {first - core.first >= 3 ? first : core.first,
            core.last - last >= 3 ? last : core.last};
  }

  // A block of convolutions calls one ReLU several times, as a rule.
  void ShareActivation(const Unit& unit, FoundId module) {
    std::vector<std::uint32_t> shared;
    for (std::uint32_t i = unit.atoms.first; i <= unit.atoms.last; ++i) {
      if (atoms_.FirstOp(i) == Op::kRelu) shared.push_back(i);
    }
    if (shared.size() < 2) return;
    const FoundId activation = tree_.Child(module, FoundKind::kActivation, 0);
    for (const std::uint32_t i : shared) Put({i, i}, activation);
  }

  void FillLeaf(const Unit& unit, FoundId module) {
    std::vector<std::uint32_t> parts;
    for (std::uint32_t i = unit.atoms.first; i <= unit.atoms.last; ++i) {
      if (LeafKind(atoms_.Kind(i))) parts.push_back(i);
    }
    if (units_.Heavies(unit) <= 1 || units_.IsSqueezeExcite(unit)) {
      const Role role = units_.RoleOf(unit.atoms);
      if (role == Role::kNeutral || role == Role::kOther) return;
      if (role == Role::kConv && parts.size() > 1) {
        module = tree_.New(module, FoundKind::kUnit);
        Put(unit.atoms, module);
      } else if (parts.size() == 1) {
        Put(unit.atoms, tree_.New(module, *LeafKind(atoms_.Kind(parts[0]))));
        return;
      }
    }
    for (const std::uint32_t i : parts) {
      Put({i, i}, tree_.New(module, *LeafKind(atoms_.Kind(i))));
    }
  }

  const Units& units_;
  const Atoms& atoms_ = units_.atoms();
  const Regions& regions_ = units_.regions();
  FoundTree& tree_;
  std::vector<FoundId> module_of_;  // by atom
  int depth_ = 0;
};

}  // namespace

std::vector<FoundId> Arrange(const Units& units, FoundTree& tree,
                             FoundId parent) {
  return Arranger(units, tree).Arrange(parent);
}

}  // namespace structure
}  // namespace onnx_tag
