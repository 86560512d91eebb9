#include <gmock/gmock.h>

#include "file/model/element_types.h"
#include "maker.h"
#include "uses/sizes/module_sizes.h"

namespace onnx_tag::test {
namespace {

using ::testing::ElementsAre;

TEST(SizesTest, MatMulCountsTwoForAMultiplyAdd) {
  Maker maker;
  maker.Input("x", "2 5 8")
      .Weight("w", {8, 3})
      .Node("MatMul", {"x", "w"}, {"y"});
  const Known known(maker);
  EXPECT_EQ(known.ShapeOf("y"), "[2, 5, 3]");
  EXPECT_EQ(known.Flops(0), std::to_string(2 * 2 * 5 * 3 * 8));
}

TEST(SizesTest, MatMulOfVectorsDropsTheirDimension) {
  Maker maker;
  maker.Input("a", "8").Input("b", "4 8 3");
  maker.Node("MatMul", {"a", "b"}, {"y"});
  const Known known(maker);
  EXPECT_EQ(known.ShapeOf("y"), "[4, 3]");
  EXPECT_EQ(known.Flops(0), std::to_string(2 * 4 * 3 * 8));
}

TEST(SizesTest, GemmTransposesAndAddsItsBias) {
  Maker maker;
  maker.Input("x", "5 8").Weight("w", {3, 8}).Weight("b", {3});
  maker.Node("Gemm", {"x", "w", "b"}, {"y"}).Attribute("transB", 1);
  const Known known(maker);
  EXPECT_EQ(known.ShapeOf("y"), "[5, 3]");
  EXPECT_EQ(known.Flops(0), std::to_string(2 * 5 * 3 * 8 + 5 * 3));
}

TEST(SizesTest, ConvolutionHasStridesPadsAndGroups) {
  Maker maker;
  maker.Input("x", "1 8 10 10").Weight("w", {16, 4, 3, 3}).Weight("b", {16});
  maker.Node("Conv", {"x", "w", "b"}, {"y"})
      .Attribute("strides", {2, 2})
      .Attribute("pads", {1, 1, 1, 1})
      .Attribute("group", 2);
  const Known known(maker);
  EXPECT_EQ(known.ShapeOf("y"), "[1, 16, 5, 5]");
  EXPECT_EQ(known.Flops(0), std::to_string(2 * (16 * 25) * (4 * 9) + 16 * 25));
}

TEST(SizesTest, TransposedConvolutionCountsItsInputs) {
  Maker maker;
  maker.Input("x", "1 8 5 5").Weight("w", {8, 4, 2, 2});
  maker.Node("ConvTranspose", {"x", "w"}, {"y"}).Attribute("strides", {2, 2});
  const Known known(maker);
  EXPECT_EQ(known.ShapeOf("y"), "[1, 4, 10, 10]");
  EXPECT_EQ(known.Flops(0), std::to_string(2 * (8 * 25) * (4 * 4)));
}

TEST(SizesTest, PoolingAndReductionsCountWhatTheyRead) {
  Maker maker;
  maker.Input("x", "1 4 8 8");
  maker.Node("MaxPool", {"x"}, {"p"})
      .Attribute("kernel_shape", {2, 2})
      .Attribute("strides", {2, 2});
  maker.Node("ReduceMean", {"p"}, {"m"})
      .Attribute("axes", {2, 3})
      .Attribute("keepdims", 0);
  const Known known(maker);
  EXPECT_EQ(known.ShapeOf("p"), "[1, 4, 4, 4]");
  EXPECT_EQ(known.Flops(0), std::to_string(4 * 16 * 4));
  EXPECT_EQ(known.ShapeOf("m"), "[1, 4]");
  EXPECT_EQ(known.Flops(1), std::to_string(4 * 16));
}

TEST(SizesTest, ElementwiseBroadcastsAndMovesAreFree) {
  Maker maker;
  maker.Input("x", "2 1 4").Input("y", "3 1");
  maker.Node("Add", {"x", "y"}, {"s"}).Node("Transpose", {"s"}, {"t"});
  const Known known(maker);
  EXPECT_EQ(known.ShapeOf("s"), "[2, 3, 4]");
  EXPECT_EQ(known.Flops(0), std::to_string(24));
  EXPECT_EQ(known.ShapeOf("t"), "[4, 3, 2]");
  EXPECT_EQ(known.Flops(1), std::to_string(0));
}

TEST(SizesTest, SlicesSplitsAndSqueezesKeepTheRest) {
  Maker maker;
  maker.Input("x", "1 10 6");
  maker.Ints("from", {2})
      .Ints("to", {9223372036854775807})
      .Ints("axis", {1})
      .Ints("front", {0});
  maker.Node("Slice", {"x", "from", "to", "axis"}, {"s"});
  maker.Node("Split", {"s"}, {"a", "b"}).Attribute("axis", 2);
  maker.Node("Squeeze", {"b", "front"}, {"q"});
  maker.Node("Unsqueeze", {"q", "front"}, {"u"});
  const Known known(maker);
  EXPECT_EQ(known.ShapeOf("s"), "[1, 8, 6]");
  EXPECT_EQ(known.ShapeOf("a"), "[1, 8, 3]");
  EXPECT_EQ(known.ShapeOf("q"), "[8, 3]");
  EXPECT_EQ(known.ShapeOf("u"), "[1, 8, 3]");
}

TEST(SizesTest, AFunctionCostsWhatItsCallsCost) {
  Maker maker;
  maker.Input("x", "4 8");
  AddNode(maker.graph(), "Double", "", {"x"}, {"y"})->set_domain("mine");
  AddNode(maker.graph(), "Double", "", {"y"}, {"z"})->set_domain("mine");
  schema::FunctionProto* const function = maker.proto().add_functions();
  function->set_domain("mine");
  function->set_name("Double");
  function->add_input("a");
  function->add_output("b");
  schema::NodeProto* const node = function->add_node();
  node->set_op_type("Add");
  node->add_input("a");
  node->add_input("a");
  node->add_output("b");
  const Known known(maker);
  EXPECT_EQ(known.ShapeOf("z"), "[4, 8]");
  EXPECT_EQ(known.Flops(0), std::to_string(0))
      << "the body's nodes have the count";
  EXPECT_EQ(known.Flops(2), std::to_string(2 * 32)) << "two calls";
}

TEST(SizesTest, BytesFollowTheType) {
  EXPECT_EQ(CountBytes(3, 1), 12u);
  EXPECT_EQ(CountBytes(3, 10), 6u);
  EXPECT_EQ(CountBytes(3, 22), 2u) << "three int4 take two bytes";
  EXPECT_EQ(CountBytes(3, 8), 0u) << "strings have no width";
  EXPECT_EQ(TypeName(16), "bfloat16");
  EXPECT_EQ(TypeName(99), "");
}

TEST(SizesTest, SumsOfModulesAndTheRestAreTheWhole) {
  Maker maker;
  maker.Input("x", "2 8")
      .Weight("layer.weight", {8, 3})
      .Weight("loose", {3}, 10);
  maker.Node("MatMul", {"x", "layer.weight"}, {"y"});
  maker.Node("Add", {"y", "loose"}, {"z"});
  maker.Node("Frobnicate", {"z"}, {"o"});
  const std::string bytes = maker.Bytes();
  const Model model = ReadModel(bytes);
  Tagging tagging;
  tagging.tags.resize(3);
  const ModuleId layer = tagging.modules.Add("layer");
  tagging.tags[NodeId{0}].module = layer;
  sizes::Shapes shapes(model);
  const sizes::ModelSizes counted = sizes::CountSizes(
      model, tagging, shapes, sizes::Assumptions(model, shapes));
  EXPECT_EQ(counted.own[layer].parameters, 24u);
  EXPECT_EQ(counted.own[layer].bytes, 96u);
  EXPECT_EQ(counted.own[layer].flops, 2u * 2 * 3 * 8);
  EXPECT_EQ(counted.untagged.parameters, 3u);
  EXPECT_EQ(counted.untagged.unknown_flops, 1u);
  EXPECT_EQ(counted.all.flops, 2u * 2 * 3 * 8 + 6);
  EXPECT_EQ(counted.Totals(tagging.modules)[ModuleTree::kRoot].bytes, 96u);
  EXPECT_THAT(counted.bytes_by_type,
              ElementsAre(std::pair("float16", 6u), std::pair("float32", 96u)));
}

TEST(SizesTest, ModulesCostFormulas) {
  Maker maker;
  maker.Input("x", "batch sequence 8").Weight("layer.weight", {8, 3});
  maker.Node("MatMul", {"x", "layer.weight"}, {"y"});
  maker.Node("Relu", {"y"}, {"z"}).Node("Frobnicate", {"z"}, {"o"});
  const std::string bytes = maker.Bytes();
  const Model model = ReadModel(bytes);
  Tagging tagging;
  tagging.tags.resize(3);
  const ModuleId layer = tagging.modules.Add("layer");
  tagging.tags[NodeId{0}].module = layer;
  tagging.tags[NodeId{1}].module = ModuleTree::kRoot;
  sizes::Shapes shapes(model);
  const sizes::ModelFormulas sums = sizes::SumFormulas(model, tagging, shapes);
  const auto text = [&](sizes::Dim dim) {
    return FormulaText(shapes.formulas(), dim);
  };
  EXPECT_EQ(text(sums.own[layer].flops), "48·batch·sequence");
  EXPECT_EQ(text(sums.own[layer].written), "12·batch·sequence");
  EXPECT_EQ(text(sums.totals[ModuleTree::kRoot].flops), "51·batch·sequence");
  EXPECT_EQ(text(sums.all.written), "24·batch·sequence");
}

// Three layers call one function that calls another: the tags of the bodies
// name the first layer, each layer costs the same.
TEST(SizesTest, AFunctionCostsInTheModulesOfEachCall) {
  Maker maker;
  maker.Input("x", "batch 8");
  const auto call = [&](auto& graph, const char* op, const char* from,
                        const char* to) {
    AddNode(graph, op, "", {from}, {to})->set_domain("mine");
  };
  call(maker.graph(), "Layer", "x", "a");
  call(maker.graph(), "Layer", "a", "b");
  call(maker.graph(), "Layer", "b", "y");
  for (const char* const name : {"Layer", "Inner"}) {
    schema::FunctionProto* const function = maker.proto().add_functions();
    function->set_domain("mine");
    function->set_name(name);
    function->add_input("i");
    function->add_output("o");
    const bool outer = function->name() == "Layer";
    for (const std::string op : {outer ? "Inner" : "Neg", "Relu"}) {
      schema::NodeProto* const node = function->add_node();
      node->set_op_type(op);
      if (op == "Inner") node->set_domain("mine");
      node->add_input(op == "Relu" ? "t" : "i");
      node->add_output(op == "Relu" ? "o" : "t");
    }
  }
  const std::string bytes = maker.Bytes();
  const Model model = ReadModel(bytes);
  ASSERT_EQ(model.node_count(), 7u);
  Tagging tagging;
  for (const char* const path : {"layer.0", "layer.1", "layer.2", "layer.0.act",
                                 "layer.0", "layer.0.act.neg", "layer.0.act"}) {
    tagging.tags.Add({.module = tagging.modules.Add(path)});
  }
  const ModuleId act1 = tagging.modules.Add("layer.1.act");
  sizes::Shapes shapes(model);
  const sizes::ModelFormulas sums = sizes::SumFormulas(model, tagging, shapes);
  const sizes::ModelSizes counted = sizes::CountSizes(
      model, tagging, shapes, sizes::Assumptions(model, shapes));
  const auto totals = counted.Totals(tagging.modules);
  for (const char* const path : {"layer.0", "layer.1", "layer.2"}) {
    const ModuleId layer = tagging.modules.Find(path);
    EXPECT_EQ(totals[layer].flops, 3u * 8) << path;
    EXPECT_EQ(totals[layer].written, 3u * 8 * 4) << path;
    EXPECT_EQ(FormulaText(shapes.formulas(), sums.totals[layer].flops),
              "24·batch");
  }
  EXPECT_EQ(counted.own[act1].flops, 2u * 8) << "it has no neg of its own";
  EXPECT_EQ(counted.own[tagging.modules.Find("layer.2")].flops, 3u * 8);
  EXPECT_EQ(counted.all.flops, 3u * 3 * 8);
}

TEST(SizesTest, SumsStopAtTwoToThe63) {
  Maker maker;
  maker.Input("x", "4611686018427387904").Node("Relu", {"x"}, {"y"});
  maker.Node("Relu", {"y"}, {"z"}).Node("Relu", {"x"}, {"w"});
  const std::string bytes = maker.Bytes();
  const Model model = ReadModel(bytes);
  Tagging tagging;
  tagging.tags.resize(3);
  sizes::Shapes shapes(model);
  const sizes::ModelSizes counted = sizes::CountSizes(
      model, tagging, shapes, sizes::Assumptions(model, shapes));
  EXPECT_EQ(counted.all.flops, sizes::kOver);
}

}  // namespace
}  // namespace onnx_tag::test
