#include "core/graph/order.h"

#include <gtest/gtest.h>

#include "support/model_lines.h"

namespace onnx_tag {
namespace {

using test::ModelLines;

std::string Text(const std::vector<NodeId>& nodes) {
  std::string text;
  for (const NodeId node : nodes) text += std::to_string(Index(node));
  return text;
}

TEST(OrderTest, TheOrderOfASortedFileIsThatOfTheFile) {
  const ModelLines lines({"Relu x -> a", "Exp x -> b", "Add b a -> y"}, {});
  EXPECT_EQ(Text(ExecutionOrder(lines.model(), GraphId{0})), "012");
  EXPECT_EQ(Text(ExecutionOrder(lines.model())), "012");
}

TEST(OrderTest, AFileThatIsNotSortedIsSorted) {
  const ModelLines lines(
      {"Add b a -> y", "Exp c -> b", "Relu x -> a", "Neg x -> c"}, {});
  EXPECT_EQ(Text(ExecutionOrder(lines.model(), GraphId{0})), "3120");
  EXPECT_EQ(Text(ExecutionOrder(lines.model())), "3120");
}

// What belongs to one operand stands together, whatever the file says.
TEST(OrderTest, DepthFirstKeepsOperandsTogether) {
  const ModelLines lines({"Relu x -> a", "Exp x -> b", "Relu a -> c",
                          "Exp b -> d", "Add d c -> y"},
                         {});
  EXPECT_EQ(Text(DepthFirstOrder(lines.model(), GraphId{0})), "13024");
}

TEST(OrderTest, ACycleIsCut) {
  const ModelLines lines({"Add b x -> a", "Relu a -> b", "Exp b -> y"}, {});
  EXPECT_EQ(Text(ExecutionOrder(lines.model(), GraphId{0})), "102");
}

// A branch reads what its nodes read.
TEST(OrderTest, WhatABranchReadsPrecedesItsNode) {
  const std::string plain =
      ModelLines({"Relu late -> y", "Exp x -> late"}, {}).bytes();
  schema::ModelProto proto;
  proto.ParseFromString(plain);
  schema::GraphProto* const main = proto.mutable_graph();
  schema::NodeProto inner = main->node(0);
  schema::NodeProto* const branch = main->mutable_node(0);
  branch->set_op_type("If");
  branch->set_input(0, "x");
  schema::AttributeProto* const attribute = branch->add_attribute();
  attribute->set_name("then_branch");
  inner.set_output(0, "inner");
  *attribute->mutable_g()->add_node() = inner;
  const std::string bytes = proto.SerializeAsString();
  const Model model = ReadModel(bytes);
  // 0 is the If, 1 the node inside.
  EXPECT_EQ(Text(ExecutionOrder(model, GraphId{0})), "20");
}

}  // namespace
}  // namespace onnx_tag
