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
  EXPECT_EQ(graph.Says("only_root", "a"), "<root> low");
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

// Names are shown to users and are what `explain` prints: within a strategy
// each is used once for each kind of evidence.
TEST(RungTable, NamesEachRungOfAStrategyOnce) {
  for (const Strategy& strategy : AllStrategies()) {
    std::set<std::pair<std::string_view, EvidenceKind>> names;
    for (const Rung& rung : strategy.rungs) {
      EXPECT_TRUE(names.insert({rung.name, rung.kind}).second) << rung.name;
      EXPECT_FALSE(rung.help.empty()) << rung.name;
    }
    EXPECT_FALSE(names.empty()) << strategy.info.name;
  }
}

// The law of facts: the first claim on a node wins, so no tag may rest on a
// weaker kind than a later claim.
TEST(RungTable, RunsStrongerKindsOfEvidenceFirst) {
  for (const Strategy& strategy : AllStrategies()) {
    EvidenceKind last = EvidenceKind::kRule;
    for (const Rung& rung : strategy.rungs) {
      EXPECT_LE(last, rung.kind) << strategy.info.name << " " << rung.name;
      last = rung.kind;
    }
  }
}

// A rung of two kinds gives each claim once: what is certain first.
TEST(RungTable, SplitsARungOfTwoKinds) {
  int parts = 0;
  for (const Rung& rung : RungsOf(kEnhancedSemantic)) {
    if (rung.name != "scope") continue;
    ++parts;
    EXPECT_EQ(rung.part == Rung::Part::kCertain,
              rung.kind == EvidenceKind::kScope);
  }
  EXPECT_EQ(parts, 2);
}

}  // namespace
}  // namespace onnx_tag
