// `W_1` beside `W`: a second call, or the twin in another block.
#include <gtest/gtest.h>

#include "support/model_builder.h"

namespace onnx_tag {
namespace {

using test::AddNode;
using test::AddParameters;
using test::Mapped;
using test::NoBook;

// What torch prints for a ModuleList of ModuleDicts: two blocks, each with an
// attention that calls `act` twice.
schema::ModelProto Blocks(const std::string& second) {
  schema::ModelProto model;
  model.set_producer_name("pytorch");
  schema::GraphProto* const graph = model.mutable_graph();
  graph->add_input()->set_name("x");
  AddParameters(model, {"blocks.0.attention.w.bias", second}, 1);
  AddParameters(model, {"onnx::MatMul_1", "onnx::MatMul_2"});
  const auto node = [&](const std::string& op, const std::string& in,
                        const std::string& weight, const std::string& name) {
    test::Names inputs = {in};
    if (!weight.empty()) inputs.push_back(weight);
    AddNode(graph, op, inputs, {name + "_output_0"}, name);
    return name + "_output_0";
  };
  std::string at = "x";
  at = node("MatMul", at, "onnx::MatMul_1", "/attention/w/MatMul");
  at = node("Add", at, "blocks.0.attention.w.bias", "/attention/w/Add");
  at = node("Relu", at, "", "/attention/act/Relu");
  at = node("Relu", at, "", "/attention/act_1/Relu");
  at = node("Softmax", at, "", "/attention/Softmax");
  at = node("MatMul", at, "onnx::MatMul_2", "/attention/w_1/MatMul");
  at = node("Add", at, second, "/attention/w_1/Add");
  at = node("Relu", at, "", "/attention/act_2/Relu");
  at = node("Relu", at, "", "/attention/act_3/Relu");
  at = node("Softmax", at, "", "/attention_1/Softmax");
  graph->add_output()->set_name(at);
  return model;
}

TEST(TwinCalls, ParametersOfTheirOwnMakeTwins) {
  const Mapped mapped(Blocks("blocks.1.attention.w.bias"), NoBook());
  EXPECT_EQ(mapped.Module("", 0), "blocks.0.attention.w");
  EXPECT_EQ(mapped.Module("", 3), "blocks.0.attention.act");
  EXPECT_EQ(mapped.Module("", 4), "blocks.0.attention");
  EXPECT_EQ(mapped.Module("", 5), "blocks.1.attention.w");
  EXPECT_EQ(mapped.Module("", 6), "blocks.1.attention.w");
  EXPECT_EQ(mapped.Module("", 7), "blocks.1.attention.act");
  EXPECT_EQ(mapped.Module("", 8), "blocks.1.attention.act");
  EXPECT_EQ(mapped.Module("", 9), "blocks.1.attention");
}

TEST(TwinCalls, TheSameParameterMakesASecondCall) {
  const Mapped mapped(Blocks("blocks.0.attention.w.bias"), NoBook());
  EXPECT_EQ(mapped.Module("", 5), mapped.Module("", 0));
  EXPECT_EQ(mapped.Module("", 9), mapped.Module("", 4));
}

// `self.conv` that is also an item of `self.net` is called by its first name.
TEST(TwinCalls, WhatASequentialGotElsewhereKeepsItsName) {
  schema::ModelProto model;
  schema::GraphProto* const graph = model.mutable_graph();
  graph->add_input()->set_name("x");
  AddParameters(model, {"block.conv.bias"}, 1);
  AddParameters(model, {"onnx::Conv_1"}, 3);
  AddNode(graph, "Conv", {"x", "onnx::Conv_1", "block.conv.bias"},
          {"/block/net/conv/Conv_output_0"}, "/block/net/conv/Conv");
  AddNode(graph, "Relu", {"/block/net/conv/Conv_output_0"}, {"y"},
          "/block/net/relu/Relu");
  graph->add_output()->set_name("y");
  const Mapped mapped(model, NoBook());
  EXPECT_EQ(mapped.Module("", 0), "block.conv");
  EXPECT_EQ(mapped.Module("", 1), "block.relu");
}

// The parameters know one `code` below `moe`: what holds it is never called.
TEST(TwinCalls, AHolderThatIsNeverCalledIsFoundByItsParameters) {
  schema::ModelProto model;
  schema::GraphProto* const graph = model.mutable_graph();
  graph->add_input()->set_name("x");
  AddParameters(model, {"moe.router.weight", "moe.experts.code.fc.weight"});
  AddNode(graph, "MatMul", {"x", "moe.router.weight"}, {"r"},
          "/moe/router/MatMul");
  AddNode(graph, "Gemm", {"r", "moe.experts.code.fc.weight"}, {"g"});
  AddNode(graph, "Relu", {"g"}, {"y"}, "/moe/code/act/Relu");
  graph->add_output()->set_name("y");
  EXPECT_EQ(Mapped(model, NoBook()).Module("", 2), "moe.experts.code.act");
}

}  // namespace
}  // namespace onnx_tag
