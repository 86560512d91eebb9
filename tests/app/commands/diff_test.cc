// `diff` on pairs of models that differ in one known thing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "support/onnx_models.h"
#include "support/run_cli.h"
#include "support/temporary_folder.h"

namespace onnx_tag::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Two layers: a norm, a projection, and a split into heads.
std::string LayerText(const std::string& n, const std::string& input) {
  const std::string scope = "/layers." + n + "/";
  const std::string own = "layers." + n + ".";
  const auto node = [&](const std::string& op, const std::string& module,
                        const std::string& more) {
    return "node { op_type: \"" + op + "\" name: \"" + scope + module + op +
           "\" output: \"" + scope + module + op + "_output_0\" " + more + "}";
  };
  const auto in = [](const std::string& name) {
    return "input: \"" + name + "\" ";
  };
  return node("LayerNormalization", "norm/",
              in(input) + in(own + "norm.weight") + in(own + "norm.bias") +
                  R"(attribute { name: "epsilon" type: 1 f: 1e-5 })") +
         node("MatMul", "proj/",
              in(scope + "norm/LayerNormalization_output_0") +
                  in("onnx::MatMul_" + n)) +
         node("Constant", "",
              R"(attribute { name: "value" type: 4 t { data_type: 7 dims: 4
                 int64_data: 1 int64_data: 8 int64_data: 4 int64_data: 2 } })") +
         node("Reshape", "",
              in(scope + "proj/MatMul_output_0") +
                  in(scope + "Constant_output_0")) +
         node("Mul", "", in(scope + "Reshape_output_0") + in("scale")) +
         node("Softmax", "",
              in(scope + "Mul_output_0") +
                  R"(attribute { name: "axis" type: 2 i: -1 })") +
         "initializer { name: \"onnx::MatMul_" + n +
         "\" data_type: 1 dims: 2 dims: 2 float_data: 1 float_data: 2 "
         "float_data: 3 float_data: " +
         n + " }" + "initializer { name: \"" + own +
         "norm.weight\" data_type: 1 dims: 2 float_data: 1 float_data: " + n +
         " } initializer { name: \"" + own +
         "norm.bias\" data_type: 1 dims: 2 float_data: 1 float_data: " + n +
         " }";
}

std::string Base() {
  return "ir_version: 8 opset_import { version: 17 } graph { " +
         LayerText("0", "x") + LayerText("1", "/layers.0/Softmax_output_0") +
         R"(node { op_type: "Reshape" name: "/Reshape" input: "/layers.1/Softmax_output_0" input: "shape" output: "y" }
         initializer { name: "shape" data_type: 7 dims: 2 int64_data: 1 int64_data: 64 }
         initializer { name: "scale" data_type: 1 float_data: 0.125 }
         input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 1 } dim { dim_param: "n" } } } } }
         output { name: "y" type { tensor_type { elem_type: 1 shape { dim { dim_value: 1 } dim { dim_value: 64 } } } } })" +
         " }";
}

std::string With(std::string text, const std::string& old_part,
                 const std::string& new_part) {
  const std::size_t at = text.find(old_part);
  EXPECT_NE(at, text.npos) << old_part;
  return text.replace(at, old_part.size(), new_part);
}

CliResult Diff(const std::string& a, const std::string& b,
               std::vector<std::string> more = {}) {
  const TemporaryFolder folder;
  std::vector<std::string> args = {"diff",
                                   folder.Write("a.onnx", BytesFromText(a)),
                                   folder.Write("b.onnx", BytesFromText(b))};
  args.insert(args.end(), more.begin(), more.end());
  return RunCli(args);
}

// Each pair is found, named with both values, and found from both sides.
void ExpectFound(const std::string& changed, const std::string& said,
                 const std::vector<std::string>& more = {}) {
  const CliResult result = Diff(Base(), changed, more);
  EXPECT_EQ(result.exit, 1) << said;
  EXPECT_THAT(result.out, HasSubstr(said));
  EXPECT_THAT(result.out, Not(HasSubstr("no difference")));
  EXPECT_EQ(Diff(changed, Base(), more).exit, 1) << said;
}

TEST(DiffTest, EqualModelsHaveNoDifference) {
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{}, {"--weights"}}) {
    const CliResult result = Diff(Base(), Base(), more);
    EXPECT_EQ(result.exit, 0) << result.out << result.err;
    EXPECT_THAT(result.out, HasSubstr("no difference"));
  }
}

TEST(DiffTest, TheSameConstantInAnotherEncodingIsNoDifference) {
  EXPECT_EQ(Diff(Base(), With(Base(), "int64_data: 1 int64_data: 64",
                              R"(raw_data: "\001\000\000\000\000\000\000\000)"
                              R"(\100\000\000\000\000\000\000\000")"))
                .exit,
            0);
}

TEST(DiffTest, OtherHeadsInAConstantNodeAreFound) {
  ExpectFound(With(Base(), "int64_data: 4 int64_data: 2",
                   "int64_data: 2 int64_data: 4"),
              "Reshape input 1 [1, 8, 4, 2] -> [1, 8, 2, 4]");
}

TEST(DiffTest, AnotherShapeInAnInitializerIsFound) {
  ExpectFound(With(Base(), "int64_data: 1 int64_data: 64",
                   "int64_data: 64 int64_data: 1"),
              "Reshape input 1 [1, 64] -> [64, 1]");
}

TEST(DiffTest, AnotherFactorIsFound) {
  ExpectFound(With(Base(), "float_data: 0.125", "float_data: 0.25"),
              "Mul input 1 0.125 -> 0.25");
}

TEST(DiffTest, AnotherEpsilonIsFoundWithBothValues) {
  ExpectFound(With(Base(), "f: 1e-5", "f: 1e-12"),
              "LayerNormalization epsilon 1e-05 -> 1e-12");
}

TEST(DiffTest, AnEpsilonThatIsTheDefaultMayBeLeftOut) {
  const std::string none =
      With(Base(), R"(attribute { name: "epsilon" type: 1 f: 1e-5 })", "");
  EXPECT_EQ(Diff(Base(), none).exit, 0);
  ExpectFound(With(Base(), "f: 1e-5", "f: 1e-3"), "epsilon 1e-05 -> 0.001");
}

TEST(DiffTest, AnotherAxisIsFoundWithBothValues) {
  ExpectFound(With(Base(), "i: -1", "i: 2"), "Softmax axis -1 -> 2");
}

TEST(DiffTest, AnotherInputShapeIsFound) {
  ExpectFound(With(Base(), R"(dim { dim_value: 1 } dim { dim_param: "n" })",
                   R"(dim { dim_value: 4 } dim { dim_param: "m" })"),
              "input x float32 [1, any] -> float32 [4, any]");
}

TEST(DiffTest, AnotherOutputShapeIsFound) {
  ExpectFound(With(Base(), "dim { dim_value: 64 }", "dim { dim_value: 65 }"),
              "output y float32 [1, 64] -> float32 [1, 65]");
}

TEST(DiffTest, AnotherShapeOfAWeightIsFound) {
  ExpectFound(With(Base(), "data_type: 1 dims: 2 dims: 2",
                   "data_type: 1 dims: 1 dims: 4"),
              "MatMul weight [2, 2] -> [1, 4]");
}

TEST(DiffTest, OtherValuesOfAWeightAreFoundOnRequest) {
  const std::string changed = With(Base(), "float_data: 3 float_data: 1",
                                   "float_data: 3 float_data: 9");
  EXPECT_EQ(Diff(Base(), changed).exit, 0);
  ExpectFound(changed, "weights: 7 equal, 1 changed", {"--weights"});
  EXPECT_THAT(Diff(Base(), changed, {"--weights"}).out,
              HasSubstr("layers.1.proj  MatMul weight values"));
}

TEST(DiffTest, ANodeThatOneModelHasIsFound) {
  ExpectFound(
      With(Base(), R"(node { op_type: "Reshape" name: "/Reshape")",
           R"(node { op_type: "Cast" name: "/Cast" input: "x" output: "z" }
              node { op_type: "Reshape" name: "/Reshape")"),
      "+Cast");
}

TEST(DiffTest, ANodeInAnotherLayerIsFoundAndTheLayersAreNamed) {
  ExpectFound(With(Base(), R"(name: "/layers.1/Softmax")",
                   R"(name: "/layers.0/Softmax_1")"),
              "Softmax: layers.1 -> layers.0");
}

TEST(DiffTest, AValueFromAnotherLayerIsFoundWithBothModules) {
  ExpectFound(
      With(Base(), R"(input: "/layers.1/norm/LayerNormalization_output_0")",
           R"(input: "/layers.0/norm/LayerNormalization_output_0")"),
      "MatMul reads layers.0.norm instead of layers.1.norm");
  ExpectFound(
      With(Base(), R"(input: "/layers.1/Softmax_output_0" input: "shape")",
           R"(input: "/layers.0/Softmax_output_0" input: "shape")"),
      "Reshape reads layers.0 instead of layers.1");
}

TEST(DiffTest, AnInputOfTheModelInPlaceOfALayerIsFound) {
  ExpectFound(
      With(
          Base(),
          R"(input: "/layers.0/Softmax_output_0" input: "layers.1.norm.weight")",
          R"(input: "x" input: "layers.1.norm.weight")"),
      "LayerNormalization reads x instead of layers.0");
}

TEST(DiffTest, AnotherOutputOfTheSameNodeIsFound) {
  const auto model = [](const std::string& read) {
    return R"(ir_version: 8 opset_import { version: 17 } graph {
        node { op_type: "Split" name: "/Split" input: "x" output: "q" output: "k" }
        node { op_type: "Relu" name: "/act/Relu" input: ")" +
           read + R"(" output: "y" }
        input { name: "x" type { tensor_type { elem_type: 1 } } }
        output { name: "y" type { tensor_type { elem_type: 1 } } } })";
  };
  const CliResult result = Diff(model("q"), model("k"));
  EXPECT_EQ(result.exit, 1);
  EXPECT_THAT(result.out, HasSubstr("Relu reads Split 1, output 2, "
                                    "instead of Split 1, output 1"));
}

// Swapped inputs of a sum, and a cast between two nodes, are no other wiring.
TEST(DiffTest, ValuesThatOnlyMoveAreTheSame) {
  const auto model = [](const std::string& sum, const std::string& cast,
                        const std::string& read) {
    return R"(ir_version: 8 opset_import { version: 17 } graph {
        node { op_type: "Relu" name: "/a/Relu" input: "x" output: "p" }
        node { op_type: "Tanh" name: "/b/Tanh" input: "x" output: "q" })" +
           cast + R"(node { op_type: "Add" name: "/Add" )" + sum +
           R"( output: "s" } node { op_type: "Abs" name: "/c/Abs" input: ")" +
           read + R"(" output: "y" }
        input { name: "x" type { tensor_type { elem_type: 1 } } }
        output { name: "y" type { tensor_type { elem_type: 1 } } } })";
  };
  const std::string plain = model(R"(input: "p" input: "q")", "", "s");
  EXPECT_EQ(Diff(plain, model(R"(input: "q" input: "p")", "", "s")).exit, 0);
  const CliResult cast = Diff(
      plain,
      model(R"(input: "r" input: "q")",
            R"(node { op_type: "Cast" name: "/Cast" input: "p" output: "r" })",
            "s"));
  EXPECT_THAT(cast.out, HasSubstr("+Cast"));
  EXPECT_THAT(cast.out, Not(HasSubstr("instead of")));
  EXPECT_THAT(Diff(plain, model(R"(input: "p" input: "p")", "", "s")).out,
              HasSubstr("Add reads a instead of b"));
}

TEST(DiffTest, AnOutputOfTheModelFromAnotherNodeIsFound) {
  const auto model = [](const std::string& first, const std::string& second) {
    return R"(ir_version: 8 opset_import { version: 17 } graph {
        node { op_type: "Relu" name: "/a/Relu" input: "x" output: "p" }
        node { op_type: "Relu" name: "/b/Relu" input: "p" output: "q" }
        node { op_type: "Identity" input: ")" +
           first + R"(" output: "y" } node { op_type: "Identity" input: ")" +
           second + R"(" output: "z" }
        input { name: "x" type { tensor_type { elem_type: 1 } } }
        output { name: "y" type { tensor_type { elem_type: 1 } } }
        output { name: "z" type { tensor_type { elem_type: 1 } } } })";
  };
  const CliResult result = Diff(model("p", "q"), model("q", "p"));
  EXPECT_EQ(result.exit, 1);
  EXPECT_THAT(result.out, HasSubstr("output y is b instead of a"));
}

TEST(DiffTest, WithoutWeightsItSaysThatTheyWereNotCompared) {
  EXPECT_THAT(Diff(Base(), Base()).out, HasSubstr("were not compared"));
  EXPECT_THAT(Diff(Base(), Base(), {"--weights"}).out,
              Not(HasSubstr("were not compared")));
}

TEST(DiffTest, AnotherOpsetIsFound) {
  ExpectFound(With(Base(), "version: 17", "version: 18"),
              "opset ai.onnx 17 -> 18");
}

TEST(DiffTest, WeightsNeedTwoModels) {
  const TemporaryFolder folder;
  const std::string model = folder.Write("a.onnx", BytesFromText(Base()));
  const std::string sidecar = folder.path() + "/a.tags.json";
  ASSERT_EQ(RunCli({"tag", model, "--sidecar-only", "-q"}).exit, 0);
  const CliResult result = RunCli({"diff", model, sidecar, "--weights"});
  EXPECT_EQ(result.exit, 2);
  EXPECT_THAT(result.err, HasSubstr("a sidecar has no weights"));
}

// A module with two products, one of which `read` is.
std::string TwoProducts(const std::string& read) {
  return R"(ir_version: 8 opset_import { version: 17 } graph {
    node { op_type: "Mul" name: "/l/Mul" input: "x" input: "s" output: "/l/Mul_output_0" }
    node { op_type: "Mul" name: "/l/Mul_1" input: "x" input: "t" output: "/l/Mul_1_output_0" }
    node { op_type: "Relu" name: "/l/Relu" input: ")" +
         read + R"(" output: "/l/Relu_output_0" }
    node { op_type: "Concat" name: "/l/Concat" input: "/l/Relu_output_0" input: "/l/Mul_output_0"
           input: "/l/Mul_1_output_0" output: "y" attribute { name: "axis" type: 2 i: 0 } }
    initializer { name: "s" data_type: 1 dims: 1 float_data: 2 }
    initializer { name: "t" data_type: 1 dims: 1 float_data: 3 }
    input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 4 } } } } }
    output { name: "y" } })";
}

TEST(DiffTest, ValuesOfOneModuleAreToldByTheirNodes) {
  const CliResult result =
      Diff(TwoProducts("/l/Mul_output_0"), TwoProducts("/l/Mul_1_output_0"));
  EXPECT_EQ(result.exit, 1);
  EXPECT_THAT(result.out, HasSubstr("Relu reads Mul 2 instead of Mul 1 of l"));
}

// Layers of dynamo's exporter, whose names of values only count.
std::string DynamoLayers(const std::vector<std::string>& modules) {
  std::string text = "ir_version: 10 opset_import { version: 18 } graph { ";
  std::string last = "x";
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const std::string n = std::to_string(i);
    const std::string& module = modules[i];
    text += "node { op_type: \"Relu\" name: \"node_relu_" + n + "\" input: \"" +
            last + "\" output: \"relu_" + n +
            "\" metadata_props { key: \"pkg.torch.onnx.class_hierarchy\" "
            "value: \"['Net', 'Block', 'aten.relu.default']\" } "
            "metadata_props { key: \"pkg.torch.onnx.name_scopes\" value: "
            "\"['', '" +
            module + "', 'relu_" + n + "']\" } } ";
    last = "relu_" + n;
  }
  return text +
         "input { name: \"x\" type { tensor_type { elem_type: 1 } } } "
         "output { name: \"" +
         last + "\" } }";
}

TEST(DiffTest, EqualNumbersInNamesPairNoNodesOfOtherModules) {
  const CliResult result = Diff(DynamoLayers({"a", "b", "c", "d", "e"}),
                                DynamoLayers({"a", "new", "b", "c", "d", "e"}));
  EXPECT_EQ(result.exit, 1);
  EXPECT_THAT(result.out, Not(HasSubstr("in a different module")));
  EXPECT_THAT(result.out, Not(HasSubstr("instead of relu")));
}

}  // namespace
}  // namespace onnx_tag::test
