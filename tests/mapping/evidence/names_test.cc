// The steps of evidence that read names and metadata.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mapping/evidence/evidence.h"
#include "mapping/evidence/small_file.h"
#include "mapping/rules/rules.h"

namespace onnx_tag::test {
namespace {

std::string_view ScopeText(const ScopeFacts& facts, ScopeId id) {
  return id == kNo<ScopeId> ? "-" : facts.scopes[id].text;
}

TEST(GatherScopes, ReadsTheScopesOfNodesAndOfTheirOutputs) {
  SmallFile file;
  file.Node("Relu", {"x"}, "a", "/encoder/layer.0/Relu");
  file.Node("Relu", {"a"}, "/net/act/Relu_output_0", "fused_7");
  file.Node("Relu", {"/net/act/Relu_output_0"}, "c", "Relu_9");
  file.Read();
  const ScopeFacts facts = file.scopes();
  EXPECT_EQ(ScopeText(facts, facts.node_scope[file.NodeOf("a")]),
            "encoder/layer.0");
  const NodeId fused = file.NodeOf("/net/act/Relu_output_0");
  EXPECT_EQ(ScopeText(facts, facts.node_scope[fused]), "-");
  EXPECT_EQ(ScopeText(facts, facts.value_scope[fused]), "net/act");
  EXPECT_EQ(ScopeText(facts, facts.node_scope[file.NodeOf("c")]), "-");
  // The scope around is in the table, too.
  EXPECT_NE(facts.scopes.Find("encoder"), kNo<ScopeId>);
}

TEST(GatherScopes, PlainNamesHaveTheScopesThatAllRulesFind) {
  const std::vector<std::string> names = {"/net/Relu",
                                          "/net/Relu_1",
                                          "/Relu",
                                          "/net/Relu/",
                                          "/net/Relu_",
                                          "/net/_output_3",
                                          "/net/.5",
                                          "/a__Inline_5_",
                                          "/a__Inline_5__/b/Relu",
                                          "/net/x_token_3",
                                          "/net/Relu__7",
                                          "/net/Relu_new_reshape",
                                          "/net/constants/Add",
                                          "/net/Conv_quant",
                                          "/net/Relu_QuantizeLinear",
                                          "/net/MatMul_Grad/R",
                                          "_inlfunc_/a/B",
                                          "net/Relu"};
  SmallFile file;
  for (const std::string& name : names) {
    file.Node("Relu", {"x"}, name + "_output_0", name);
  }
  file.Node("Relu", {"x"}, "/other/Relu_output_0", "/net/act/Relu");
  const Model& model = file.Read();
  const ExporterFacts exporter = file.exporter();
  EXPECT_TRUE(exporter.IsPlain(file.NodeOf("/net/Relu_output_0")));
  EXPECT_FALSE(exporter.IsPlain(file.NodeOf("/net/Relu__7_output_0")));
  ExporterFacts none = exporter;
  none.plain = {};
  const ScopeFacts quick = GatherScopes(file.graph(), exporter);
  const ScopeFacts whole = GatherScopes(file.graph(), none);
  for (const NodeId node : model.Nodes()) {
    SCOPED_TRACE(model[node].name);
    EXPECT_EQ(ScopeText(quick, quick.node_scope[node]),
              ScopeText(whole, whole.node_scope[node]));
    EXPECT_EQ(ScopeText(quick, quick.value_scope[node]),
              ScopeText(whole, whole.value_scope[node]));
    EXPECT_EQ(quick.IsConverterName(node), whole.IsConverterName(node));
    EXPECT_EQ(quick.IsFusedName(node), whole.IsFusedName(node));
  }
}

TEST(GatherScopes, ReadsTheNamesOfAQuantizersConstants) {
  SmallFile file;
  AddParameters(
      file.proto(),
      {"/net/fc/MatMul_output_0_scale", "/net/act/Relu_output_0_scale", "w"},
      0);
  file.Node("MatMul", {"x", "w"}, "1");
  file.Node("QuantizeLinear", {"1", "/net/fc/MatMul_output_0_scale"}, "2");
  file.Node("DequantizeLinear", {"2", "/net/fc/MatMul_output_0_scale"}, "3");
  // A Reshape has the scale of its input: this is not the MatMul's quantizer.
  file.Node("Reshape", {"3", "x"}, "4");
  file.Node("QuantizeLinear", {"4", "/net/fc/MatMul_output_0_scale"}, "5");
  // The Relu behind this product is gone: its quantizer cuts off what is below
  // zero.
  file.Node("MatMul", {"5", "w"}, "6");
  file.Node("QuantizeLinear", {"6", "/net/act/Relu_output_0_scale"}, "7");
  file.Read();
  const ScopeFacts facts = file.scopes();
  const auto scope = [&](const std::string& value) {
    return ScopeText(facts, facts.value_scope[file.NodeOf(value)]);
  };
  EXPECT_EQ(scope("1"), "net/fc");
  EXPECT_EQ(scope("2"), "net/fc");
  EXPECT_EQ(scope("3"), "net/fc");
  EXPECT_TRUE(facts.named_by_constant[file.NodeOf("3")]);
  EXPECT_EQ(scope("4"), "-");
  EXPECT_EQ(scope("5"), "-");
  EXPECT_EQ(scope("6"), "-");
  EXPECT_EQ(scope("7"), "net/act");
}

TEST(GatherScopes, ReadsTheNameOfAnIntegerConvolutionsBias) {
  SmallFile file;
  const std::string shape = "/net/conv/Conv_output_0_bias_reshape_shape";
  AddParameters(file.proto(), {"b", shape}, 1);
  file.Node("Reshape", {"b", shape}, "1");
  file.Node("Add", {"x", "1"}, "2");
  file.Read();
  const ScopeFacts facts = file.scopes();
  for (const char* const value : {"1", "2"}) {
    EXPECT_EQ(ScopeText(facts, facts.value_scope[file.NodeOf(value)]),
              "net/conv");
  }
}

TEST(GatherScopes, KnowsWhatAConverterNamed) {
  SmallFile file;
  file.Node("Cast", {"x"}, "a", "/net/InsertedPrecisionFreeCast_act");
  file.Node("QuantizeLinear", {"x"}, "b", "x_QuantizeLinear");
  file.Node("Relu", {"x"}, "c", "/net/Relu");
  file.Read();
  const ScopeFacts facts = file.scopes();
  EXPECT_TRUE(facts.IsConverterName(file.NodeOf("b")));
  EXPECT_FALSE(facts.IsConverterName(file.NodeOf("c")));
}

TEST(GatherParameters, FollowsAWeightThroughItsCarriers) {
  SmallFile file;
  AddParameters(file.proto(), {"net.fc.weight"});
  file.Node("Transpose", {"net.fc.weight"}, "t");
  file.Node("Cast", {"t"}, "c");
  file.Node("MatMul", {"x", "c"}, "y");
  file.Read();
  ModuleTree modules;
  const ParameterFacts facts = file.parameters(modules);
  const ParameterId id = facts.ParameterOf(file.Value("c"));
  ASSERT_NE(id, kNo<ParameterId>);
  EXPECT_EQ(modules.Path(facts.parameters[id].module), "net.fc");
  EXPECT_EQ(facts.parameters[id].uses, 1u);  // carriers are no uses
  EXPECT_TRUE(facts.parameters[id].trusted);
  EXPECT_TRUE(facts.is_carrier[file.NodeOf("t")]);
  EXPECT_FALSE(facts.is_carrier[file.NodeOf("y")]);
  EXPECT_TRUE(file.graph().data.IsConstant(file.Value("c")));
  EXPECT_FALSE(file.graph().data.IsConstant(file.Value("y")));
}

// Whether `name`, read by the nodes of the file, is trusted.
bool IsTrusted(SmallFile& file, const std::string& name) {
  file.Read();
  ModuleTree modules;
  const ParameterFacts facts = file.parameters(modules);
  return facts.parameters[facts.ParameterOf(file.Value(name))].trusted;
}

TEST(GatherParameters, DoesNotTrustATensorThatTwoScopesRead) {
  SmallFile file;
  AddParameters(file.proto(), {"a.weight"});
  file.Node("MatMul", {"x", "a.weight"}, "y", "/a/MatMul");
  file.Node("MatMul", {"y", "a.weight"}, "z", "/b/MatMul");
  EXPECT_FALSE(IsTrusted(file, "a.weight"));
}

TEST(GatherParameters, TrustsAWeightThatItsModuleUsesTwice) {
  SmallFile file;
  AddParameters(file.proto(), {"rgb.b4.conv.weight"});
  file.Node("Conv", {"x", "rgb.b4.conv.weight"}, "y", "/b4/conv/Conv");
  file.Node("Pow", {"rgb.b4.conv.weight", "two"}, "z", "/b4/Pow");
  EXPECT_TRUE(IsTrusted(file, "rgb.b4.conv.weight"));
  SmallFile nameless;
  AddParameters(nameless.proto(), {"crf.transitions"});
  nameless.Node("Add", {"x", "crf.transitions"}, "y");
  nameless.Node("Sub", {"y", "crf.transitions"}, "z");
  EXPECT_TRUE(IsTrusted(nameless, "crf.transitions"));
  SmallFile tied;
  AddParameters(tied.proto(), {"embed.weight"});
  tied.Node("Gather", {"embed.weight", "ids"}, "y");
  tied.Node("MatMul", {"y", "embed.weight"}, "z");
  EXPECT_FALSE(IsTrusted(tied, "embed.weight"));
}

TEST(GatherParameters, TrustsAWeightOfAModuleThatIsCalledFromManyPlaces) {
  SmallFile file;
  AddParameters(file.proto(), {"up.1.kernel"});
  file.Node("Conv", {"x", "up.1.kernel"}, "a", "/up/up.1/Conv");
  file.Node("Conv", {"a", "up.1.kernel"}, "b", "/b8/up/up.1/Conv");
  file.Node("Conv", {"b", "up.1.kernel"}, "c", "/up/up.1_1/Conv");
  EXPECT_TRUE(IsTrusted(file, "up.1.kernel"));
  // Equal tensors of two layers were merged.
  SmallFile merged;
  AddParameters(merged.proto(), {"layers.0.attn.mask"});
  merged.Node("Add", {"x", "layers.0.attn.mask"}, "a", "/layers.0/attn/Add");
  merged.Node("Add", {"a", "layers.0.attn.mask"}, "b", "/layers.1/attn/Add");
  EXPECT_FALSE(IsTrusted(merged, "layers.0.attn.mask"));
}

TEST(GatherParameters, IntegersWithoutADotAreNoParameter) {
  SmallFile file;
  AddParameters(file.proto(), {"axes"}, 1);
  file.Main()->mutable_initializer(0)->set_data_type(7);
  file.Node("Reshape", {"x", "axes"}, "y");
  file.Read();
  ModuleTree modules;
  EXPECT_TRUE(file.parameters(modules).parameters.empty());
}

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
  const MetadataFacts facts = GatherMetadata(model, parameters, modules);
  EXPECT_EQ(Says(facts.metadata, modules, file.NodeOf("a")), "net.act certain");
  EXPECT_EQ(Says(facts.metadata, modules, file.NodeOf("b")), "-");
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
  const MetadataFacts facts = GatherMetadata(model, parameters, modules);
  EXPECT_EQ(Says(facts.metadata, modules, file.NodeOf("a")), "conv high");
  ASSERT_EQ(facts.folded.size(), 1u);
  EXPECT_EQ(modules.Path(facts.folded[0].module), "bn");
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
  MetadataFacts metadata;
  for (const char* const value : {"y", "z", "w"}) {
    const std::string module = std::string("of_") + value;
    metadata.metadata.push_back({file.NodeOf(value), modules.Add(module),
                                 Confidence::kCertain, Source::kMetadata, ""});
  }
  parameters = DistrustShared(model, metadata, std::move(parameters));
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
  const DialectFacts facts =
      GatherDialectNames(model, exporter, parameters, modules);
  EXPECT_EQ(Says(facts.named, modules, file.NodeOf("a")), "model.fc high");
  EXPECT_EQ(facts.named[0].source, Source::kScopeAndParameter);
  ASSERT_EQ(facts.origins.size(), 1u);
  EXPECT_EQ(modules.Path(facts.origins[0].module), "model.act");
}

TEST(GatherKerasOnTorch, IsNoKerasIfAParameterHasAName) {
  SmallFile file;
  AddParameters(file.proto(), {"fc.weight"});
  file.Node("MatMul", {"x", "fc.weight"}, "a", "/MatMul");
  const Model& model = file.Read();
  ModuleTree modules;
  const ParameterFacts parameters = file.parameters(modules);
  EXPECT_FALSE(GatherKerasOnTorch(model, file.exporter(), file.scopes(),
                                  parameters, {}, modules));
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
  const RuleFacts facts = GatherRules(model, parameters, &rules, modules);
  EXPECT_EQ(Says(facts.ruled, modules, file.NodeOf("a")), "relu certain");
  EXPECT_EQ(Says(facts.ruled, modules, file.NodeOf("b")), "act.8 certain");
  EXPECT_EQ(Says(facts.ruled, modules, file.NodeOf("c")), "-");
  EXPECT_THAT(facts.matches, testing::ElementsAre(1u, 1u));
}

}  // namespace
}  // namespace onnx_tag::test
