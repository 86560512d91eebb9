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

// A quantized embedding has a stored scale as well: the product of both scales
// is part of the layer that multiplies by it.
TEST(Quantized, AProductOfStoredScalesIsNotTheEmbeddings) {
  schema::ModelProto model;
  schema::GraphProto* const graph = model.mutable_graph();
  graph->add_input()->set_name("ids");
  AddParameters(model, {"embed.weight_quantized", "fc.weight_quantized"}, 2);
  AddParameters(model,
                {"embed.weight_scale", "embed.weight_zero_point",
                 "fc.weight_scale", "fc.weight_zero_point"},
                0);
  AddNode(graph, "Gather", {"embed.weight_quantized", "ids"}, {"e"});
  AddNode(graph, "Mul", {"embed.weight_scale", "fc.weight_scale"}, {"s"});
  AddNode(graph, "MatMulInteger",
          {"e", "fc.weight_quantized", "embed.weight_zero_point",
           "fc.weight_zero_point"},
          {"p"});
  AddNode(graph, "Cast", {"p"}, {"f"});
  AddNode(graph, "Mul", {"f", "s"}, {"y"});
  graph->add_output()->set_name("y");
  const Mapped mapped(model, test::NoBook());
  EXPECT_EQ(mapped.Module("", 0), "embed");
  for (const std::uint32_t node : {1u, 2u, 3u, 4u}) {
    EXPECT_EQ(mapped.Module("", node), "fc") << node;
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
