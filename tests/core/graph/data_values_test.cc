#include "core/graph/data_values.h"

#include <gtest/gtest.h>

#include "core/graph/graph_facts.h"
#include "support/model_builder.h"
#include "support/model_lines.h"

namespace onnx_tag {
namespace {

using test::InABranch;
using test::ModelLines;

// "data", "made", "size" or "constant", as the users of the facts ask.
std::string KindOf(const GraphFacts& facts, ValueId value) {
  if (facts.data.Contains(value)) return "data";
  if (facts.data.IsSize(value)) return "size";
  if (facts.data.IsComputed(value)) {
    return facts.data.IsConstant(value) ? "made of constants" : "made";
  }
  return "constant";
}

std::string KindOf(const ModelLines& lines, const std::string& value) {
  return KindOf(GraphFacts(lines.model()), lines.Value(value));
}

TEST(DataValuesTest, DataIsWhatDependsOnAnInputAndNotOnItsShape) {
  const ModelLines lines({"MatMul x w -> a", "Shape a -> s", "Add w w -> c",
                          "Reshape w s -> r", "Reshape a s -> d"},
                         {{"w", 2}});
  EXPECT_EQ(KindOf(lines, "a"), "data");
  EXPECT_EQ(KindOf(lines, "s"), "size");
  EXPECT_EQ(KindOf(lines, "c"), "constant");
  EXPECT_EQ(KindOf(lines, "d"), "data");
  // A weight in a shape of the input's size is no size.
  EXPECT_EQ(KindOf(lines, "r"), "made");
}

TEST(DataValuesTest, WhatIsComputedFromSizesIsASize) {
  const ModelLines lines(
      {"Shape x -> s", "Gather s i -> n", "Mul n i -> m", "Concat m n -> c",
       "Range i n i -> r", "Gather w n -> row", "Expand w s -> e",
       "Slice w i n -> part"},
      {{"i", 0}, {"w", 2}});
  for (const char* size : {"s", "n", "m", "c"}) {
    EXPECT_EQ(KindOf(lines, size), "size") << size;
  }
  for (const char* made : {"r", "row", "e", "part"}) {
    EXPECT_EQ(KindOf(lines, made), "made") << made;
  }
}

TEST(DataValuesTest, AProductOfWeightsIsComputedAndConstant) {
  const ModelLines lines({"MatMul q w -> p", "Transpose p -> t"},
                         {{"q", 2}, {"w", 2}});
  EXPECT_EQ(KindOf(lines, "p"), "made of constants");
  EXPECT_EQ(KindOf(lines, "t"), "made of constants");
}

TEST(DataValuesTest, RandomNumbersAreData) {
  const ModelLines lines({"RandomNormal -> noise", "Mul noise w -> y"},
                         {{"w", 2}});
  EXPECT_EQ(KindOf(lines, "y"), "data");
}

TEST(DataValuesTest, TheShapeOfAConstantIsAConstant) {
  const ModelLines lines({"Shape w -> s", "Reshape w s -> y"}, {{"w", 2}});
  EXPECT_EQ(KindOf(lines, "s"), "constant");
  EXPECT_EQ(KindOf(lines, "y"), "constant");
}

// float16 converters put Casts behind their readers.
TEST(DataValuesTest, AFileNeedNotBeSorted) {
  const ModelLines lines({"Add c w -> y", "Cast a -> c", "Relu x -> a",
                          "Mul k w -> l", "Cast w -> k"},
                         {{"w", 2}});
  EXPECT_EQ(KindOf(lines, "y"), "data");
  EXPECT_EQ(KindOf(lines, "c"), "data");
  EXPECT_EQ(KindOf(lines, "l"), "constant");
}

TEST(DataValuesTest, AnInputThatStandsForAWeightIsConstant) {
  const ModelLines lines({"Relu x -> y"}, {});
  EXPECT_EQ(
      KindOf(GraphFacts(lines.model(), {lines.Value("x")}), lines.Value("y")),
      "constant");
}

TEST(DataValuesTest, ABranchMakesDataAndSeesWhatIsOutside) {
  const std::string bytes = InABranch(
      ModelLines({"Transpose w -> t", "MatMul x t -> y"}, {{"w", 2}}).bytes());
  const Model model = ReadModel(bytes);
  const GraphFacts facts(model);
  EXPECT_TRUE(facts.data.IsMadeBy(NodeId{0}));   // If
  EXPECT_FALSE(facts.data.IsMadeBy(NodeId{1}));  // Transpose
  EXPECT_TRUE(facts.data.IsMadeBy(NodeId{2}));   // MatMul
}

TEST(DataValuesTest, TheInputsOfAFunctionAreThoseOfItsFirstCall) {
  schema::ModelProto proto;
  proto.mutable_graph()->add_input()->set_name("x");
  test::AddParameters(proto, {"w"});
  test::AddNode(proto.mutable_graph(), "F", {"x", "w"}, {"y"}, "", "my");
  schema::FunctionProto* const body =
      test::AddFunction(proto, "my", "F", {"a", "b"}, {"c"});
  test::AddNode(body, "Transpose", {"b"}, {"t"});
  test::AddNode(body, "MatMul", {"a", "t"}, {"c"});
  schema::FunctionProto* const uncalled =
      test::AddFunction(proto, "my", "G", {"a"}, {"c"});
  test::AddNode(uncalled, "Relu", {"a"}, {"c"});
  const std::string bytes = proto.SerializeAsString();
  const Model model = ReadModel(bytes);
  const GraphFacts facts(model);
  EXPECT_FALSE(facts.data.IsMadeBy(NodeId{1}));  // Transpose
  EXPECT_TRUE(facts.data.IsMadeBy(NodeId{2}));   // MatMul
  EXPECT_TRUE(facts.data.IsMadeBy(NodeId{3}));   // Relu: nobody calls it
}

}  // namespace
}  // namespace onnx_tag
