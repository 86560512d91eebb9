// What dynamic quantization makes of one product: the product in integers, a
// Cast, the scales of both sides multiplied, and their product with the result.
// All of it is of one module, and the weight, its scale or the bias behind it
// says which.
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
      if (evidence_.graph.ops.Is(node, OpKind::kInteger)) Consider(node);
    }
    return std::move(claims_);
  }

 private:
  void Consider(NodeId product) {
    // The part that reads the weight comes first.
    const QuantizedParts parts = PartsOfQuantized(evidence_, product);
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
