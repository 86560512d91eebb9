// The order in which the modules of a hierarchy are called, as evidence.
#include <gtest/gtest.h>

#include <memory>

#include "clues/recording/module_map.h"
#include "support/model_builder.h"

namespace onnx_tag {
namespace {

using test::AddNode;
using test::Mapped;

Mapped MapWith(std::string_view json, const schema::ModelProto& model) {
  MappingFacts facts;
  facts.hierarchy = std::make_shared<const ModuleMap>(ReadModuleMap(json));
  return Mapped(model, test::NoBook(), facts);
}

void AddWeight(schema::ModelProto& model, const std::string& name,
               const std::vector<int>& dims) {
  schema::TensorProto* const tensor = model.mutable_graph()->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(1);
  for (const int dim : dims) tensor->add_dims(dim);
}

// Two convolutions with an activation behind each.
schema::ModelProto Block() {
  schema::ModelProto model;
  schema::GraphProto* const graph = model.mutable_graph();
  graph->add_input()->set_name("x");
  AddWeight(model, "block.conv_a.weight", {16, 3, 3, 3});
  AddWeight(model, "block.conv_b.weight", {16, 16, 3, 3});
  AddNode(graph, "Conv", {"x", "block.conv_a.weight"}, {"1"});
  AddNode(graph, "Relu", {"1"}, {"2"});
  AddNode(graph, "Conv", {"2", "block.conv_b.weight"}, {"3"});
  AddNode(graph, "Relu", {"3"}, {"y"});
  graph->add_output()->set_name("y");
  return model;
}

TEST(Called, AnActivationIsTheModuleThatIsCalledBetween) {
  const Mapped mapped = MapWith(R"({"modules": {
      "": {"class": "Net", "order": 0},
      "block": {"class": "Block", "order": 1},
      "block.conv_a": {"class": "Conv2d", "order": 2,
                       "parameters": {"weight": [16, 3, 3, 3]}},
      "block.bn_a": {"class": "BatchNorm2d", "order": 3,
                     "parameters": {"weight": [16]}},
      "block.act": {"class": "ReLU", "order": 4},
      "block.conv_b": {"class": "Conv2d", "order": 5,
                       "parameters": {"weight": [16, 16, 3, 3]}}}})",
                                Block());
  EXPECT_EQ(mapped.Module("", 1), "block.act");
  // Nothing is called behind the second convolution: the block itself does it.
  EXPECT_NE(mapped.Module("", 3), "block.act");
}

// A Sequential that ends with the norm that a tool has folded: what follows is
// no part of the norm.
TEST(Called, AClassExcludesOperatorsThatItNeverBecomes) {
  const auto module_of_relu = [](const std::string& class_name) {
    schema::ModelProto model;
    schema::GraphProto* const graph = model.mutable_graph();
    graph->add_input()->set_name("x");
    AddWeight(model, "a.0.weight", {16, 3, 3, 3});
    AddWeight(model, "b.weight", {16, 16, 3, 3});
    AddWeight(model, "onnx::Add_3", {16});  // another folded norm is renamed
    AddNode(graph, "Conv", {"x", "a.0.weight"}, {"1"});
    AddNode(graph, "Relu", {"1"}, {"2"});
    AddNode(graph, "Conv", {"2", "b.weight"}, {"y"});
    graph->add_output()->set_name("y");
    return MapWith(R"({"modules": {"": "Net", "a": "Sequential",
        "a.0": "Conv2d", "b": "Conv2d", "a.1": ")" +
                       class_name + "\"}}",
                   model)
        .Module("", 1);
  };
  EXPECT_EQ(module_of_relu("Activation"), "a.1");
  EXPECT_EQ(module_of_relu("BatchNorm2d"), "");
}

// Weights that lost their names are told by shape and order.
TEST(Called, AProductIsTheModuleWithItsShape) {
  schema::ModelProto model;
  schema::GraphProto* const graph = model.mutable_graph();
  graph->add_input()->set_name("x");
  AddWeight(model, "norm.weight", {8});
  AddWeight(model, "val_1", {8, 24});
  AddWeight(model, "val_2", {24, 8});
  AddNode(graph, "Mul", {"x", "norm.weight"}, {"1"});
  AddNode(graph, "MatMul", {"1", "val_1"}, {"2"});
  AddNode(graph, "Sigmoid", {"2"}, {"3"});
  AddNode(graph, "Mul", {"2", "3"}, {"4"});
  AddNode(graph, "MatMul", {"4", "4"}, {"5"});
  AddNode(graph, "MatMul", {"5", "val_2"}, {"y"});
  graph->add_output()->set_name("y");
  const Mapped mapped = MapWith(R"({"modules": {
      "": {"class": "Net", "order": 0},
      "norm": {"class": "Scale", "order": 1, "parameters": {"weight": [8]}},
      "mlp": {"class": "Mlp", "order": 2},
      "mlp.up": {"class": "Linear", "order": 3,
                 "parameters": {"weight": [24, 8]}},
      "mlp.act": {"class": "SiLU", "order": 4},
      "mlp.down": {"class": "Linear", "order": 5,
                   "parameters": {"weight": [8, 24]}}}})",
                                model);
  EXPECT_EQ(mapped.Module("", 1), "mlp.up");
  EXPECT_EQ(mapped.Module("", 2), "mlp.act");
  EXPECT_EQ(mapped.Module("", 3), "mlp.act");
  EXPECT_EQ(mapped.Module("", 4), "mlp");  // no weight, no Linear
  EXPECT_EQ(mapped.Module("", 5), "mlp.down");
}

// A parametrization has no nodes of its own in the file, so no node is the
// root's for it.
TEST(Called, WhatTheFileLacksIsNotCalledThere) {
  schema::ModelProto model;
  schema::GraphProto* const graph = model.mutable_graph();
  graph->add_input()->set_name("x");
  AddWeight(model, "val_1", {8, 4});
  AddWeight(model, "tower.out.weight", {4, 2});
  AddNode(graph, "MatMul", {"x", "val_1"}, {"1"});
  AddNode(graph, "Relu", {"1"}, {"2"});
  AddNode(graph, "MatMul", {"2", "tower.out.weight"}, {"y"});
  graph->add_output()->set_name("y");
  const Mapped mapped = MapWith(R"({"modules": {
      "": {"class": "Net", "order": 0},
      "tower": {"class": "Tower", "order": 1},
      "tower.in": {"class": "Linear", "order": 2,
                   "parameters": {"weight": [4, 8]}},
      "tower.in.parametrizations": {"class": "ModuleDict"},
      "tower.in.parametrizations.weight": {"class": "Scaled", "order": 3},
      "tower.act": {"class": "ReLU", "order": 4},
      "tower.out": {"class": "Linear", "order": 5,
                    "parameters": {"weight": [2, 4]}}}})",
                                model);
  EXPECT_EQ(mapped.Module("", 0), "tower.in");
  EXPECT_EQ(mapped.Module("", 1), "tower.act");
}

// Tools sort branches side by side, and exporters fold a BatchNorm into the
// convolution before it.
TEST(Called, AnActivationBehindAFoldedNormIsOfItsBranch) {
  schema::ModelProto model;
  schema::GraphProto* const graph = model.mutable_graph();
  graph->add_input()->set_name("x");
  AddWeight(model, "a.conv.weight", {4, 3, 3, 3});
  AddWeight(model, "b.conv.weight", {4, 3, 3, 3});
  AddNode(graph, "Conv", {"x", "a.conv.weight"}, {"1"});
  AddNode(graph, "Conv", {"x", "b.conv.weight"}, {"2"});
  AddNode(graph, "Relu", {"2"}, {"3"});
  AddNode(graph, "Relu", {"1"}, {"4"});
  AddNode(graph, "Concat", {"3", "4"}, {"y"});
  graph->add_output()->set_name("y");
  const Mapped mapped = MapWith(R"({"modules": {
      "": {"class": "Net", "order": 0},
      "a": {"class": "Branch", "order": 1},
      "a.conv": {"class": "Conv2d", "order": 2,
                 "parameters": {"weight": [4, 3, 3, 3]}},
      "a.bn": {"class": "BatchNorm2d", "order": 3,
               "parameters": {"weight": [4]}},
      "a.act": {"class": "ReLU", "order": 4},
      "b": {"class": "Branch", "order": 5},
      "b.conv": {"class": "Conv2d", "order": 6,
                 "parameters": {"weight": [4, 3, 3, 3]}},
      "b.bn": {"class": "BatchNorm2d", "order": 7,
               "parameters": {"weight": [4]}},
      "b.act": {"class": "ReLU", "order": 8}}})",
                                model);
  EXPECT_EQ(mapped.Module("", 2), "b.act");
  EXPECT_EQ(mapped.Module("", 3), "a.act");
}

TEST(Called, WhatIsJoinedOrTurnedForALinearIsItsCallers) {
  schema::ModelProto model;
  schema::GraphProto* const graph = model.mutable_graph();
  graph->add_input()->set_name("x");
  AddWeight(model, "val_1", {8, 4});
  AddWeight(model, "val_2", {8, 4});
  AddWeight(model, "val_3", {6, 2});
  AddNode(graph, "MatMul", {"x", "val_1"}, {"1"});
  AddNode(graph, "MatMul", {"x", "val_2"}, {"2"});
  AddNode(graph, "Concat", {"1", "2"}, {"3"});
  AddNode(graph, "Transpose", {"3"}, {"4"});
  AddNode(graph, "MatMul", {"4", "val_3"}, {"y"});
  graph->add_output()->set_name("y");
  const Mapped mapped = MapWith(R"({"modules": {
      "": {"class": "Net", "order": 0},
      "net": {"class": "Two", "order": 1},
      "net.a": {"class": "Linear", "order": 2,
                "parameters": {"weight": [4, 8]}},
      "net.b": {"class": "Linear", "order": 3,
                "parameters": {"weight": [4, 8]}},
      "net.c": {"class": "Linear", "order": 4,
                "parameters": {"weight": [2, 6]}}}})",
                                model);
  EXPECT_EQ(mapped.Module("", 1), "net.b");
  EXPECT_EQ(mapped.Module("", 2), "net");
  EXPECT_EQ(mapped.Module("", 3), "net");
  EXPECT_EQ(mapped.Module("", 4), "net.c");
}

// The hierarchy places the product in integers; the rest of it goes along.
TEST(Called, WhatAQuantizerMadeOfACalledProductGoesAlong) {
  schema::ModelProto model;
  schema::GraphProto* const graph = model.mutable_graph();
  graph->add_input()->set_name("x");
  AddWeight(model, "block.first.weight", {16, 3, 3, 3});
  AddWeight(model, "onnx::Conv_1_quantized", {16, 16, 3, 3});
  AddWeight(model, "onnx::Conv_1_scale", {});
  AddWeight(model, "onnx::Conv_1_zero_point", {});
  AddWeight(model, "block.last.weight", {8, 16, 3, 3});
  AddNode(graph, "Conv", {"x", "block.first.weight"}, {"1"});
  AddNode(graph, "DynamicQuantizeLinear", {"1"}, {"q", "s", "z"});
  AddNode(graph, "Mul", {"s", "onnx::Conv_1_scale"}, {"scales"});
  AddNode(graph, "ConvInteger",
          {"q", "onnx::Conv_1_quantized", "z", "onnx::Conv_1_zero_point"},
          {"2"});
  AddNode(graph, "Cast", {"2"}, {"3"});
  AddNode(graph, "Mul", {"3", "scales"}, {"4"});
  AddNode(graph, "Conv", {"4", "block.last.weight"}, {"y"});
  graph->add_output()->set_name("y");
  const Mapped mapped = MapWith(R"({"modules": {
      "": {"class": "Net", "order": 0},
      "block": {"class": "Block", "order": 1},
      "block.first": {"class": "Conv2d", "order": 2,
                      "parameters": {"weight": [16, 3, 3, 3]}},
      "block.mid": {"class": "Conv2d", "order": 3,
                    "parameters": {"weight": [16, 16, 3, 3]}},
      "block.bn": {"class": "BatchNorm2d", "order": 4,
                   "parameters": {"weight": [16]}},
      "block.last": {"class": "Conv2d", "order": 5,
                     "parameters": {"weight": [8, 16, 3, 3]}}}})",
                                model);
  EXPECT_EQ(mapped.Module("", 3), "block.mid");
  EXPECT_EQ(mapped.Module("", 2), "block.mid");
  EXPECT_EQ(mapped.Module("", 5), "block.mid");
}

// In a Sequential nobody else runs: what is between two items is the item that
// is called between them.
TEST(Called, AModuleOfUnknownClassHasWhatItsNeighboursLeave) {
  schema::ModelProto model = Block();
  model.mutable_graph()->mutable_node(1)->set_op_type("Slice");
  const Mapped mapped = MapWith(R"({"modules": {
      "": {"class": "Net", "order": 0},
      "block": {"class": "Sequential", "order": 1},
      "block.conv_a": {"class": "Conv2d", "order": 2},
      "block.chomp": {"class": "Chomp1d", "order": 3},
      "block.conv_b": {"class": "Conv2d", "order": 4},
      "block.act": {"class": "ReLU", "order": 5}}})",
                                model);
  EXPECT_EQ(mapped.Module("", 1), "block.chomp");
  EXPECT_EQ(mapped.Module("", 3), "block.act");
}

// Rotary positions are computed from a table. What scales the embeddings reads
// none.
TEST(Called, AModuleWithATableHasNothingThatReadsNone) {
  for (const bool reads : {true, false}) {
    schema::ModelProto model;
    schema::GraphProto* const graph = model.mutable_graph();
    graph->add_input()->set_name("ids");
    AddWeight(model, "net.emb.weight", {10, 4});
    AddWeight(model, "val_1", reads ? std::vector<int>{4} : std::vector<int>{});
    AddWeight(model, "net.norm.weight", {4});
    AddWeight(model, "net.norm.bias", {4});
    AddNode(graph, "Gather", {"net.emb.weight", "ids"}, {"1"});
    AddNode(graph, "Mul", {"1", "val_1"}, {"2"});
    AddNode(graph, "LayerNormalization",
            {"2", "net.norm.weight", "net.norm.bias"}, {"y"});
    graph->add_output()->set_name("y");
    const Mapped mapped = MapWith(R"({"modules": {
        "": {"class": "Model", "order": 0},
        "net": {"class": "Net", "order": 1},
        "net.emb": {"class": "Embedding", "order": 2,
                    "parameters": {"weight": [10, 4]}},
        "net.positions": {"class": "Positions", "order": 3,
                          "buffers": {"table": [4]}},
        "net.norm": {"class": "LayerNorm", "order": 4,
                     "parameters": {"weight": [4], "bias": [4]}}}})",
                                  model);
    EXPECT_EQ(mapped.Module("", 1), reads ? "net.positions" : "net");
  }
}

// A tool has sorted two branches side by side, and their norms have lost their
// weights: each follows its own convolution.
TEST(Called, PartsOfABranchFollowTheirOwnSequential) {
  schema::ModelProto model;
  schema::GraphProto* const graph = model.mutable_graph();
  graph->add_input()->set_name("x");
  AddWeight(model, "a.0.weight", {8, 8, 3, 3});
  AddWeight(model, "b.0.weight", {8, 8, 3, 3});
  AddWeight(model, "ones", {4});
  AddNode(graph, "Conv", {"x", "b.0.weight"}, {"b0"});
  AddNode(graph, "Conv", {"x", "a.0.weight"}, {"a0"});
  AddNode(graph, "Reshape", {"a0", "shape"}, {"a1"});
  AddNode(graph, "Reshape", {"b0", "shape"}, {"b1"});
  AddNode(graph, "InstanceNormalization", {"b1", "ones", "ones"}, {"b2"});
  AddNode(graph, "InstanceNormalization", {"a1", "ones", "ones"}, {"a2"});
  AddNode(graph, "Relu", {"a2"}, {"a"});
  AddNode(graph, "Relu", {"b2"}, {"b"});
  graph->add_output()->set_name("a");
  graph->add_output()->set_name("b");
  const Mapped mapped = MapWith(R"({"modules": {
      "": {"class": "Net", "order": 0},
      "a": {"class": "Sequential", "order": 1},
      "a.0": {"class": "Conv2d", "order": 2,
              "parameters": {"weight": [8, 8, 3, 3]}},
      "a.1": {"class": "GroupNorm", "order": 3},
      "a.2": {"class": "ReLU", "order": 4},
      "b": {"class": "Sequential", "order": 5},
      "b.0": {"class": "Conv2d", "order": 6,
              "parameters": {"weight": [8, 8, 3, 3]}},
      "b.1": {"class": "GroupNorm", "order": 7},
      "b.2": {"class": "ReLU", "order": 8}}})",
                                model);
  EXPECT_EQ(mapped.Module("", 4), "b.1");
  EXPECT_EQ(mapped.Module("", 5), "a.1");
  EXPECT_EQ(mapped.Module("", 6), "a.2");
  EXPECT_EQ(mapped.Module("", 7), "b.2");
}

}  // namespace
}  // namespace onnx_tag
