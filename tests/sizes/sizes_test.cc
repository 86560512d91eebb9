#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "onnx_tag/error.h"
#include "sizes/element_types.h"
#include "sizes/flops.h"
#include "sizes/module_sizes.h"
#include "sizes/shapes.h"
#include "support/onnx_models.h"

namespace onnx_tag::test {
namespace {

using sizes::CountFlops;
using sizes::GivenShape;
using sizes::kUnknownDim;
using sizes::kUnknownFlops;
using sizes::Shape;
using sizes::Shapes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A graph with inputs and initializers given as "name:1x3xN" in order of
// mention; letters are names of dimensions.
class Maker {
 public:
  Maker& Input(const std::string& name, const std::string& dims, int type = 1) {
    FillInfo(*graph().add_input(), name, dims, type);
    return *this;
  }
  Maker& Weight(const std::string& name, const Shape& dims, int type = 1) {
    schema::TensorProto* const tensor = graph().add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(type);
    for (const std::int64_t dim : dims) tensor->add_dims(dim);
    return *this;
  }
  Maker& Ints(const std::string& name, const Shape& numbers) {
    schema::TensorProto* const tensor = graph().add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(7);
    tensor->add_dims(static_cast<std::int64_t>(numbers.size()));
    for (const std::int64_t number : numbers) tensor->add_int64_data(number);
    return *this;
  }
  Maker& Node(const std::string& op, std::initializer_list<std::string> inputs,
              std::initializer_list<std::string> outputs) {
    node_ = AddNode(graph(), op, op, inputs, outputs);
    return *this;
  }
  Maker& Attribute(const std::string& name, const Shape& ints) {
    schema::AttributeProto* const attribute = node_->add_attribute();
    attribute->set_name(name);
    for (const std::int64_t number : ints) attribute->add_ints(number);
    return *this;
  }
  Maker& Attribute(const std::string& name, std::int64_t number) {
    schema::AttributeProto* const attribute = node_->add_attribute();
    attribute->set_name(name);
    attribute->set_i(number);
    return *this;
  }
  schema::GraphProto& graph() { return *model_.mutable_graph(); }
  schema::ModelProto& proto() { return model_; }
  std::string Bytes() {
    model_.set_ir_version(8);
    return model_.SerializeAsString();
  }

 private:
  static void FillInfo(schema::ValueInfoProto& info, const std::string& name,
                       const std::string& dims, int type) {
    info.set_name(name);
    auto& tensor = *info.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    auto& shape = *tensor.mutable_shape();
    std::string word;
    for (const char c : dims + "x") {
      if (c != 'x') {
        word += c;
        continue;
      }
      if (word.empty()) continue;
      auto& dim = *shape.add_dim();
      if (isdigit(static_cast<unsigned char>(word[0])) != 0) {
        dim.set_dim_value(std::stoll(word));
      } else {
        dim.set_dim_param(word);
      }
      word.clear();
    }
  }

  schema::ModelProto model_;
  schema::NodeProto* node_ = nullptr;
};

// FLOPs by node, and the shape of a value by name.
struct Counted {
  explicit Counted(Maker& maker, std::vector<GivenShape> given = {})
      : bytes(maker.Bytes()),
        model(ReadModel(bytes)),
        shapes(model, given),
        flops(CountFlops(model, shapes)) {}
  std::optional<Shape> ShapeOf(std::string_view name) const {
    for (std::size_t i = 0; i < model.value_count(); ++i) {
      const auto value = MakeId<ValueId>(i);
      if (model.ValueName(value) == name) return shapes.Of(value);
    }
    ADD_FAILURE() << "no value " << name;
    return std::nullopt;
  }
  std::int64_t Flops(std::uint32_t node) const { return flops[NodeId{node}]; }

  std::string bytes;
  Model model;
  Shapes shapes;
  IdVector<NodeId, std::int64_t> flops;
};

TEST(SizesTest, MatMulCountsTwoForAMultiplyAdd) {
  Maker maker;
  maker.Input("x", "2x5x8")
      .Weight("w", {8, 3})
      .Node("MatMul", {"x", "w"}, {"y"});
  const Counted counted(maker);
  EXPECT_EQ(counted.ShapeOf("y"), (Shape{2, 5, 3}));
  EXPECT_EQ(counted.Flops(0), 2 * 2 * 5 * 3 * 8);
}

TEST(SizesTest, MatMulOfVectorsDropsTheirDimension) {
  Maker maker;
  maker.Input("a", "8").Input("b", "4x8x3");
  maker.Node("MatMul", {"a", "b"}, {"y"});
  const Counted counted(maker);
  EXPECT_EQ(counted.ShapeOf("y"), (Shape{4, 3}));
  EXPECT_EQ(counted.Flops(0), 2 * 4 * 3 * 8);
}

TEST(SizesTest, GemmTransposesAndAddsItsBias) {
  Maker maker;
  maker.Input("x", "5x8").Weight("w", {3, 8}).Weight("b", {3});
  maker.Node("Gemm", {"x", "w", "b"}, {"y"}).Attribute("transB", 1);
  const Counted counted(maker);
  EXPECT_EQ(counted.ShapeOf("y"), (Shape{5, 3}));
  EXPECT_EQ(counted.Flops(0), 2 * 5 * 3 * 8 + 5 * 3);
}

TEST(SizesTest, ConvolutionHasStridesPadsAndGroups) {
  Maker maker;
  maker.Input("x", "1x8x10x10").Weight("w", {16, 4, 3, 3}).Weight("b", {16});
  maker.Node("Conv", {"x", "w", "b"}, {"y"})
      .Attribute("strides", {2, 2})
      .Attribute("pads", {1, 1, 1, 1})
      .Attribute("group", 2);
  const Counted counted(maker);
  EXPECT_EQ(counted.ShapeOf("y"), (Shape{1, 16, 5, 5}));
  EXPECT_EQ(counted.Flops(0), 2 * (16 * 25) * (4 * 9) + 16 * 25);
}

TEST(SizesTest, TransposedConvolutionCountsItsInputs) {
  Maker maker;
  maker.Input("x", "1x8x5x5").Weight("w", {8, 4, 2, 2});
  maker.Node("ConvTranspose", {"x", "w"}, {"y"}).Attribute("strides", {2, 2});
  const Counted counted(maker);
  EXPECT_EQ(counted.ShapeOf("y"), (Shape{1, 4, 10, 10}));
  EXPECT_EQ(counted.Flops(0), 2 * (8 * 25) * (4 * 4));
}

TEST(SizesTest, PoolingAndReductionsCountWhatTheyRead) {
  Maker maker;
  maker.Input("x", "1x4x8x8");
  maker.Node("MaxPool", {"x"}, {"p"})
      .Attribute("kernel_shape", {2, 2})
      .Attribute("strides", {2, 2});
  maker.Node("ReduceMean", {"p"}, {"m"})
      .Attribute("axes", {2, 3})
      .Attribute("keepdims", 0);
  const Counted counted(maker);
  EXPECT_EQ(counted.ShapeOf("p"), (Shape{1, 4, 4, 4}));
  EXPECT_EQ(counted.Flops(0), 4 * 16 * 4);
  EXPECT_EQ(counted.ShapeOf("m"), (Shape{1, 4}));
  EXPECT_EQ(counted.Flops(1), 4 * 16);
}

TEST(SizesTest, ElementwiseBroadcastsAndMovesAreFree) {
  Maker maker;
  maker.Input("x", "2x1x4").Input("y", "3x1");
  maker.Node("Add", {"x", "y"}, {"s"}).Node("Transpose", {"s"}, {"t"});
  const Counted counted(maker);
  EXPECT_EQ(counted.ShapeOf("s"), (Shape{2, 3, 4}));
  EXPECT_EQ(counted.Flops(0), 24);
  EXPECT_EQ(counted.ShapeOf("t"), (Shape{4, 3, 2}));
  EXPECT_EQ(counted.Flops(1), 0);
}

TEST(SizesTest, AGivenShapeBindsItsDimensionsNamesEverywhere) {
  Maker maker;
  maker.Input("ids", "batchxsequence", 7).Input("mask", "batchxsequencex8");
  maker.Weight("w", {8, 3}).Node("MatMul", {"mask", "w"}, {"y"});
  EXPECT_EQ(Counted(maker).Flops(0), kUnknownFlops);
  EXPECT_EQ(Counted(maker).ShapeOf("y"), (Shape{kUnknownDim, kUnknownDim, 3}));
  const Counted counted(maker, {{"ids", {2, 5}}});
  EXPECT_EQ(counted.ShapeOf("y"), (Shape{2, 5, 3}));
  EXPECT_EQ(counted.Flops(0), 2 * 2 * 5 * 3 * 8);
}

TEST(SizesTest, AShapeThatFitsNoInputIsRefused) {
  Maker maker;
  maker.Input("x", "batchx3").Node("Relu", {"x"}, {"y"});
  const auto refusal = [&](GivenShape given) -> std::string {
    try {
      Counted(maker, {std::move(given)});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal({"z", {1}}), HasSubstr("its inputs: x"));
  EXPECT_THAT(refusal({"x", {1}}),
              HasSubstr("1 dimensions given, but the input has 2"));
  EXPECT_THAT(refusal({"x", {1, 4}}),
              HasSubstr("dimension 1 is 3 in the model, not 4"));
}

TEST(SizesTest, ShapesThatAreComputedAreFollowed) {
  // Reshape(x, [Shape(x)[0], -1]), as exporters write view(x.size(0), -1).
  Maker maker;
  maker.Input("x", "4x6x2").Ints("zero", {0}).Ints("rest", {-1});
  maker.Node("Shape", {"x"}, {"shape"});
  maker.Node("Gather", {"shape", "zero"}, {"first"});
  maker.Node("Concat", {"first", "rest"}, {"wanted"}).Attribute("axis", 0);
  maker.Node("Reshape", {"x", "wanted"}, {"y"});
  EXPECT_EQ(Counted(maker).ShapeOf("y"), (Shape{4, 12}));
}

TEST(SizesTest, AnUnknownNumberInAComputedShapeStaysUnknown) {
  Maker maker;
  maker.Input("x", "Nx6x2").Ints("zero", {0}).Ints("rest", {-1});
  maker.Node("Shape", {"x"}, {"shape"});
  maker.Node("Gather", {"shape", "zero"}, {"first"});
  maker.Node("Concat", {"first", "rest"}, {"wanted"}).Attribute("axis", 0);
  maker.Node("Reshape", {"x", "wanted"}, {"y"});
  maker.Node("Relu", {"y"}, {"z"});
  const Counted counted(maker);
  EXPECT_EQ(counted.ShapeOf("y"), (Shape{kUnknownDim, kUnknownDim}));
  EXPECT_EQ(counted.Flops(4), kUnknownFlops);
}

TEST(SizesTest, SlicesSplitsAndSqueezesKeepTheRest) {
  Maker maker;
  maker.Input("x", "1x10x6");
  maker.Ints("from", {2})
      .Ints("to", {9223372036854775807})
      .Ints("axis", {1})
      .Ints("front", {0});
  maker.Node("Slice", {"x", "from", "to", "axis"}, {"s"});
  maker.Node("Split", {"s"}, {"a", "b"}).Attribute("axis", 2);
  maker.Node("Squeeze", {"b", "front"}, {"q"});
  maker.Node("Unsqueeze", {"q", "front"}, {"u"});
  const Counted counted(maker);
  EXPECT_EQ(counted.ShapeOf("s"), (Shape{1, 8, 6}));
  EXPECT_EQ(counted.ShapeOf("a"), (Shape{1, 8, 3}));
  EXPECT_EQ(counted.ShapeOf("q"), (Shape{8, 3}));
  EXPECT_EQ(counted.ShapeOf("u"), (Shape{1, 8, 3}));
}

TEST(SizesTest, AFunctionCostsWhatItsCallsCost) {
  Maker maker;
  maker.Input("x", "4x8");
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
  const Counted counted(maker);
  EXPECT_EQ(counted.ShapeOf("z"), (Shape{4, 8}));
  EXPECT_EQ(counted.Flops(0), 0) << "the body's nodes have the count";
  EXPECT_EQ(counted.Flops(2), 2 * 32) << "two calls";
}

TEST(SizesTest, ALoopsBodyIsUnknownAndABranchCountsOnce) {
  Maker maker;
  maker.Input("x", "4x8");
  const auto add_body = [&](const char* op, const char* attribute) {
    schema::NodeProto* const node = AddNode(maker.graph(), op, "", {"x"}, {op});
    schema::AttributeProto* const held = node->add_attribute();
    held->set_name(attribute);
    AddNode(*held->mutable_g(), "Relu", "", {"x"}, {std::string("r") + op});
  };
  add_body("If", "then_branch");
  add_body("Loop", "body");
  const Counted counted(maker);
  EXPECT_EQ(counted.Flops(1), 32);
  EXPECT_EQ(counted.Flops(3), kUnknownFlops);
}

TEST(SizesTest, OperatorsWithoutARuleAreUnknown) {
  Maker maker;
  maker.Input("x", "4").Node("Frobnicate", {"x"}, {"y"});
  EXPECT_EQ(Counted(maker).Flops(0), kUnknownFlops);
}

TEST(SizesTest, AbsurdDimensionsAreUnknown) {
  Maker maker;
  maker.Input("x", "9223372036854775807x9223372036854775807");
  maker.Node("Relu", {"x"}, {"y"}).Node("Flatten", {"x"}, {"f"});
  const Counted counted(maker);
  EXPECT_EQ(counted.Flops(0), kUnknownFlops);
}

TEST(SizesTest, BytesFollowTheType) {
  EXPECT_EQ(sizes::CountBytes(3, 1), 12u);
  EXPECT_EQ(sizes::CountBytes(3, 10), 6u);
  EXPECT_EQ(sizes::CountBytes(3, 22), 2u) << "three int4 take two bytes";
  EXPECT_EQ(sizes::CountBytes(3, 8), 0u) << "strings have no width";
  EXPECT_EQ(sizes::TypeName(16), "bfloat16");
  EXPECT_EQ(sizes::TypeName(99), "");
}

TEST(SizesTest, SumsOfModulesAndTheRestAreTheWhole) {
  Maker maker;
  maker.Input("x", "2x8")
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
  const Shapes shapes(model, {});
  const sizes::ModelSizes counted = sizes::CountSizes(model, tagging, shapes);
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

}  // namespace
}  // namespace onnx_tag::test
