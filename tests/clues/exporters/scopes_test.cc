#include "clues/exporters/scopes.h"

#include <gtest/gtest.h>

#include "support/small_file.h"

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

}  // namespace
}  // namespace onnx_tag::test
