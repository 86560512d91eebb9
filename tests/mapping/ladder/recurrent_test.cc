// Recurrent layers that were written out step by step.
#include <gtest/gtest.h>

#include "support/model_builder.h"

namespace onnx_tag {
namespace {

using test::AddNode;
using test::AddParameters;
using test::Mapped;

// Two steps of `rnn`, with `between` after the first.
schema::ModelProto TwoSteps(const std::string& between) {
  schema::ModelProto model;
  schema::GraphProto* const graph = model.mutable_graph();
  graph->add_input()->set_name("x");
  AddParameters(model, {"rnn.weight_ih_l0", "rnn.weight_hh_l0", between});
  AddParameters(model, {"rnn.bias_ih_l0", "rnn.bias_hh_l0"}, 1);
  schema::TensorProto* const shape = graph->add_initializer();
  shape->set_name("post_shape");
  shape->set_data_type(7);
  shape->add_dims(3);
  AddNode(graph, "Gemm", {"x", "rnn.weight_ih_l0", "rnn.bias_ih_l0"}, {"a"});
  AddNode(graph, "Reshape", {"a", "post_shape"}, {"b"});
  AddNode(graph, "Tanh", {"b"}, {"c"});
  AddNode(graph, "MatMul", {"c", between}, {"d"});
  AddNode(graph, "Gemm", {"d", "rnn.weight_hh_l0", "rnn.bias_hh_l0"}, {"e"});
  AddNode(graph, "Tanh", {"e"}, {"f"});
  AddNode(graph, "Gemm", {"f", "rnn.weight_hh_l0", "rnn.bias_hh_l0"}, {"y"});
  graph->add_output()->set_name("y");
  return model;
}

// The Reshape reads a shape with a word for a name, which is nobody's
// parameter.
TEST(Recurrent, WhatLiesBetweenItsStepsIsItsOwn) {
  const Mapped mapped(TwoSteps("rnn.weight_hr_l0"));
  for (const std::uint32_t node : {1u, 2u, 5u}) {
    EXPECT_EQ(mapped.Module("", node), "rnn") << node;
  }
}

TEST(Recurrent, ACellThatOthersStandBetweenSaysNothing) {
  const Mapped mapped(TwoSteps("attention.weight"), test::NoBook());
  EXPECT_EQ(mapped.Module("", 3), "attention");
  EXPECT_NE(mapped.Module("", 2), "rnn");
}

}  // namespace
}  // namespace onnx_tag
