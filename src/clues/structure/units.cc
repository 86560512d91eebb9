#include "clues/structure/units.h"

#include <map>
#include <utility>

namespace onnx_tag::structure {
namespace {

constexpr double kAlike = 0.6;  // the share of atoms that alike units have

// By AtomKind.
constexpr Role kRoles[] = {Role::kLinear,    Role::kLinear,     Role::kConv,
                           Role::kConv,      Role::kConv,       Role::kConv,
                           Role::kRecurrent, Role::kAttention,  Role::kLinear,
                           Role::kNorm,      Role::kActivation, Role::kPool,
                           Role::kOther,     Role::kOther,      Role::kNeutral,
                           Role::kNeutral,   Role::kOther};

}  // namespace

// That of its strongest atom. Products around a softmax are an attention,
// unless they choose.
Role Units::RoleOf(Range range) const {
  Role role = Role::kNeutral;
  std::uint32_t products = 0;
  bool softmax = false;
  bool chooses = false;
  for (std::uint32_t i = range.first; i <= range.last; ++i) {
    const AtomKind kind = atoms_.Kind(i);
    role = std::max(role, kRoles[static_cast<std::size_t>(kind)]);
    softmax |= kind == AtomKind::kSoftmax;
    // A product with learned queries is one with a weight; their sum follows.
    products +=
        kind == AtomKind::kMatMul || (kind == AtomKind::kJoin && softmax &&
                                      atoms_.ins(i).size() == 1)
            ? 1u
            : 0u;
    chooses |= atoms_.FirstOp(i) == Op::kTopK;
  }
  return softmax && products >= 2 && !chooses ? Role::kAttention : role;
}

bool Units::StartsWith(const Unit& unit, AtomKind kind) const {
  for (std::uint32_t i = unit.atoms.first; i <= unit.atoms.last; ++i) {
    if (atoms_.Kind(i) == kind) return true;
    if (atoms_.Kind(i) != AtomKind::kNeutral) return false;
  }
  return false;
}

bool Units::IsReadOnlyBy(std::uint32_t atom, Range range) const {
  const auto outs = atoms_.outs(atom);
  return std::all_of(outs.begin(), outs.end(), [&](std::uint32_t r) {
    return r >= range.first && r <= range.last;
  });
}

bool Units::AddsUp(const Unit& unit) const {
  if (!unit.residual || unit.closed) return false;
  const auto join = regions_.JoinOf(unit.atoms);
  return !join || atoms_.FirstOp(*join) != Op::kConcat;
}

bool Units::IsStrided(Range range) const {
  for (std::uint32_t i = range.first; i <= range.last; ++i) {
    if (atoms_.Scale(i) != 0) return true;
  }
  return false;
}

std::int64_t Units::Width(Range range) const {
  for (std::uint32_t i = range.last + 1; i-- > range.first;) {
    if (atoms_.Width(i) != 0) return atoms_.Width(i);
  }
  return 0;
}

bool Units::IsSqueezeExcite(const Unit& unit) const {
  const Op op = atoms_.FirstOp(unit.atoms.first);
  const std::uint32_t heavies = Heavies(unit);
  if ((op != Op::kGlobalAveragePool && op != Op::kReduceMean) || heavies < 1 ||
      heavies > 2) {
    return false;
  }
  for (std::uint32_t i = unit.atoms.last + 1; i-- > unit.atoms.first;) {
    if (unit.atoms.last - i > 1) break;
    if (atoms_.LastOp(i) == Op::kMul && atoms_.ins(i).size() > 1) return true;
  }
  return false;
}

std::uint32_t Units::MainKind(const Unit& unit) const {
  constexpr std::uint32_t kFirstRole = 64;
  constexpr std::uint32_t kSqueezeExcite = 128;
  if (unit.residual) return kSqueezeExcite + 1;
  if (IsSqueezeExcite(unit)) return kSqueezeExcite;
  for (std::uint32_t i = unit.atoms.first; i <= unit.atoms.last; ++i) {
    if (atoms_.IsHeavyAt(i)) return static_cast<std::uint32_t>(atoms_.Kind(i));
  }
  return kFirstRole + static_cast<std::uint32_t>(unit.role);
}

bool Units::IsJoined(const Unit& before, const Unit& unit,
                     bool norms_follow) const {
  const std::uint32_t first = unit.atoms.first;
  switch (unit.role) {
    case Role::kActivation:
      return before.role == Role::kConv || before.role == Role::kLinear ||
             before.role == Role::kNorm;
    case Role::kNorm:
      if (atoms_.Kind(before.atoms.last) == AtomKind::kNorm) return false;
      if (!before.residual) return !unit.residual && before.role == Role::kConv;
      return norms_follow && IsReadOnlyBy(before.atoms.last, unit.atoms) &&
             !StartsWith(before, AtomKind::kNorm);
    case Role::kOther: {
      const Op op = atoms_.FirstOp(first);
      const bool bias = atoms_.NodesIn(unit.atoms) == 1 &&
                        atoms_.ins(first).size() == 1 &&
                        (op == Op::kAdd || op == Op::kMul || op == Op::kDiv ||
                         op == Op::kSub);
      return bias && !before.residual &&
             (before.role == Role::kConv || before.role == Role::kLinear ||
              before.role == Role::kNorm);
    }
    case Role::kConv: {
      // The norm that a convolution is preceded by, or padding.
      if (before.role == Role::kNorm && !before.residual && !unit.residual) {
        return IsReadOnlyBy(before.atoms.last,
                            {before.atoms.first, unit.atoms.last});
      }
      return before.role == Role::kNeutral &&
             atoms_.FirstOp(before.atoms.first) == Op::kPad &&
             atoms_.FirstOp(before.atoms.last) == Op::kPad;
    }
    default:
      return false;
  }
}

// A sum with learned queries ends a block: the linear layer before it, the
// attention, and what makes keys and values for it alone.
void Units::TakeQueries(std::vector<Unit>& before, Unit& sum) const {
  if (sum.atoms.first != sum.atoms.last || !regions_.IsSum(sum.atoms.first) ||
      atoms_.ins(sum.atoms.first).size() != 1) {
    return;
  }
  Range range = sum.atoms;
  std::size_t from = before.size();
  while (from > 0) {
    const Unit& unit = before[from - 1];
    if (unit.residual || unit.role == Role::kConv ||
        !IsReadOnlyBy(unit.atoms.last, {unit.atoms.first, sum.atoms.last})) {
      break;
    }
    range.first = unit.atoms.first;
    --from;
  }
  if (RoleOf(range) != Role::kAttention) return;
  sum.atoms = range;
  sum.role = Role::kAttention;
  sum.residual = true;
  sum.queries = true;
  before.resize(from);
}

std::vector<Unit> Units::Find(Range range) const {
  std::vector<Unit> units;
  for (const Range region : regions_.Inside(range)) {
    units.push_back({.atoms = region,
                     .role = RoleOf(region),
                     .residual = region.first < region.last &&
                                 regions_.IsResidual(region)});
  }
  // A norm that follows a block, and nothing else, is the block's own, unless
  // it is the last norm of a stack.
  std::uint32_t residuals = 0;
  std::uint32_t by_norm = 0;
  std::uint32_t conv_blocks = 0;
  std::uint32_t start_with_activation = 0;
  for (std::size_t i = 0; i < units.size(); ++i) {
    const Unit& unit = units[i];
    if (!unit.residual) continue;
    std::size_t next = i + 1;
    while (next < units.size() && units[next].role == Role::kNeutral) ++next;
    ++residuals;
    by_norm += next < units.size() && units[next].role == Role::kNorm &&
                       !units[next].residual &&
                       IsReadOnlyBy(unit.atoms.last,
                                    {unit.atoms.last, units[next].atoms.last})
                   ? 1u
                   : 0u;
    if (unit.role == Role::kConv) {
      ++conv_blocks;
      start_with_activation +=
          StartsWith(unit, AtomKind::kActivation) ? 1u : 0u;
    }
  }
  const bool norms_follow = by_norm >= 2 && 4 * by_norm > residuals;
  const bool pre_activation =
      conv_blocks >= 2 && 10 * start_with_activation >= 3 * conv_blocks;

  std::vector<Unit> joined;
  for (Unit& unit : units) {
    TakeQueries(joined, unit);
    const bool may_join =
        !joined.empty() && !(pre_activation && unit.role == Role::kActivation &&
                             joined.back().residual);
    if (may_join && IsJoined(joined.back(), unit, norms_follow)) {
      Unit& before = joined.back();
      before.atoms.last = unit.atoms.last;
      if (unit.role == Role::kConv) {
        before.role = Role::kConv;
        before.residual = unit.residual;
      }
      continue;
    }
    joined.push_back(unit);
  }
  for (Unit& unit : joined) {
    if (unit.atoms.first < unit.atoms.last) unit.role = RoleOf(unit.atoms);
  }
  return CloseBranches(joined);
}

// A convolution, branches, their concatenation and a convolution of it are one
// module: C2f, C3, ELAN, SPPF.
std::vector<Unit> Units::CloseBranches(const std::vector<Unit>& units) const {
  const auto is_pointwise = [&](const Unit& unit) {
    return unit.role == Role::kConv && !unit.residual && Heavies(unit) == 1 &&
           StartsWith(unit, AtomKind::kPointwise);
  };
  std::vector<Unit> result;
  for (const Unit& unit : units) {
    Unit* const before = result.empty() ? nullptr : &result.back();
    const bool closes =
        before != nullptr && before->atoms.first < before->atoms.last &&
        !before->closed && atoms_.FirstOp(before->atoms.last) == Op::kConcat &&
        before->role == Role::kConv && atoms_.Series(before->atoms) >= 2 &&
        is_pointwise(unit);
    if (!closes) {
      result.push_back(unit);
      continue;
    }
    // The convolution whose channels are split, and the split itself.
    const auto splits = [&](const Unit& part) {
      const Op op = atoms_.FirstOp(part.atoms.first);
      return op == Op::kSlice || op == Op::kSplit;
    };
    std::size_t first = result.size() - 1;
    if (!splits(result[first]) && first > 0 &&
        result[first - 1].role == Role::kNeutral) {
      --first;
    }
    if (first > 0 && splits(result[first]) && is_pointwise(result[first - 1])) {
      result.resize(first);
    }
    Unit& whole = result.back();
    whole.atoms.last = unit.atoms.last;
    whole.closed = true;
    whole.residual = true;
    whole.role = Role::kConv;
  }
  return result;
}

std::vector<Unit> Units::Classify(std::vector<Unit> units) const {
  GiveClasses(units);
  return JoinBodies(std::move(units));
}

void Units::GiveClasses(std::vector<Unit>& units) const {
  Classes classes;
  for (Unit& unit : units) {
    // How often something is repeated inside a block does not matter.
    const bool once = unit.residual &&
                      (unit.closed || regions_.ResidualsInside(unit.atoms) > 0);
    // A norm before a convolution is not a norm behind it.
    const bool starts_with_norm = !unit.residual && unit.role == Role::kConv &&
                                  StartsWith(unit, AtomKind::kNorm);
    const std::uint64_t mark = static_cast<std::uint64_t>(unit.role) * 4 +
                               (unit.residual ? 2 : 0) +
                               (starts_with_norm ? 1 : 0);
    unit.class_of = classes.Add(mark, atoms_.Bag(unit.atoms, once), kAlike);
  }
}

// Blocks that change the resolution have no residual sum, but the same body as
// their neighbours.
std::vector<Unit> Units::JoinBodies(std::vector<Unit> units) const {
  constexpr std::size_t kMostBodies = 32;
  using Body = std::vector<std::uint32_t>;  // main kinds
  std::map<Body, std::uint32_t> bodies;
  for (Unit& unit : units) {
    if (unit.role != Role::kConv || !AddsUp(unit) ||
        bodies.size() >= kMostBodies) {
      continue;
    }
    const auto join = regions_.JoinOf(unit.atoms);
    if (!join || *join == unit.atoms.first) continue;
    Body body;
    for (const Unit& part : Find({unit.atoms.first, *join - 1})) {
      if (part.role == Role::kNeutral || part.role == Role::kOther) continue;
      body.push_back(MainKind(part));
    }
    if (body.size() < 2) continue;
    unit.class_of = bodies.emplace(body, unit.class_of).first->second;
    if (body.size() >= 3 &&
        body[1] == static_cast<std::uint32_t>(AtomKind::kDepthwise)) {
      bodies.emplace(Body(body.begin() + 1, body.end()), unit.class_of);
    }
  }
  if (bodies.empty()) return units;

  Body kinds;
  for (const Unit& unit : units) kinds.push_back(MainKind(unit));
  std::vector<Unit> result;
  for (std::size_t i = 0; i < units.size();) {
    std::size_t length = 0;
    std::uint32_t class_of = 0;
    for (const auto& [body, body_class] : bodies) {
      if (i + body.size() <= units.size() &&
          std::equal(body.begin(), body.end(),
                     kinds.begin() + static_cast<std::ptrdiff_t>(i))) {
        length = body.size();
        class_of = body_class;
        break;
      }
    }
    if (length == 0) {
      result.push_back(units[i++]);
      continue;
    }
    result.push_back(
        {.atoms = {units[i].atoms.first, units[i + length - 1].atoms.last},
         .role = Role::kConv,
         .residual = true,
         .class_of = class_of});
    i += length;
  }
  return result;
}

}  // namespace onnx_tag::structure
