// Where the border of a module lies, by the values that cross it.
#include <gtest/gtest.h>

#include "mapping/ladder/rungs/layer_bounds.h"
#include "support/model_builder.h"

namespace onnx_tag {
namespace {

using test::AddNode;
using test::AddParameters;
using test::Mapped;
using test::NoBook;

// A GRUCell written out, between two other layers, in `steps` steps.
schema::ModelProto Cell(int steps) {
  schema::ModelProto model;
  schema::GraphProto* const graph = model.mutable_graph();
  graph->add_input()->set_name("x");
  AddParameters(model, {"embed.weight", "head.weight", "cell.weight_ih",
                        "cell.weight_hh", "cell.mix"});
  AddNode(graph, "MatMul", {"x", "embed.weight"}, {"h0"});
  std::string h = "h0";
  for (int i = 0; i < steps; ++i) {
    const std::string n = std::to_string(i);
    AddNode(graph, "MatMul", {"x", "cell.weight_ih"}, {"i" + n});
    AddNode(graph, "MatMul", {h, "cell.weight_hh"}, {"g" + n});
    AddNode(graph, "Split", {"i" + n}, {"i0" + n, "i1" + n});
    AddNode(graph, "Split", {"g" + n}, {"g0" + n, "g1" + n});
    AddNode(graph, "Add", {"i0" + n, "g0" + n}, {"r" + n});
    AddNode(graph, "Sigmoid", {"r" + n}, {"z" + n});
    AddNode(graph, "Mul", {"z" + n, "g1" + n}, {"q" + n});
    AddNode(graph, "Add", {"i1" + n, "q" + n}, {"p" + n});
    AddNode(graph, "Tanh", {"p" + n}, {"t" + n});
    h = "t" + n;
  }
  AddNode(graph, "MatMul", {h, "head.weight"}, {"y"});
  graph->add_output()->set_name("y");
  return model;
}

// Behind the products four values would leave the cell, behind its gates one.
TEST(CallRegions, ACellOwnsItsGates) {
  const Mapped mapped(Cell(1), NoBook());
  for (std::uint32_t node = 1; node <= 8; ++node) {
    EXPECT_EQ(mapped.Module("", node), "cell") << node;
  }
}

// The table of operators has no weight of an Einsum: its constant is the code's
// own, not the weight of an unknown layer.
TEST(CallRegions, AnEinsumWithAConstantHidesNoModule) {
  schema::ModelProto model = Cell(1);
  AddParameters(model, {"onnx::Einsum_1"});
  schema::NodeProto* const gate = model.mutable_graph()->mutable_node(6);
  ASSERT_EQ(gate->op_type(), "Sigmoid");
  gate->set_op_type("Einsum");
  gate->add_input("onnx::Einsum_1");
  const Mapped mapped(model, NoBook());
  for (std::uint32_t node = 1; node <= 8; ++node) {
    EXPECT_EQ(mapped.Module("", node), "cell") << node;
  }
}

// A convolution in a block, read by two others behind it: one value leaves it,
// wherever the border is, so nothing is taken.
TEST(CallRegions, OfEqualBordersTheInnerOneIsTaken) {
  schema::ModelProto model;
  schema::GraphProto* const graph = model.mutable_graph();
  graph->add_input()->set_name("x");
  AddParameters(model, {"a.conv.weight", "a.more.weight", "b.conv.weight"}, 4);
  AddNode(graph, "Conv", {"x", "a.conv.weight"}, {"1"});
  AddNode(graph, "Conv", {"1", "a.more.weight"}, {"2"});
  AddNode(graph, "MaxPool", {"2"}, {"3"});
  AddNode(graph, "Conv", {"3", "b.conv.weight"}, {"y"});
  graph->add_output()->set_name("y");
  EXPECT_EQ(Mapped(model, NoBook()).Module("", 2), "");
}

}  // namespace
}  // namespace onnx_tag
