// The steps of evidence that read names and metadata.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mapping/evidence/claims.h"
#include "mapping/rules/rules.h"

namespace onnx_tag::test {
namespace {

TEST(PlaceFunctions, AFunctionIsTheModuleWhoseParametersItsCallPasses) {
  SmallFile file;
  const std::string linear = "torch_nn_modules_linear_Linear_head_fc_1";
  AddParameters(file.proto(), {"head.fc.weight"});
  AddNode(file.Main(), linear, {"x", "head.fc.weight"}, {"a"}, "",
          "pkg.torch.2.1.2");
  AddNode(
      AddFunction(file.proto(), "pkg.torch.2.1.2", linear, {"i", "w"}, {"o"}),
      "MatMul", {"i", "w"}, {"o"});
  const Model& model = file.Read();
  FunctionTable functions(model, file.graph().calls);
  ModuleTree modules;
  const ParameterFacts parameters = file.parameters(modules);
  PlaceFunctions(model, file.scopes(), parameters, modules, functions);
  ASSERT_EQ(functions.size(), 1u);
  EXPECT_EQ(modules.Path(functions[FunctionId{0}].module), "head.fc");
}

TEST(GatherMetadata, ReadsWhatDynamoWrote) {
  SmallFile file;
  auto* const node = file.Node("Relu", {"x"}, "a");
  SmallFile::Metadata(node, "pkg.torch.onnx.name_scopes",
                      "['', 'net.act', 'relu']");
  SmallFile::Metadata(
      node, "pkg.torch.onnx.class_hierarchy",
      "['my.Net', 'torch.nn.modules.activation.ReLU', 'aten.relu.default']");
  file.Node("Relu", {"a"}, "b");
  const Model& model = file.Read();
  ModuleTree modules;
  const ParameterFacts parameters = file.parameters(modules);
  Clues said;
  const std::vector<Origin> folded =
      GatherMetadata(file.graph(), parameters, modules, said);
  EXPECT_EQ(Says(said, modules, file.NodeOf("a")), "net.act certain");
  EXPECT_EQ(Says(said, modules, file.NodeOf("b")), "-");
  EXPECT_EQ(modules.Class(modules.Find("net.act")), "ReLU");
}

// The metadata is the norm's, and the weight the convolution's.
TEST(GatherMetadata, AFoldedNormIsAnOriginOfTheConvolution) {
  SmallFile file;
  AddParameters(file.proto(), {"conv.weight"}, 4);
  auto* const node = file.Node("Conv", {"x", "conv.weight"}, "a");
  SmallFile::Metadata(node, "pkg.torch.onnx.name_scopes",
                      "['', 'bn', 'batch_norm']");
  SmallFile::Metadata(
      node, "pkg.torch.onnx.class_hierarchy",
      "['my.Net', 'torch.nn.modules.batchnorm.BatchNorm2d', 'aten.x']");
  const Model& model = file.Read();
  ModuleTree modules;
  const ParameterFacts parameters = file.parameters(modules);
  Clues said;
  const std::vector<Origin> folded =
      GatherMetadata(file.graph(), parameters, modules, said);
  EXPECT_EQ(Says(said, modules, file.NodeOf("a")), "conv high");
  ASSERT_EQ(folded.size(), 1u);
  EXPECT_EQ(modules.Path(folded[0].module), "bn");
}

TEST(DistrustShared, WithdrawsTheTrustInATensorOfTwoModules) {
  SmallFile file;
  AddParameters(file.proto(), {"a.weight", "c.weight"});
  file.Node("MatMul", {"x", "a.weight"}, "y");
  file.Node("MatMul", {"y", "a.weight"}, "z");
  file.Node("MatMul", {"z", "c.weight"}, "w");
  const Model& model = file.Read();
  ModuleTree modules;
  ParameterFacts parameters = file.parameters(modules);
  for (Parameter& parameter : parameters.parameters) parameter.trusted = true;
  Clues said;
  for (const char* const value : {"y", "z", "w"}) {
    const std::string module = std::string("of_") + value;
    said.Add(WriterId::kMetadata,
             {file.NodeOf(value), modules.Add(module), Confidence::kCertain,
              Source::kMetadata, ""});
  }
  DistrustShared(model, said, parameters);
  EXPECT_FALSE(
      parameters.parameters[parameters.ParameterOf(file.Value("a.weight"))]
          .trusted);
  EXPECT_TRUE(
      parameters.parameters[parameters.ParameterOf(file.Value("c.weight"))]
          .trusted);
}

// One module for each node with an output of a given name.
class NamesOfTest : public DialectNames {
 public:
  std::optional<NamedModule> OfNode(NodeId node) const override {
    if (node != NodeId{0}) return std::nullopt;
    return NamedModule{"model.fc", Confidence::kHigh, "a name", {"model.act"}};
  }
  std::optional<std::string> OwnerOf(std::string_view tensor) const override {
    return std::string(tensor.substr(0, tensor.rfind('.')));
  }
};

TEST(GatherDialectNames, TakesTheModuleAndTheOriginsOfAName) {
  SmallFile file;
  AddParameters(file.proto(), {"model.fc.weight"});
  file.Node("MatMul", {"x", "model.fc.weight"}, "a");
  file.Node("Relu", {"a"}, "b");
  const Model& model = file.Read();
  ExporterFacts exporter;
  exporter.names = std::make_shared<NamesOfTest>();
  ModuleTree modules;
  const ParameterFacts parameters = file.parameters(modules);
  Clues said;
  const std::vector<Origin> origins =
      GatherDialectNames(model, exporter, parameters, modules, said);
  EXPECT_EQ(Says(said, modules, file.NodeOf("a")), "model.fc high");
  EXPECT_EQ(said.Of(file.NodeOf("a"))[0].source, Source::kScopeAndParameter);
  ASSERT_EQ(origins.size(), 1u);
  EXPECT_EQ(modules.Path(origins[0].module), "model.act");
}

TEST(GatherRules, GivesTheModuleOfTheFirstRuleThatHolds) {
  SmallFile file;
  file.Node("Relu", {"x"}, "a", "act_7");
  file.Node("Tanh", {"a"}, "b", "act_8");
  file.Node("Neg", {"b"}, "c", "other");
  const Model& model = file.Read();
  const Rules rules = ReadRules(R"({"rules": [
      {"match": {"op": "Relu"}, "module": "relu"},
      {"match": {"name": "act_*"}, "module": "act.$1"}]})",
                                "rules.json");
  ModuleTree modules;
  const ParameterFacts parameters = file.parameters(modules);
  Clues said;
  const std::vector<std::uint64_t> matches =
      GatherRules(model, parameters, &rules, modules, said);
  EXPECT_EQ(Says(said, modules, file.NodeOf("a")), "relu certain");
  EXPECT_EQ(Says(said, modules, file.NodeOf("b")), "act.8 certain");
  EXPECT_EQ(Says(said, modules, file.NodeOf("c")), "-");
  EXPECT_THAT(matches, testing::ElementsAre(1u, 1u));
}

}  // namespace
}  // namespace onnx_tag::test
