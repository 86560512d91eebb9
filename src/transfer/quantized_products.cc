#include "transfer/quantized_products.h"

#include <optional>

namespace onnx_tag::transfer {
namespace {

class Finder {
 public:
  Finder(const Outline& outline, const Texts& texts)
      : outline_(outline), texts_(texts) {}

  std::optional<QuantizedProduct> Read(NodeId node) const {
    const std::string_view op = Op(node);
    const auto inputs = outline_.Inputs(node);
    if ((op != "MatMulInteger" && op != "ConvInteger") || inputs.size() < 2 ||
        inputs[0] == kNo<ValueId> || inputs[1] == kNo<ValueId>) {
      return std::nullopt;
    }
    QuantizedProduct found{.product = node,
                           .result = kNo<NodeId>,
                           .data = inputs[0],
                           .weight = inputs[1],
                           .helpers = {},
                           .convolution = op == "ConvInteger"};
    const NodeId quantizer = outline_[inputs[0]].producer;
    if (quantizer != kNo<NodeId> && Op(quantizer) == "DynamicQuantizeLinear" &&
        !outline_.Inputs(quantizer).empty() &&
        outline_.Inputs(quantizer)[0] != kNo<ValueId>) {
      found.data = outline_.Inputs(quantizer)[0];
      found.helpers.push_back(quantizer);
    }
    const NodeId cast = OnlyReader(node, "Cast");
    if (cast == kNo<NodeId>) return std::nullopt;
    found.helpers.push_back(cast);
    found.result = OnlyReader(cast, "Mul");
    if (found.result == kNo<NodeId>) return std::nullopt;
    for (const ValueId input : outline_.Inputs(found.result)) {
      if (input == kNo<ValueId>) continue;
      const NodeId scales = outline_[input].producer;
      if (scales != kNo<NodeId> && scales != cast && Op(scales) == "Mul") {
        found.helpers.push_back(scales);
      }
    }
    const NodeId add = OnlyReader(found.result, "Add");
    if (add != kNo<NodeId> && AddsConstant(add, found.result)) found.bias = add;
    return found;
  }

 private:
  std::string_view Op(NodeId node) const { return texts_[outline_[node].op]; }

  NodeId OnlyReader(NodeId node, std::string_view op) const {
    const auto outputs = outline_.Outputs(node);
    if (outputs.empty() || outputs[0] == kNo<ValueId>) return kNo<NodeId>;
    const auto readers = outline_.Consumers(outputs[0]);
    return readers.size() == 1 && Op(readers[0]) == op ? readers[0]
                                                       : kNo<NodeId>;
  }

  // Whether all other operands are weights, or weights in another shape.
  bool AddsConstant(NodeId add, NodeId result) const {
    for (const ValueId input : outline_.Inputs(add)) {
      if (input == kNo<ValueId>) return false;
      const NodeId producer = outline_[input].producer;
      if (producer == kNo<NodeId> || producer == result) continue;
      const auto inputs = outline_.Inputs(producer);
      const bool reshaped = Op(producer) == "Reshape" && !inputs.empty() &&
                            inputs[0] != kNo<ValueId> &&
                            outline_[inputs[0]].producer == kNo<NodeId>;
      if (!reshaped) return false;
    }
    return true;
  }

  const Outline& outline_;
  const Texts& texts_;
};

}  // namespace

std::vector<QuantizedProduct> FindQuantizedProducts(const Outline& outline,
                                                    const Texts& texts) {
  const Finder finder(outline, texts);
  std::vector<QuantizedProduct> products;
  for (const NodeId node : outline.Nodes()) {
    if (std::optional<QuantizedProduct> found = finder.Read(node)) {
      products.push_back(*std::move(found));
    }
  }
  return products;
}

}  // namespace onnx_tag::transfer
