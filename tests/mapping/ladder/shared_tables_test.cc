// Code that several layers share.
#include <gtest/gtest.h>

#include "support/model_builder.h"

namespace onnx_tag {
namespace {

using test::AddNode;
using test::AddParameters;
using test::Mapped;

// Each layer looks a table up and turns its input with it, then goes its own
// way.
schema::ModelProto Layers(bool shared) {
  schema::ModelProto model;
  schema::GraphProto* const graph = model.mutable_graph();
  graph->add_input()->set_name("x");
  std::string at = "x";
  AddNode(graph, "Constant", {}, {"table0"});
  AddNode(graph, "Constant", {}, {"table1"});
  for (int i = 0; i < 2; ++i) {
    const std::string n = std::to_string(i);
    const std::string layer = "layers." + n + ".";
    AddParameters(model, {layer + "a.weight", layer + "b.weight"});
    AddNode(graph, "Gemm", {at, layer + "a.weight"}, {"a" + n});
    AddNode(graph, "Slice", {shared ? "table0" : "table" + n}, {"piece" + n});
    AddNode(graph, "Mul", {"a" + n, "piece" + n}, {"turned" + n});
    AddNode(graph, "Neg", {"turned" + n}, {"n" + n});
    AddNode(graph, i == 0 ? "Sin" : "Cos", {"n" + n}, {"w" + n});
    AddNode(graph, "Gemm", {"w" + n, layer + "b.weight"}, {"b" + n});
    at = "b" + n;
  }
  graph->add_output()->set_name(at);
  return model;
}

TEST(SharedTables, WhatLayersDoWithOneTableIsInNone) {
  const Mapped shared(Layers(true), test::NoBook());
  const Mapped own(Layers(false), test::NoBook());
  for (const std::uint32_t node : {4, 5}) {  // Mul, Neg
    EXPECT_EQ(shared.Module("", node), "") << node;
    EXPECT_EQ(own.Module("", node), "layers.0") << node;
  }
  EXPECT_EQ(shared.Module("", 6), "layers.0");  // they do not all do it
  EXPECT_EQ(shared.Module("", 3), "");          // the piece serves the product
}

}  // namespace
}  // namespace onnx_tag
