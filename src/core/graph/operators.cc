#include "core/graph/operators.h"

#include "base/lists.h"

namespace onnx_tag {
namespace {

using enum OpKind;
using enum Operand;

constexpr Operator kRows[] = {
    {},  // Op::kNone
#include "generated/operator_rows.inc"
};

constexpr bool IsLess(const Operator& a, const Operator& b) {
  return a.name != b.name ? a.name < b.name : a.domain < b.domain;
}
static_assert(std::is_sorted(std::begin(kRows), std::end(kRows), IsLess));

// Whether another row has the same name. The row for any domain comes first.
bool DependsOnDomain(Op op) {
  const auto next = Index(op) + 1;
  return next < std::size(kRows) && kRows[next].name == Describe(op).name;
}

}  // namespace

const Operator* const kOperators = kRows;

Op FindOp(std::string_view name, std::string_view domain) {
  const Operator* const end = std::end(kRows);
  const Operator* found =
      std::lower_bound(std::begin(kRows), end, name,
                       [](const Operator& row, std::string_view text) {
                         return row.name < text;
                       });
  if (found == end || found->name != name || name.empty()) return Op::kNone;
  for (const Operator* row = found; row != end && row->name == name; ++row) {
    if (!row->domain.empty() && row->domain == domain) found = row;
  }
  return static_cast<Op>(found - kRows);
}

Operators::Operators(const Model& model) : ops_(model.node_count()) {
  constexpr Op kUnread = static_cast<Op>(0xffff);
  IdVector<NameId, Op> by_name;
  for (const NodeId node : model.Nodes()) {
    const NameId name = model[node].op_type;
    Op& op = by_name.Grown(name, kUnread);
    if (op == kUnread) op = FindOp(model.Name(name));
    ops_[node] =
        DependsOnDomain(op) ? FindOp(model.Name(name), model.Domain(node)) : op;
  }
}

bool Operators::HasAny(OpKinds kinds) const {
  return AnyIn(ops_, [&](Op op) { return Describe(op).kinds.HasAnyOf(kinds); });
}

}  // namespace onnx_tag
