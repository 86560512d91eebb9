// Shapes as formulas: rules of operators, numbers that compute shapes, what the
// file records. tools/checks/check_shapes.py compares all rules with ONNX
// Runtime.
#include <gmock/gmock.h>

#include "maker.h"

namespace onnx_tag::test {
namespace {

using ::testing::SizeIs;

TEST(ShapesTest, NamedDimensionsGoThroughAnAttention) {
  // As exporters write view(b, s, heads, size).transpose(1, 2).
  Maker maker;
  maker.Input("x", "batch sequence 64").Scalar("zero", 0).Scalar("one", 1);
  maker.Ints("front", {0}).Ints("heads", {4}).Ints("rest", {-1});
  maker.Node("Shape", {"x"}, {"shape"});
  maker.Node("Gather", {"shape", "zero"}, {"b"});
  maker.Node("Gather", {"shape", "one"}, {"s"});
  maker.Node("Unsqueeze", {"b", "front"}, {"b1"});
  maker.Node("Unsqueeze", {"s", "front"}, {"s1"});
  maker.Node("Concat", {"b1", "s1", "heads", "rest"}, {"view"})
      .Attribute("axis", 0);
  maker.Node("Reshape", {"x", "view"}, {"split"});
  maker.Node("Transpose", {"split"}, {"q"}).Attribute("perm", {0, 2, 1, 3});
  maker.Node("Transpose", {"split"}, {"k"}).Attribute("perm", {0, 2, 3, 1});
  maker.Node("MatMul", {"q", "k"}, {"scores"});
  const Known known(maker);
  EXPECT_EQ(known.ShapeOf("split"), "[batch, sequence, 4, 16]");
  EXPECT_EQ(known.ShapeOf("scores"), "[batch, 4, sequence, sequence]");
  EXPECT_EQ(known.Flops(9), "128·batch·sequence²");
}

TEST(ShapesTest, PastAndPresentAddUp) {
  Maker maker;
  maker.Input("past", "batch 4 past 16").Input("k", "batch 4 sequence 16");
  maker.Node("Concat", {"past", "k"}, {"all"}).Attribute("axis", 2);
  maker.Ints("from", {-1}).Ints("to", {9223372036854775807}).Ints("axis", {2});
  maker.Node("Slice", {"all", "from", "to", "axis"}, {"last"});
  const Known known(maker);
  EXPECT_EQ(known.ShapeOf("all"), "[batch, 4, past + sequence, 16]");
  EXPECT_EQ(known.ShapeOf("last"), "[batch, 4, 1, 16]");
}

TEST(ShapesTest, WindowsHalveAnImage) {
  Maker maker;
  maker.Input("x", "1 3 height width").Weight("w", {8, 3, 3, 3});
  maker.Node("Conv", {"x", "w"}, {"c"})
      .Attribute("strides", {2, 2})
      .Attribute("pads", {1, 1, 1, 1});
  maker.Node("MaxPool", {"c"}, {"p"})
      .Attribute("kernel_shape", {3, 3})
      .Attribute("strides", {2, 2})
      .Attribute("ceil_mode", 1);
  maker.Node("AveragePool", {"c"}, {"same"})
      .Attribute("kernel_shape", {3, 3})
      .Attribute("strides", {2, 2})
      .TextAttribute("auto_pad", "SAME_UPPER");
  maker.Floats("scales", {1, 1, 2, 2});
  maker.Node("Resize", {"c", "", "scales"}, {"up"});
  maker.Node("GlobalAveragePool", {"p"}, {"g"});
  const Known known(maker);
  EXPECT_EQ(known.ShapeOf("c"), "[1, 8, ceil(height/2), ceil(width/2)]");
  EXPECT_EQ(known.ShapeOf("p"),
            "[1, 8, floor((height + 1)/4), floor((width + 1)/4)]");
  EXPECT_EQ(known.ShapeOf("same"), "[1, 8, ceil(height/4), ceil(width/4)]");
  EXPECT_EQ(known.ShapeOf("up"), "[1, 8, 2·ceil(height/2), 2·ceil(width/2)]");
  EXPECT_EQ(known.ShapeOf("g"), "[1, 8, 1, 1]");
}

TEST(ShapesTest, AnExpandWithAWhereKeepsItsDimensions) {
  // As TorchScript writes expand(b, -1, s).
  Maker maker;
  maker.Input("x", "1 1 sequence").Input("ids", "batch sequence", 7);
  maker.Ints("three", {3}).Ints("minus", {-1}).Scalar("zero", 0);
  maker.Ints("front", {0}).Ints("ones", {1});
  maker.Node("Shape", {"ids"}, {"shape"});
  maker.Node("Gather", {"shape", "zero"}, {"b"});
  maker.Node("Unsqueeze", {"b", "front"}, {"b1"});
  maker.Node("Concat", {"b1", "minus", "minus"}, {"wanted"})
      .Attribute("axis", 0);
  maker.Node("ConstantOfShape", {"three"}, {"fill"});
  maker.Node("Equal", {"wanted", "minus"}, {"open"});
  maker.Node("Where", {"open", "ones", "wanted"}, {"sizes"});
  maker.Node("Expand", {"x", "sizes"}, {"y"});
  EXPECT_EQ(Known(maker).ShapeOf("y"), "[batch, 1, sequence]");
}

TEST(ShapesTest, RangesAndFillsHaveTheirSize) {
  Maker maker;
  maker.Input("ids", "batch sequence", 7).Input("past", "batch past 8");
  maker.Scalar("zero", 0).Scalar("one", 1);
  maker.Node("Shape", {"ids"}, {"a"}).Node("Gather", {"a", "one"}, {"s"});
  maker.Node("Shape", {"past"}, {"c"}).Node("Gather", {"c", "one"}, {"p"});
  maker.Node("Add", {"p", "s"}, {"total"});
  maker.Node("Range", {"p", "total", "one"}, {"positions"});
  maker.Node("Range", {"zero", "total", "one"}, {"all"});
  maker.Node("ConstantOfShape", {"a"}, {"fill"});
  maker.Node("NonZero", {"fill"}, {"none"});
  const Known known(maker);
  EXPECT_EQ(known.ShapeOf("positions"), "[sequence]");
  EXPECT_EQ(known.ShapeOf("all"), "[sequence + past]");
  EXPECT_EQ(known.ShapeOf("fill"), "[batch, sequence]");
  EXPECT_EQ(known.ShapeOf("none"), "[2, 0]") << "all are zero";
}

TEST(ShapesTest, FractionsOfSizesAreFollowed) {
  // int(floor(float(s) * 0.5)) and s // 3 * 3.
  Maker maker;
  maker.Input("x", "sequence").Scalar("zero", 0).Scalar("three", 3);
  maker.Floats("half", {0.5F}).Ints("front", {0});
  maker.Node("Shape", {"x"}, {"shape"});
  maker.Node("Cast", {"shape"}, {"float"}).Attribute("to", 1);
  maker.Node("Mul", {"float", "half"}, {"halved"});
  maker.Node("Floor", {"halved"}, {"down"});
  maker.Node("Cast", {"down"}, {"whole"}).Attribute("to", 7);
  maker.Node("ConstantOfShape", {"whole"}, {"y"});
  maker.Node("Div", {"shape", "three"}, {"third"});
  maker.Node("Mul", {"third", "three"}, {"multiple"});
  maker.Node("Mod", {"shape", "three"}, {"rest"});
  maker.Node("Add", {"multiple", "rest"}, {"again"});
  maker.Node("ConstantOfShape", {"again"}, {"z"});
  const Known known(maker);
  EXPECT_EQ(known.ShapeOf("y"), "[floor(sequence/2)]");
  EXPECT_EQ(known.ShapeOf("z"), "[sequence]");
}

TEST(ShapesTest, ThePadsThatTorchScriptTurnsAroundAreFollowed) {
  // Reshape, backwards Slice, Transpose and Reshape of [left, right, 0...].
  Maker maker;
  maker.Input("x", "batch 3 length").Ints("pads", {2, 5, 0, 0, 0, 0});
  maker.Ints("pairs", {-1, 2}).Ints("flat", {-1});
  maker.Ints("from", {-1}).Ints("to", {-9223372036854775807}).Ints("axis", {0});
  maker.Ints("step", {-1});
  maker.Node("Reshape", {"pads", "pairs"}, {"rows"});
  maker.Node("Slice", {"rows", "from", "to", "axis", "step"}, {"turned"});
  maker.Node("Transpose", {"turned"}, {"columns"}).Attribute("perm", {1, 0});
  maker.Node("Reshape", {"columns", "flat"}, {"list"});
  maker.Node("Pad", {"x", "list"}, {"y"});
  EXPECT_EQ(Known(maker).ShapeOf("y"), "[batch, 3, length + 7]");
}

TEST(ShapesTest, WhatDependsOnDataGetsANameOfItsOwn) {
  Maker maker;
  maker.Input("x", "batch 5").Input("k", "1", 7);
  maker.Node("NonZero", {"x"}, {"places"});
  maker.Node("Transpose", {"places"}, {"rows"});
  maker.Node("TopK", {"x", "k"}, {"best", "which"});
  maker.Node("Unique", {"x"}, {"values"});
  maker.Node("Compress", {"x", "k"}, {"some"});
  const Known known(maker);
  EXPECT_EQ(known.ShapeOf("rows"), "[nonzero_1, 2]");
  EXPECT_EQ(known.ShapeOf("best"), "[batch, topk_1]");
  EXPECT_EQ(known.ShapeOf("which"), "[batch, topk_1]");
  EXPECT_EQ(known.ShapeOf("values"), "[unique_1]");
  EXPECT_EQ(known.ShapeOf("some"), "[compress_1]");
}

TEST(ShapesTest, UnnamedDimensionsOfInputsGetNames) {
  Maker maker;
  maker.Input("x", "? 3").Input("y", "? 3").Node("Relu", {"x"}, {"z"});
  maker.Node("Concat", {"x", "y"}, {"both"}).Attribute("axis", 0);
  const Known known(maker);
  EXPECT_EQ(known.ShapeOf("z"), "[x[0], 3]");
  EXPECT_EQ(known.ShapeOf("both"), "[x[0] + y[0], 3]");
}

TEST(ShapesTest, FilesMayRecordAFormulaAsAName) {
  Maker maker;
  maker.Input("ids", "batch sequence", 7).Input("past", "batch past 8");
  maker.Input("mask", "batch past+sequence", 7);
  maker.Input("other", "batch cache+seq", 7);
  maker.Node("Identity", {"mask"}, {"m"}).Node("Identity", {"other"}, {"o"});
  const Known known(maker);
  EXPECT_EQ(known.ShapeOf("m"), "[batch, sequence + past]");
  EXPECT_EQ(known.ShapeOf("o"), "[batch, \"cache+seq\"]")
      << "no dimension is called cache";
}

TEST(ShapesTest, WhatTheFileRecordsFillsGapsAndContradictionsAreListed) {
  Maker maker;
  maker.Input("x", "batch 8").Info("custom", "batch 4").Info("z", "2 8");
  maker.Output("end", "2 4");
  maker.Node("Frobnicate", {"x"}, {"custom"}).Node("Relu", {"x"}, {"z"});
  maker.Node("Relu", {"custom"}, {"end"});
  const Known known(maker);
  EXPECT_EQ(known.ShapeOf("custom"), "[batch, 4]");
  EXPECT_EQ(known.ShapeOf("z"), "[batch, 8]") << "2 was the example's batch";
  EXPECT_EQ(known.ShapeOf("end"), "[batch, 4]");
  ASSERT_THAT(known.shapes.contradictions(), SizeIs(2));
  EXPECT_EQ(known.model.ValueName(known.shapes.contradictions()[0].value), "z");
  EXPECT_EQ(known.Text(known.shapes.contradictions()[0].recorded), "[2, 8]");
  EXPECT_EQ(known.Text(known.shapes.contradictions()[0].inferred),
            "[batch, 8]");
}

// An exporter writes the sizes of its example for outputs that it cannot tell.
TEST(ShapesTest, TheExamplesSizeOfAnOutputIsNotTaken) {
  Maker maker;
  maker.Input("x", "batch 8").Output("y", "2 17");
  maker.Node("NonZero", {"x"}, {"y"});
  EXPECT_EQ(Known(maker).ShapeOf("y"), "[2, nonzero_1]");
  Maker fixed;
  fixed.Input("x", "4 8").Output("y", "2 17");
  fixed.Node("NonZero", {"x"}, {"y"});
  EXPECT_EQ(Known(fixed).ShapeOf("y"), "[2, 17]");
}

TEST(ShapesTest, NodesMayStandInAnyOrder) {
  Maker maker;
  maker.Input("x", "batch 8");
  maker.Node("Relu", {"t"}, {"y"}).Node("Transpose", {"x"}, {"t"});
  EXPECT_EQ(Known(maker).ShapeOf("y"), "[8, batch]");
}

TEST(ShapesTest, FusedOperatorsFollowTheirPlainForms) {
  Maker maker;
  maker.Input("x", "batch sequence 8").Weight("w", {24, 8});
  maker.Weight("qkv", {8, 24}).Weight("bias", {24}).Weight("n", {8});
  maker.Node("FusedMatMul", {"x", "w"}, {"p"}).Attribute("transB", 1);
  maker.Node("Attention", {"x", "qkv", "bias"}, {"a", "present"})
      .Attribute("num_heads", 2);
  maker.node().set_domain("com.microsoft");
  maker.Node("SkipLayerNormalization", {"a", "x", "n"}, {"s", "", "", "sum"});
  maker.node().set_domain("com.microsoft");
  const Known known(maker);
  EXPECT_EQ(known.ShapeOf("p"), "[batch, sequence, 24]");
  EXPECT_EQ(known.ShapeOf("a"), "[batch, sequence, 8]");
  EXPECT_EQ(known.ShapeOf("present"), "[2, batch, 2, sequence, 4]");
  EXPECT_EQ(known.ShapeOf("sum"), "[batch, sequence, 8]");
  EXPECT_EQ(known.Flops(1), "384·batch·sequence + 32·batch·sequence²");
}

TEST(ShapesTest, OnnxAttentionsKnowTheirCaches) {
  Maker maker;
  maker.Input("q", "batch sequence 32").Input("k", "batch sequence 16");
  maker.Input("v", "batch sequence 16").Input("pk", "batch 2 past 8");
  maker.Input("pv", "batch 2 past 8");
  maker.Node("Attention", {"q", "k", "v", "", "pk", "pv"}, {"y", "nk", "nv"})
      .Attribute("q_num_heads", 4)
      .Attribute("kv_num_heads", 2);
  const Known known(maker);
  EXPECT_EQ(known.ShapeOf("y"), "[batch, sequence, 32]");
  EXPECT_EQ(known.ShapeOf("nk"), "[batch, 2, sequence + past, 8]");
  EXPECT_EQ(known.Flops(0), "128·batch·sequence² + 128·batch·sequence·past");
}

TEST(ShapesTest, EinsumsMayLeaveOutTheirResult) {
  Maker maker;
  maker.Input("a", "batch i j").Input("b", "batch j k");
  maker.Node("Einsum", {"a", "b"}, {"y"})
      .TextAttribute("equation", "...ij, ...jk -> ...ik");
  maker.Node("Einsum", {"a", "b"}, {"z"}).TextAttribute("equation", "bij,bjk");
  const Known known(maker);
  EXPECT_EQ(known.ShapeOf("y"), "[batch, i, k]");
  EXPECT_EQ(known.ShapeOf("z"), "[i, k]");
  EXPECT_EQ(known.Flops(0), "2·batch·i·j·k");
}

TEST(ShapesTest, EinsumsOfOneKeepIt) {
  Maker maker;
  maker.Input("a", "s s batch 1").Node("Einsum", {"a"}, {"y"});
  maker.TextAttribute("equation", "ijbn->bnij");
  const Known known(maker);
  EXPECT_EQ(known.ShapeOf("y"), "[batch, 1, s, s]");
  EXPECT_EQ(known.Flops(0), "0") << "a permutation";
}

// A second "..." once read past the dimensions of the operand.
TEST(ShapesTest, EinsumsWithTwoEllipsesInATermAreUnknown) {
  Maker maker;
  maker.Input("x", "2 3 5").Input("b", "7");
  maker.Node("Einsum", {"x", "b"}, {"y"})
      .TextAttribute("equation", "...a...,b->ab");
  maker.Node("Einsum", {"x", "b"}, {"z"})
      .TextAttribute("equation", "...a,b->...ab...");
  const Known known(maker);
  EXPECT_EQ(known.ShapeOf("y"), "?");
  EXPECT_EQ(known.ShapeOf("z"), "?");
  EXPECT_EQ(known.Flops(0), "?");
}

TEST(ShapesTest, AnInverseOfHalfTheFrequenciesHasTheWholeLength) {
  Maker maker;
  maker.Input("x", "batch bins 2").Scalar("one", 1).Scalar("length", 16);
  for (const char* const length : {"", "length"}) {
    maker.Node("DFT", {"x", length, "one"}, {std::string("y") + length})
        .Attribute("inverse", 1)
        .Attribute("onesided", 1);
  }
  const Known known(maker);
  EXPECT_EQ(known.ShapeOf("y"), "[batch, 2·bins - 2, 1]");
  EXPECT_EQ(known.ShapeOf("ylength"), "[batch, 16, 1]");
}

TEST(ShapesTest, AZeroPastTheInputsRankIsWhatTheOthersLeave) {
  Maker maker;
  maker.Input("x", "batch 1 4").Ints("shape", {0, 1, 2, 0});
  maker.Node("Reshape", {"x", "shape"}, {"y"});
  EXPECT_EQ(Known(maker).ShapeOf("y"), "[batch, 1, 2, 2]");
}

// ---------------------------------------------------------------- bodies

TEST(ShapesTest, AConditionThatIsKnownChoosesItsBranch) {
  Maker maker;
  maker.Input("x", "batch 8").Ints("eight", {8}).Scalar("one", 1);
  maker.Node("Shape", {"x"}, {"shape"});
  maker.Node("Gather", {"shape", "one"}, {"columns"});
  maker.Node("Equal", {"columns", "eight"}, {"yes"});
  maker.Node("If", {"yes"}, {"y"});
  schema::GraphProto& then = maker.Body("then_branch");
  AddNode(then, "Transpose", "", {"x"}, {"t"});
  then.add_output()->set_name("t");
  schema::GraphProto& otherwise = maker.Body("else_branch");
  AddNode(otherwise, "Relu", "", {"x"}, {"r"});
  otherwise.add_output()->set_name("r");
  const Known known(maker);
  EXPECT_EQ(known.ShapeOf("y"), "[8, batch]");
  EXPECT_EQ(known.Flops(5), "0") << "the branch that never runs";
}

TEST(ShapesTest, BranchesThatDifferGiveANameOfItsOwn) {
  Maker maker;
  maker.Input("x", "batch 8").Input("c", "1", 9);
  maker.Node("If", {"c"}, {"y"});
  schema::GraphProto& then = maker.Body("then_branch");
  AddNode(then, "Relu", "", {"x"}, {"t"});
  then.add_output()->set_name("t");
  schema::GraphProto& otherwise = maker.Body("else_branch");
  schema::NodeProto* const join =
      AddNode(otherwise, "Concat", "", {"x", "x"}, {"r"});
  schema::AttributeProto* const axis = join->add_attribute();
  axis->set_name("axis");
  axis->set_i(0);
  otherwise.add_output()->set_name("r");
  const Known known(maker);
  EXPECT_EQ(known.ShapeOf("y"), "[if_1, 8]");
  EXPECT_EQ(known.Flops(1), "8·batch");
}

// A loop of `times` rounds that carries a list of rows and appends one.
Maker Growing(const std::string& times) {
  Maker maker;
  maker.Input("x", "batch 8").Scalar("five", 5).Input("n", "1", 7);
  maker.Node("Loop", {times, "", "x"}, {"all", "steps"});
  schema::GraphProto& body = maker.Body("body");
  for (const char* const name : {"i", "c", "rows"}) {
    body.add_input()->set_name(name);
  }
  AddNode(body, "Identity", "", {"c"}, {"go"});
  AddNode(body, "Relu", "", {"x"}, {"r"});
  schema::NodeProto* const join =
      AddNode(body, "Concat", "", {"rows", "x"}, {"more"});
  schema::AttributeProto* const axis = join->add_attribute();
  axis->set_name("axis");
  axis->set_i(0);
  for (const char* const name : {"go", "more", "r"}) {
    body.add_output()->set_name(name);
  }
  return maker;
}

TEST(ShapesTest, ALoopCountsItsRounds) {
  Maker maker = Growing("five");
  const Known known(maker);
  EXPECT_EQ(known.ShapeOf("steps"), "[5, batch, 8]");
  EXPECT_EQ(known.Flops(2), "40·batch") << "Relu, five times";
}

TEST(ShapesTest, WhatALoopLetsGrowIsAFormulaOrAName) {
  Maker maker = Growing("five");
  EXPECT_EQ(Known(maker).ShapeOf("all"), "[loop_2, 8]")
      << "it grows by batch, not by a number";
  Maker unknown = Growing("n");
  const Known known(unknown);
  EXPECT_EQ(known.ShapeOf("steps"), "[loop_2, batch, 8]");
  EXPECT_EQ(known.Flops(2), "8·batch·loop_2");
}

TEST(ShapesTest, AScanRunsOverAnAxis) {
  Maker maker;
  maker.Input("state", "batch 4").Input("x", "steps batch 4");
  maker.Node("Scan", {"state", "x"}, {"last", "all"})
      .Attribute("num_scan_inputs", 1);
  schema::GraphProto& body = maker.Body("body");
  body.add_input()->set_name("s");
  body.add_input()->set_name("e");
  AddNode(body, "Add", "", {"s", "e"}, {"t"});
  AddNode(body, "Identity", "", {"t"}, {"u"});
  body.add_output()->set_name("t");
  body.add_output()->set_name("u");
  const Known known(maker);
  EXPECT_EQ(known.ShapeOf("last"), "[batch, 4]");
  EXPECT_EQ(known.ShapeOf("all"), "[steps, batch, 4]");
  EXPECT_EQ(known.Flops(1), "4·batch·steps");
}

TEST(ShapesTest, AScanOfOpset8HasLengthsAndABatch) {
  Maker maker;
  maker.Input("state", "batch 4").Input("x", "batch steps 4");
  maker.Node("Scan", {"", "state", "x"}, {"last", "all"})
      .Attribute("num_scan_inputs", 1);
  schema::GraphProto& body = maker.Body("body");
  body.add_input()->set_name("s");
  body.add_input()->set_name("e");
  AddNode(body, "Add", "", {"s", "e"}, {"t"});
  AddNode(body, "Identity", "", {"t"}, {"u"});
  body.add_output()->set_name("t");
  body.add_output()->set_name("u");
  const Known known(maker);
  EXPECT_EQ(known.ShapeOf("last"), "[batch, 4]");
  EXPECT_EQ(known.ShapeOf("all"), "[batch, steps, 4]");
  EXPECT_EQ(known.Flops(1), "4·batch·steps");
}

TEST(ShapesTest, SequencesKnowTheirElements) {
  Maker maker;
  maker.Input("x", "batch 12").Scalar("four", 4).Scalar("two", 2);
  maker.Ints("parts", {5, 7});
  maker.Node("SplitToSequence", {"x", "four"}, {"thirds"}).Attribute("axis", 1);
  maker.Node("SequenceAt", {"thirds", "two"}, {"third"});
  maker.Node("SplitToSequence", {"x", "parts"}, {"two_parts"})
      .Attribute("axis", 1);
  maker.Scalar("one", 1).Node("SequenceAt", {"two_parts", "one"}, {"second"});
  maker.Node("ConcatFromSequence", {"two_parts"}, {"again"})
      .Attribute("axis", 1);
  const Known known(maker);
  EXPECT_EQ(known.ShapeOf("third"), "[batch, 4]");
  EXPECT_EQ(known.ShapeOf("second"), "[batch, 7]");
  EXPECT_EQ(known.ShapeOf("again"), "[batch, 12]");
  EXPECT_NE(known.shapes.SequenceOf(known.Value("thirds")), nullptr);
}

// A function whose attribute says which axis it softmaxes, called twice.
TEST(ShapesTest, AFunctionIsInferredForEachCall) {
  Maker maker;
  maker.Input("x", "batch 8").Input("y", "batch 6 5");
  AddNode(maker.graph(), "Last", "", {"x"}, {"a"})->set_domain("mine");
  schema::NodeProto* const second =
      AddNode(maker.graph(), "Last", "", {"y"}, {"b"});
  second->set_domain("mine");
  schema::AttributeProto* const chosen = second->add_attribute();
  chosen->set_name("which");
  chosen->set_i(1);
  schema::FunctionProto* const function = maker.proto().add_functions();
  function->set_domain("mine");
  function->set_name("Last");
  function->add_input("in");
  function->add_output("out");
  schema::AttributeProto* const standard = function->add_attribute_proto();
  standard->set_name("which");
  standard->set_i(0);
  schema::NodeProto* const node = function->add_node();
  node->set_op_type("ArgMax");
  node->add_input("in");
  node->add_output("out");
  schema::AttributeProto* const axis = node->add_attribute();
  axis->set_name("axis");
  axis->set_ref_attr_name("which");
  const Known known(maker);
  EXPECT_EQ(known.ShapeOf("a"), "[1, 8]") << "the function's own default";
  EXPECT_EQ(known.ShapeOf("b"), "[batch, 1, 5]") << "the call's attribute";
}

// ---------------------------------------------------------------- bad input

TEST(ShapesTest, ShapeArithmeticInACircleEnds) {
  Maker maker;
  maker.Input("x", "batch 8");
  maker.Node("Add", {"b", "b"}, {"a"}).Node("Mul", {"a", "a"}, {"b"});
  maker.Node("Reshape", {"x", "b"}, {"y"});
  EXPECT_EQ(Known(maker).ShapeOf("y"), "?");
}

TEST(ShapesTest, AFunctionThatCallsItselfEnds) {
  Maker maker;
  maker.Input("x", "batch 8");
  AddNode(maker.graph(), "F", "", {"x"}, {"y"})->set_domain("mine");
  schema::FunctionProto* const function = maker.proto().add_functions();
  function->set_domain("mine");
  function->set_name("F");
  function->add_input("a");
  function->add_output("b");
  schema::NodeProto* const node = function->add_node();
  node->set_op_type("F");
  node->set_domain("mine");
  node->add_input("a");
  node->add_output("b");
  EXPECT_EQ(Known(maker).ShapeOf("y"), "?");
}

// Each function calls the one below with two shapes: 2^40 bodies if all were
// inferred.
TEST(ShapesTest, FunctionsThatMultiplyEnd) {
  Maker maker;
  maker.Input("x", "batch 8");
  AddNode(maker.graph(), "F39", "", {"x"}, {"y"})->set_domain("mine");
  for (int i = 0; i < 40; ++i) {
    schema::FunctionProto* const function = maker.proto().add_functions();
    function->set_domain("mine");
    function->set_name("F" + std::to_string(i));
    function->add_input("a");
    function->add_output("d");
    const auto add = [&](const std::string& op, const std::string& input,
                         const std::string& output) {
      schema::NodeProto* const node = function->add_node();
      const bool call = op[0] == 'F';
      node->set_op_type(op);
      if (call) node->set_domain("mine");
      node->add_input(input);
      node->add_output(output);
    };
    const std::string below = i == 0 ? "Relu" : "F" + std::to_string(i - 1);
    add(below, "a", "b");
    schema::NodeProto* const join = function->add_node();
    join->set_op_type("Concat");
    join->add_input("b");
    join->add_input("b");
    join->add_output("c");
    schema::AttributeProto* const axis = join->add_attribute();
    axis->set_name("axis");
    axis->set_i(0);
    add(below, "c", "d");
  }
  Known(maker).ShapeOf("y");
}

TEST(ShapesTest, ImpossibleSizesGiveNoFalseNumbers) {
  Maker maker;
  maker.Input("x", "4611686018427387904 4611686018427387904 -5");
  maker.Node("Flatten", {"x"}, {"f"}).Attribute("axis", 2);
  maker.Node("Relu", {"x"}, {"y"});
  maker.Ints("wanted", {-7, -1, -1}).Node("Reshape", {"x", "wanted"}, {"r"});
  maker.Ints("axis", {99}).Node("Unsqueeze", {"x", "axis"}, {"u"});
  const Known known(maker);
  EXPECT_EQ(known.ShapeOf("f"), "[over 2^63, x[2]]");
  EXPECT_EQ(known.Flops(1), "over 2^63");
  EXPECT_EQ(known.ShapeOf("u"), "?");
}

TEST(ShapesTest, OperatorsWithoutARuleAreUnknown) {
  Maker maker;
  maker.Input("x", "4").Node("Frobnicate", {"x"}, {"y"});
  maker.Node("Relu", {"x"}, {"z"});
  maker.node().set_domain("of.somebody");
  const Known known(maker);
  EXPECT_EQ(known.ShapeOf("y"), "?");
  EXPECT_EQ(known.Flops(0), "?");
  EXPECT_EQ(known.ShapeOf("z"), "?") << "another domain's Relu";
}

TEST(ShapesTest, ANameIsNotBelievedWhereTheBranchesOfAnIfDiffer) {
  Maker maker;
  maker.Input("x", "batch 4").Input("c", "", 9).Output("y", "batch 4");
  maker.Ints("empty", {0, 4}).Node("If", {"c"}, {"y"});
  schema::GraphProto& one = maker.Body("then_branch");
  AddNode(one, "Relu", "Relu", {"x"}, {"a"});
  one.add_output()->set_name("a");
  schema::GraphProto& other = maker.Body("else_branch");
  AddNode(other, "ConstantOfShape", "ConstantOfShape", {"empty"}, {"b"});
  other.add_output()->set_name("b");
  const Known known(maker);
  EXPECT_NE(known.ShapeOf("y"), "[batch, 4]");
  EXPECT_THAT(known.ShapeOf("y"), testing::EndsWith(", 4]"));
}

}  // namespace
}  // namespace onnx_tag::test
