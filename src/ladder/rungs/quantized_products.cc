// What dynamic quantization makes of one product: the product in integers, a
// Cast, the scales of both sides multiplied, and their product with the result.
// All of it is of one module, and the weight, its scale or the bias behind it
// says which.
#include <array>

#include "ladder/claim.h"
#include "ladder/rungs/graph_patterns.h"

namespace onnx_tag {
namespace {

class QuantizedProducts {
 public:
  QuantizedProducts(const Evidence& evidence, const Placed& placed)
      : evidence_(evidence), model_(evidence.model), placed_(placed) {}

  std::vector<Claim> Run() {
    for (const NodeId node : model_.Nodes()) {
      const std::string_view op = model_.OpType(node);
      if (op == "MatMulInteger" || op == "ConvInteger") Consider(node);
    }
    return std::move(claims_);
  }

 private:
  NodeId Next(NodeId node, std::string_view op) const {
    const NodeId next = node == kNo<NodeId> ? node : OnlyConsumer(model_, node);
    return next != kNo<NodeId> && model_.OpType(next) == op ? next
                                                            : kNo<NodeId>;
  }

  // The other side of a Mul or Add.
  ValueId OtherInput(NodeId node, NodeId than) const {
    for (const ValueId input : model_.Inputs(node)) {
      if (input != kNo<ValueId> && model_.Producer(input) != than) return input;
    }
    return kNo<ValueId>;
  }

  void Consider(NodeId product) {
    const NodeId cast = Next(product, "Cast");
    const NodeId scaled = Next(cast, "Mul");
    NodeId scales = kNo<NodeId>;
    NodeId bias = kNo<NodeId>;
    if (scaled != kNo<NodeId>) {
      scales = ProducerOf(model_, OtherInput(scaled, cast));
      if (scales != kNo<NodeId> && (model_.OpType(scales) != "Mul" ||
                                    OnlyConsumer(model_, scales) != scaled)) {
        scales = kNo<NodeId>;
      }
      bias = Next(scaled, "Add");
      const ValueId added =
          bias == kNo<NodeId> ? kNo<ValueId> : OtherInput(bias, scaled);
      if (added == kNo<ValueId> || !evidence_.constant_value[Index(added)]) {
        bias = kNo<NodeId>;
      }
    }
    // The weight knows best, then what stands for it.
    const std::array<NodeId, 5> parts = {product, scales, bias, cast, scaled};
    for (const NodeId known : parts) {
      if (known == kNo<NodeId> || !placed_[known].tagged() ||
          placed_[known].source == Source::kLocality) {
        continue;
      }
      for (const NodeId part : parts) {
        if (part == kNo<NodeId> || placed_[part].tagged()) continue;
        claims_.push_back(
            {part, placed_[known].module,
             std::min(placed_[known].confidence, Confidence::kHigh),
             Source::kOperation,
             "part of a quantized product whose weight this module owns"});
      }
      return;
    }
  }

  const Evidence& evidence_;
  const Model& model_;
  const Placed& placed_;
  std::vector<Claim> claims_;
};

}  // namespace

std::vector<Claim> ProposeForQuantizedProducts(const Evidence& evidence,
                                               const Placed& placed) {
  return QuantizedProducts(evidence, placed).Run();
}

}  // namespace onnx_tag
