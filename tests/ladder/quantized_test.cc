// Products that a dynamic quantizer took apart.
#include <gtest/gtest.h>

#include "support/model_builder.h"

namespace onnx_tag {
namespace {

using test::AddNode;
using test::AddParameters;
using test::Mapped;

// One quantized convolution between two others; `weight` names its tensors.
schema::ModelProto Quantized(const std::string& weight,
                             const std::string& bias) {
  schema::ModelProto model;
  schema::GraphProto* const graph = model.mutable_graph();
  graph->add_input()->set_name("x");
  AddParameters(model, {"first.weight", "last.weight", weight + "_quantized"},
                4);
  AddParameters(model, {weight + "_scale", weight + "_zero_point"}, 0);
  AddParameters(model, {bias}, 1);
  AddNode(graph, "Conv", {"x", "first.weight"}, {"a"});
  AddNode(graph, "DynamicQuantizeLinear", {"a"}, {"a_q", "a_s", "a_z"});
  AddNode(graph, "Mul", {"a_s", weight + "_scale"}, {"s"});
  AddNode(graph, "ConvInteger",
          {"a_q", weight + "_quantized", "a_z", weight + "_zero_point"}, {"c"});
  AddNode(graph, "Cast", {"c"}, {"f"});
  AddNode(graph, "Mul", {"f", "s"}, {"m"});
  AddNode(graph, "Add", {"m", bias}, {"b"});
  AddNode(graph, "Conv", {"b", "last.weight"}, {"y"});
  graph->add_output()->set_name("y");
  return model;
}

// The scale that another node reads is no second reader of the weight.
TEST(Quantized, AllPartsAreTheWeightsModule) {
  const Mapped mapped(Quantized("block.conv.weight", "onnx::Add_1"),
                      test::NoBook());
  for (const std::uint32_t node : {2u, 3u, 4u, 5u, 6u}) {
    EXPECT_EQ(mapped.Module("", node), "block.conv") << node;
  }
}

TEST(Quantized, TheBiasSaysItWhereTheWeightHasNoName) {
  const Mapped mapped(Quantized("val_7", "block.conv.bias"), test::NoBook());
  for (const std::uint32_t node : {2u, 3u, 4u, 5u, 6u}) {
    EXPECT_EQ(mapped.Module("", node), "block.conv") << node;
  }
}

}  // namespace
}  // namespace onnx_tag
