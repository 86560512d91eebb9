// Each rung alone, on the smallest graph that it has something to say about.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "support/one_rung.h"

namespace onnx_tag {
namespace {

using test::AddFunction;
using test::AddNode;
using test::AddParameters;
using test::OneRung;

void AddMetadata(schema::NodeProto* node, const std::string& key,
                 const std::string& value) {
  auto* const entry = node->add_metadata_props();
  entry->set_key(key);
  entry->set_value(value);
}

TEST(Rung, MetadataSaysWhatTheExporterRecorded) {
  OneRung graph;
  auto* const node = graph.Node("Relu", {"x"}, "a");
  AddMetadata(node, "pkg.torch.onnx.name_scopes", "['', 'net.act', 'relu']");
  graph.Node("Relu", {"a"}, "b");
  graph.Gather();
  EXPECT_EQ(graph.Says("metadata", "a"), "net.act certain");
  EXPECT_EQ(graph.Says("metadata", "b"), "-");
}

TEST(Rung, ScopeIsConfirmedByAParameter) {
  OneRung graph;
  graph.Parameters({"net.fc.weight"});
  graph.Node("Gemm", {"x", "net.fc.weight"}, "a", "/net/fc/Gemm");
  graph.Node("Relu", {"a"}, "b", "/net/act/Relu");
  graph.Gather();
  EXPECT_EQ(graph.Says("scope", "a"), "net.fc certain");
  EXPECT_EQ(graph.Says("scope", "b"), "net.act high");
}

TEST(Rung, ScopeFoldsTheIndexOfACalledList) {
  OneRung graph;
  graph.Node("Relu", {"x"}, "a", "/layer/layer.0/Relu");
  graph.Node("Relu", {"a"}, "b", "/embedder/embedder/Relu");
  graph.Node("Relu", {"b"}, "c", "/stages.0/layers.1/Relu");
  graph.Gather();
  EXPECT_EQ(graph.Says("scope", "a"), "layer.0 high");
  EXPECT_EQ(graph.Says("scope", "b"), "embedder.embedder high");
  EXPECT_EQ(graph.Says("scope", "c"), "stages.0.layers.1 high");
}

TEST(Rung, ValueNameIsTheScopeOfAnOutput) {
  OneRung graph;
  graph.Node("Relu", {"x"}, "/net/act/Relu_output_0", "fused_7");
  graph.Gather();
  EXPECT_EQ(graph.Says("scope", "/net/act/Relu_output_0"), "net.act high");
}

TEST(Rung, FunctionOfAModuleIsTheModule) {
  OneRung graph;
  const std::string linear = "torch_nn_modules_linear_Linear_head_fc_1";
  graph.Parameters({"head.fc.weight"});
  AddNode(graph.Main(), linear, {"x", "head.fc.weight"}, {"a"}, "",
          "pkg.torch.2.1.2");
  AddNode(
      AddFunction(graph.proto(), "pkg.torch.2.1.2", linear, {"i", "w"}, {"o"}),
      "MatMul", {"i", "w"}, {"o"});
  graph.Gather();
  EXPECT_EQ(graph.Says("function", "a"), "head.fc certain");
  EXPECT_EQ(graph.Says("function", "o"), "head.fc certain");
}

TEST(Rung, HelperBodyIsItsCallersAlsoThroughAnotherHelper) {
  OneRung graph;
  AddNode(graph.Main(), "outer", {"x"}, {"a"}, "", "custom");
  AddNode(AddFunction(graph.proto(), "custom", "outer", {"i"}, {"o"}), "inner",
          {"i"}, {"o"}, "", "custom");
  AddNode(AddFunction(graph.proto(), "custom", "inner", {"j"}, {"p"}), "Relu",
          {"j"}, {"p"});
  graph.Make();
  EXPECT_EQ(graph.Says("helper_body", "p"), "-");
  graph.Place("a", "net.act");
  EXPECT_EQ(graph.Says("helper_body", "o"), "net.act certain");
  EXPECT_EQ(graph.Says("helper_body", "p"), "net.act certain");
}

TEST(Rung, FunctionBodyIsLeftToTheFunctionsModule) {
  OneRung graph;
  AddNode(graph.Main(), "Block", {"x"}, {"a"}, "", "custom");
  AddNode(AddFunction(graph.proto(), "custom", "Block", {"i"}, {"o"}), "Relu",
          {"i"}, {"o"});
  graph.Make();
  EXPECT_EQ(graph.Says("function_body", "o"), "-");
  graph.evidence().functions[FunctionId{0}].module = graph.Module("blocks.0");
  EXPECT_EQ(graph.Says("function_body", "o"), "blocks.0 low");
}

TEST(Rung, DialectSaysWhatAnotherProducersNameSays) {
  OneRung graph;
  graph.Node("Relu", {"x"}, "a");
  graph.Make();
  graph.evidence().named.push_back({graph.NodeOf("a"),
                                    graph.Module("model.act"),
                                    Confidence::kHigh, Source::kScope, ""});
  EXPECT_EQ(graph.Says("dialect", "a"), "model.act high");
}

TEST(Rung, RegionIsTheLayerAroundItsNamedNeighbours) {
  OneRung graph;
  graph.Node("Mul", {"x"}, "a");
  graph.Node("Neg", {"a"}, "b");
  graph.Node("Mul", {"b"}, "c");
  graph.Make();
  graph.Place("a", "lstm");
  graph.Place("c", "lstm.cell");
  EXPECT_EQ(graph.Says("region", "b"), "-");  // other dialects name all nodes
  graph.evidence().dialect = hierarchy::Dialect::kTf2onnx;
  EXPECT_EQ(graph.Says("region", "b"), "lstm high");
}

TEST(Rung, InlinedCallIsAsSureAsItsClaim) {
  OneRung graph;
  graph.Node("Relu", {"x"}, "a");
  graph.Node("Relu", {"a"}, "b");
  graph.Make();
  const ModuleId act = graph.Module("net.act");
  graph.evidence().inlined = {
      {graph.NodeOf("a"), act, Confidence::kCertain, Source::kValueName, ""},
      {graph.NodeOf("b"), act, Confidence::kMedium, Source::kValueName, ""}};
  EXPECT_EQ(graph.Says("inlined", "a"), "net.act certain");
  EXPECT_EQ(graph.Says("inlined", "b"), "net.act medium");
}

TEST(Rung, ParameterSpeaksForTheProductInFrontOfItsBias) {
  OneRung graph;
  AddParameters(graph.proto(), {"onnx::MatMul_7"});
  graph.Parameters({"fc.bias"}, 1);
  graph.Node("MatMul", {"x", "onnx::MatMul_7"}, "a");
  graph.Node("Add", {"a", "fc.bias"}, "b");
  graph.Node("Relu", {"b"}, "c");
  graph.Make();
  EXPECT_EQ(graph.Says("parameter", "a"), "fc high");
  EXPECT_THAT(graph.Says("parameter", "b"), testing::StartsWith("fc "));
  EXPECT_EQ(graph.Says("parameter", "c"), "-");
}

TEST(Rung, RecipesAreFirmOrLoose) {
  OneRung graph;
  graph.Node("Relu", {"x"}, "a");
  graph.Node("Relu", {"a"}, "b");
  graph.Make();
  const ModuleId act = graph.Module("net.act");
  graph.evidence().recipes = {
      {graph.NodeOf("a"), act, Confidence::kHigh, Source::kOperation, ""}};
  graph.evidence().loose_recipes = {
      {graph.NodeOf("b"), act, Confidence::kLow, Source::kOperation, ""}};
  EXPECT_EQ(graph.Says("recipe", "a"), "net.act high");
  EXPECT_EQ(graph.Says("recipe", "b"), "-");
  EXPECT_EQ(graph.Says("loose_recipe", "a"), "-");
  EXPECT_EQ(graph.Says("loose_recipe", "b"), "net.act low");
}

TEST(Rung, NormIsWhatItsWeightCompletes) {
  OneRung graph;
  graph.Parameters({"norm.weight"}, 1);
  graph.Parameters({"two", "epsilon"}, 0);
  graph.Node("Relu", {"x"}, "h");
  graph.Node("Pow", {"h", "two"}, "square");
  graph.Node("ReduceMean", {"square"}, "mean");
  graph.Node("Add", {"mean", "epsilon"}, "shifted");
  graph.Node("Sqrt", {"shifted"}, "root");
  graph.Node("Div", {"h", "root"}, "scaled");
  graph.Node("Mul", {"scaled", "norm.weight"}, "y");
  graph.Make();
  graph.Place("y", "norm", Source::kParameter);
  for (const char* const part : {"square", "mean", "root", "scaled"}) {
    EXPECT_EQ(graph.Says("norm", part), "norm high") << part;
  }
  EXPECT_EQ(graph.Says("norm", "h"), "-");
}

TEST(Rung, CarrierIsItsParametersOwners) {
  OneRung graph;
  graph.Parameters({"fc.weight"});
  graph.Node("Transpose", {"fc.weight"}, "t");
  graph.Node("MatMul", {"x", "t"}, "a");
  graph.Make();
  EXPECT_EQ(graph.Says("carrier", "t"), "-");
  graph.evidence().is_carrier[graph.NodeOf("t")] = true;
  graph.evidence().value_parameter[graph.ValueOf("t")] = ParameterId{0};
  EXPECT_EQ(graph.Says("carrier", "t"), "fc medium");
  EXPECT_EQ(graph.Says("carrier", "a"), "-");
}

TEST(Rung, ReshapesAroundAGemmAreTheGemms) {
  OneRung graph;
  graph.Parameters({"w"});
  graph.Node("Reshape", {"x"}, "a");
  graph.Node("Gemm", {"a", "w"}, "b");
  graph.Node("Reshape", {"b"}, "c");
  graph.Make();
  graph.Place("b", "fc");
  EXPECT_EQ(graph.Says("gemm_reshape", "a"), "fc high");
  EXPECT_EQ(graph.Says("gemm_reshape", "c"), "fc high");
}

// Two Gemms read one Reshape, and behind the activation of one of them stands
// the Gemm that turns back.
TEST(Rung, ReshapesAroundSeveralGemmsAreOfTheOnesBesideThem) {
  OneRung graph;
  graph.Parameters({"a.up.weight", "a.down.weight", "b.weight"});
  graph.Node("Reshape", {"x"}, "flat");
  graph.Node("Gemm", {"flat", "a.up.weight"}, "up");
  graph.Node("Relu", {"up"}, "act");
  graph.Node("Gemm", {"act", "a.down.weight"}, "down");
  graph.Node("Reshape", {"down"}, "back");
  graph.Node("Gemm", {"flat", "b.weight"}, "b");
  graph.Node("Reshape", {"b"}, "b_back");
  graph.Make();
  graph.Place("up", "a.up");
  graph.Place("down", "a.down");
  graph.Place("b", "b");
  EXPECT_EQ(graph.Says("gemm_reshape", "flat"), "-");
  EXPECT_EQ(graph.Says("gemm_reshape", "back"), "a.down high");
  EXPECT_EQ(graph.Says("gemm_reshape", "b_back"), "b high");
}

// A MultiheadAttention uses the weight of its out_proj and does not call it.
TEST(Rung, ReshapesAroundAGemmOfAPackedAttentionAreTheAttentions) {
  OneRung graph;
  graph.Parameters({"attn.in_proj_weight", "attn.out_proj.weight"});
  graph.Node("Reshape", {"x"}, "a");
  graph.Node("Gemm", {"a", "attn.out_proj.weight"}, "b");
  graph.Node("Reshape", {"b"}, "c");
  graph.Make();
  graph.Place("b", "attn.out_proj");
  EXPECT_EQ(graph.Says("gemm_reshape", "a"), "attn high");
  EXPECT_EQ(graph.Says("gemm_reshape", "c"), "attn high");
}

// A quantizer and its inverse stand one behind the other. The second is placed
// by the node before both: the claim on the first is not accepted yet.
TEST(Rung, ConversionsAreOfWhoMadeTheTensor) {
  OneRung graph;
  graph.Node("Relu", {"x"}, "a");
  graph.Node("QuantizeLinear", {"a"}, "b");
  graph.Node("DequantizeLinear", {"b"}, "c");
  graph.Node("Relu", {"c"}, "d");
  graph.Make();
  graph.Place("a", "act", Source::kOperation, Confidence::kMedium);
  EXPECT_EQ(graph.Says("conversion", "b"), "act medium");
  EXPECT_EQ(graph.Says("conversion", "c"), "act medium");
  EXPECT_EQ(graph.Says("conversion", "d"), "-");
}

TEST(Rung, ConsumersSpeakWhereTheyAgree) {
  OneRung graph;
  graph.Node("Shape", {"x"}, "size");
  graph.Node("Expand", {"x", "size"}, "a", "/attn/Expand");
  graph.Node("Shape", {"x"}, "shared");
  graph.Node("Expand", {"x", "shared"}, "b", "/attn/Expand_1");
  graph.Node("Expand", {"x", "shared"}, "c", "/mlp/Expand");
  graph.Make();
  graph.Place("a", "attn");
  graph.Place("b", "attn");
  graph.Place("c", "mlp");
  EXPECT_EQ(graph.Says("consumers", "size"), "attn high");
  EXPECT_EQ(graph.Says("consumers", "shared"), "-");
}

TEST(Rung, AttentionIsOfWhoCallsItsProjections) {
  OneRung graph;
  for (const char* const part : {"q", "k", "v"}) {
    graph.Parameters({std::string("attn.") + part + ".weight"});
    graph.Node("MatMul", {"x", std::string("attn.") + part + ".weight"}, part);
  }
  graph.Parameters({"attn.o.weight"});
  graph.Node("MatMul", {"q", "k"}, "scores");
  graph.Node("Softmax", {"scores"}, "weights");
  graph.Node("MatMul", {"weights", "v"}, "context");
  graph.Node("MatMul", {"context", "attn.o.weight"}, "y");
  graph.Make();
  graph.Place("q", "attn.q");
  graph.Place("k", "attn.k");
  graph.Place("v", "attn.v");
  graph.Place("y", "attn.o");
  for (const char* const part : {"scores", "weights", "context"}) {
    EXPECT_EQ(graph.Says("attention", part), "attn medium") << part;
  }
}

TEST(Rung, ControlFlowIsAroundWhatItsBranchesUse) {
  OneRung graph;
  graph.Node("Not", {"x"}, "condition");
  auto* const node = graph.Node("If", {"condition"}, "y");
  auto* const branch = node->add_attribute();
  branch->set_name("then_branch");
  branch->set_type(5);  // a graph
  AddNode(branch->mutable_g(), "Relu", {"x"}, {"inside"});
  AddNode(branch->mutable_g(), "Neg", {"inside"}, {"result"});
  graph.Make();
  graph.Place("inside", "block.act");
  EXPECT_EQ(graph.Says("control_flow", "y"), "block medium");
  EXPECT_EQ(graph.Says("control_flow", "condition"), "block medium");
  EXPECT_EQ(graph.Says("control_flow", "result"), "block medium");
}

TEST(Rung, OnlyRootIsAllThatSomeFilesName) {
  OneRung graph;
  graph.Node("Relu", {"x"}, "a");
  graph.Make();
  EXPECT_EQ(graph.Says("only_root", "a"), "-");
  graph.evidence().only_root_is_named = true;
  EXPECT_EQ(graph.Says("only_root", "a"), " low");
}

TEST(Rung, SequentialHasTheNumberBetween) {
  OneRung graph;
  graph.Parameters({"net.3.weight", "net.5.weight"});
  graph.Node("Conv", {"x", "net.3.weight"}, "a");
  graph.Node("Relu", {"a"}, "b");
  graph.Node("Conv", {"b", "net.5.weight"}, "c");
  graph.Gather();
  graph.Place("a", "net.3");
  graph.Place("c", "net.5");
  EXPECT_EQ(graph.Says("sequential", "b"), "net.4 medium");
}

// A norm and an activation of several nodes each, and one of a single node.
TEST(Rung, SequentialTellsPartsOfSeveralNodesApart) {
  OneRung graph;
  graph.Parameters({"net.0.weight", "net.4.weight"});
  AddParameters(graph.proto(), {"onnx::Mul_1", "onnx::Add_2"});
  graph.Node("Conv", {"x", "net.0.weight"}, "a");
  graph.Node("Reshape", {"a"}, "b");
  graph.Node("InstanceNormalization", {"b"}, "c");
  graph.Node("Reshape", {"c"}, "d");
  graph.Node("Mul", {"d", "onnx::Mul_1"}, "e");
  graph.Node("Add", {"e", "onnx::Add_2"}, "f");
  graph.Node("Sigmoid", {"f"}, "g");
  graph.Node("Mul", {"f", "g"}, "h");
  graph.Node("MaxPool", {"h"}, "i");
  graph.Node("Conv", {"i", "net.4.weight"}, "j");
  graph.Gather();
  graph.Place("a", "net.0");
  graph.Place("j", "net.4");
  EXPECT_EQ(graph.Says("sequential", "c"), "net.1 medium");
  EXPECT_EQ(graph.Says("sequential", "f"), "net.1 medium");
  EXPECT_EQ(graph.Says("sequential", "h"), "net.2 medium");
  EXPECT_EQ(graph.Says("sequential", "i"), "net.3 medium");
}

// Which of two items it is, is not known: one may be a folded BatchNorm. dynamo
// tells which convolution has one.
TEST(Rung, SequentialIsAroundWhatMayBeOneOfTwoItems) {
  for (const bool folded : {false, true}) {
    OneRung graph;
    const std::string bias = folded ? "net.0.weight_bias" : "net.0.bias";
    graph.Parameters({"net.0.weight", bias, "net.3.weight"});
    graph.Node("Conv", {"x", "net.0.weight", bias}, "a");
    graph.Node("Relu", {"a"}, "b");
    graph.Node("Conv", {"b", "net.3.weight"}, "c");
    graph.Gather();
    graph.Place("a", "net.0");
    graph.Place("c", "net.3");
    EXPECT_EQ(graph.Says("sequential", "b"),
              folded ? "net.2 medium" : "net low");
  }
}

// Nobody makes a Sequential of one item; and what follows one product follows
// the next, too.
TEST(Rung, SequentialGoesOnBehindItsLastKnownItem) {
  OneRung graph;
  graph.Parameters({"one.0.weight", "two.0.weight", "two.2.weight",
                    "other.weight", "last.1.weight"});
  graph.Node("Conv", {"x", "one.0.weight"}, "a");
  graph.Node("LeakyRelu", {"a"}, "b");
  graph.Node("Conv", {"b", "two.0.weight"}, "c");
  graph.Node("Relu", {"c"}, "d");
  graph.Node("Conv", {"d", "two.2.weight"}, "e");
  graph.Node("Relu", {"e"}, "f");
  graph.Node("Conv", {"f", "last.1.weight"}, "g");
  graph.Node("Relu", {"g"}, "h");
  graph.Node("Conv", {"h", "other.weight"}, "i");
  graph.Gather();
  graph.Place("a", "one.0");
  graph.Place("c", "two.0");
  graph.Place("e", "two.2");
  graph.Place("g", "last.1");
  graph.Place("i", "other");
  EXPECT_EQ(graph.Says("sequential", "b"), "one low");
  EXPECT_EQ(graph.Says("sequential", "d"), "two.1 medium");
  EXPECT_EQ(graph.Says("sequential", "f"), "two low");
  EXPECT_EQ(graph.Says("sequential", "h"), "-");
}

TEST(Rung, ExecutionOrderStaysBetweenPlacedNodes) {
  OneRung graph;
  graph.Node("Relu", {"x"}, "a");
  graph.Node("Neg", {"a"}, "b");
  graph.Node("Relu", {"b"}, "c");
  graph.Make();
  graph.Place("a", "block.act");
  graph.Place("c", "block.act");
  EXPECT_EQ(graph.Says("execution_order", "b"), "block.act low");
}

// A tool that sorts nodes anew puts branches side by side.
TEST(Rung, ExecutionOrderKnowsWhatRunsBesideALeaf) {
  OneRung graph;
  graph.Parameters({"block.proj.weight", "block.conv.weight"});
  graph.Node("Mul", {"x", "block.proj.weight"}, "a");
  graph.Node("Neg", {"x"}, "b");
  graph.Node("Add", {"a", "block.proj.weight"}, "c");
  graph.Node("Conv", {"b", "block.conv.weight"}, "d");
  graph.Make();
  graph.Place("a", "block.proj");
  graph.Place("c", "block.proj");
  graph.Place("d", "block.conv");
  EXPECT_EQ(graph.Says("execution_order", "b"), "block low");
}

TEST(Rung, RecordedSaysWhatAnOperationBecame) {
  OneRung graph;
  graph.Node("Relu", {"x"}, "a");
  graph.Node("Relu", {"a"}, "b");
  graph.Make();
  const ModuleId act = graph.Module("net.act");
  graph.evidence().recorded = {
      {graph.NodeOf("a"), act, Confidence::kCertain, Source::kTrace, ""}};
  graph.evidence().recorded_parts = {
      {graph.NodeOf("b"), act, Confidence::kHigh, Source::kFx, ""}};
  EXPECT_EQ(graph.Says("recorded", "a"), "net.act certain");
  EXPECT_EQ(graph.Says("recorded", "b"), "-");
  EXPECT_EQ(graph.Says("recorded_part", "b"), "net.act high");
}

TEST(Rung, ConsumersOfARecordedNodeServeItsModule) {
  OneRung graph;
  graph.Node("Shape", {"x"}, "size");
  graph.Node("Expand", {"x", "size"}, "a");
  graph.Make();
  graph.Place("a", "net.grow", Source::kTrace);
  EXPECT_EQ(graph.Says("consumers", "size"), "net.grow high");
}

TEST(Rung, VoteNeedsNeighboursThatAreClose) {
  OneRung graph;
  graph.Node("Relu", {"x"}, "a");
  graph.Node("Identity", {"a"}, "b");
  graph.Node("Relu", {"b"}, "c");
  graph.Node("Identity", {"c"}, "d");
  graph.Node("Relu", {"d"}, "e");
  graph.Make();
  graph.Place("a", "net.block.act");
  graph.Place("c", "net.block.act");
  graph.Place("e", "head");
  EXPECT_EQ(graph.Says("vote", "b"), "net.block.act medium");
  EXPECT_EQ(graph.Says("vote", "d"), "-");
}

// Both ends of a chain vote for their neighbour in the same round.
TEST(Rung, VoteDoesNotDependOnTheOrderOfNodes) {
  OneRung graph;
  graph.Node("Relu", {"x"}, "a");
  graph.Node("Identity", {"a"}, "b");
  graph.Node("Identity", {"b"}, "c");
  graph.Node("Relu", {"c"}, "d");
  graph.Make();
  graph.Place("a", "net.block.one");
  graph.Place("d", "net.block.two");
  EXPECT_EQ(graph.Says("vote", "b"), "net.block.one medium");
  EXPECT_EQ(graph.Says("vote", "c"), "net.block.two medium");
}

TEST(Rung, AuxiliaryIsTheRest) {
  OneRung graph;
  graph.Node("Relu", {"x"}, "a");
  graph.Node("Relu", {"a"}, "b");
  graph.Make();
  graph.Place("a", "net");
  EXPECT_EQ(graph.Says("auxiliary", "a"), "-");
  EXPECT_EQ(graph.Says("auxiliary", "b"), " low");
}

// Names are shown to users and are what `explain` prints: within a strategy
// each is used once.
TEST(RungTable, NamesEachRungOfAStrategyOnce) {
  for (const Strategy& strategy : AllStrategies()) {
    std::set<std::string_view> names;
    for (const Rung& rung : strategy.rungs) {
      EXPECT_TRUE(names.insert(rung.name).second) << rung.name;
      EXPECT_FALSE(rung.help.empty()) << rung.name;
    }
    EXPECT_FALSE(names.empty()) << strategy.info.name;
  }
}

}  // namespace
}  // namespace onnx_tag
