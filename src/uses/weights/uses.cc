#include "uses/weights/uses.h"

namespace onnx_tag::weights {
namespace {

// Longer chains of carriers do not occur; hostile files may have them.
constexpr int kMaxSteps = 16;

}  // namespace

std::vector<Use> Uses::Of(ValueId value) const {
  std::vector<Use> uses;
  Follow(value, {}, 0, uses);
  return uses;
}

void Uses::Follow(ValueId value, Use so_far, int depth,
                  std::vector<Use>& uses) const {
  for (const NodeId node : model_.Consumers(value)) {
    if (uses.size() >= kMost) return;
    const std::span<const ValueId> inputs = model_.Inputs(node);
    const Operator& op = Describe(ops_[node]);
    for (std::uint32_t slot = 0; slot < inputs.size(); ++slot) {
      if (inputs[slot] != value) continue;
      Use use = so_far;
      use.node = node;
      use.slot = slot;
      use.operand = op.Input(slot);
      if (slot != 0 || !op.kinds.HasAnyOf(kCarriers) || depth >= kMaxSteps) {
        uses.push_back(use);
        continue;
      }
      use.transposed ^= op.kinds.HasAnyOf(OpKind::kTranspose);
      use.dequantized |= op.kinds.HasAnyOf(OpKind::kDequantizer);
      use.sliced |= op.kinds.HasAnyOf(OpKind::kSlice);
      const std::size_t before = uses.size();
      for (const ValueId output : model_.Outputs(node)) {
        if (output != kNo<ValueId>) Follow(output, use, depth + 1, uses);
      }
      // Nothing behind it computes: it is the last.
      if (uses.size() == before) uses.push_back(use);
    }
  }
}

}  // namespace onnx_tag::weights
