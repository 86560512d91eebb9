#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "clues/exporters/dialect_names.h"
#include "clues/exporters/dynamo/mangled_names.h"
#include "clues/exporters/functions/local_functions.h"
#include "core/hierarchy/name_parts.h"

namespace onnx_tag::hierarchy {
namespace {

using ::testing::ElementsAre;

TEST(GenaiTest, SplitsNodes) {
  const GenaiName node = SplitGenaiNode("/model/layers.0/attn/q_proj/MatMul");
  EXPECT_TRUE(node.ok);
  EXPECT_EQ(node.scope, "model/layers.0/attn/q_proj");
  EXPECT_EQ(node.op, "MatMul");
  EXPECT_FALSE(node.made);
}

TEST(GenaiTest, WhatTheBuilderMadeUpIsNoModule) {
  for (const std::string_view name :
       {"/model/constant_nodes/INT64/[64, 64, 64]",
        "/model/attn_mask_reformat/attn_mask_subgraph/Gather/Cast",
        "/model/rope_caches_subgraph/If"}) {
    const GenaiName made = SplitGenaiNode(name);
    EXPECT_TRUE(made.made) << name;
    EXPECT_EQ(made.scope, "model") << name;
  }
}

TEST(GenaiTest, ParametersHaveTheOpInTheirName) {
  EXPECT_EQ(GenaiOwner("model.layers.0.attn.q_proj.MatMul.weight"),
            "model.layers.0.attn.q_proj");
  EXPECT_EQ(GenaiOwner("model.layers.0.norm.weight"), "model.layers.0.norm");
}

TEST(OnnxscriptTest, SplitsNodesAndValues) {
  const ScopedName node =
      SplitOnnxscriptNode("model/layers.0/self_attn/MatMul_node_12");
  EXPECT_TRUE(node.ok);
  EXPECT_EQ(node.scope, "model/layers.0/self_attn");
  EXPECT_EQ(node.op, "MatMul");
  const ScopedName value =
      SplitOnnxscriptValue("v_model.layers.0.self_attn.MatMul_12");
  EXPECT_EQ(value.scope, "model.layers.0.self_attn");
  EXPECT_EQ(value.op, "MatMul");
  EXPECT_EQ(SplitOnnxscriptNode("MatMul_node_3").scope, "");
  EXPECT_TRUE(SplitOnnxscriptNode("MatMul_node_3").ok);
  EXPECT_FALSE(SplitOnnxscriptNode("/a/MatMul_node_3").ok);
  EXPECT_FALSE(SplitOnnxscriptValue("v_hidden_3").ok);
}

TEST(TfTest, Pitfall17_ScopesWithoutCallsPortsAndCounters) {
  struct Vector {
    std::string_view name;
    std::vector<std::string_view> segments;
    std::string_view op;
  };
  const Vector vectors[] = {
      {"functional_1/dense_1/MatMul", {"functional_1", "dense_1"}, "MatMul"},
      {"StatefulPartitionedCall/functional_1/layer_normalization_1_2/Neg:0",
       {"functional_1", "layer_normalization_1_2"},
       "Neg"},
      {"StatefulPartitionedCall/nested_1/ffn_1/Tensordot/Shape__38",
       {"nested_1", "ffn_1"},
       "Shape"},
      {"m/dense/BiasAdd/ReadVariableOp:0", {"m", "dense"}, "ReadVariableOp"},
      {"m/dense/Cast/ReadVariableOp:0", {"m", "dense"}, "ReadVariableOp"},
      {"m/ln/moments/SquaredDifference", {"m", "ln"}, "SquaredDifference"},
      {"tf_bert/bert/encoder/layer_._23/output/LayerNorm/batchnorm/mul",
       {"tf_bert", "bert", "encoder", "layer", "23", "output", "LayerNorm"},
       "mul"},
      {"__inference_rnn_while_cond_3012_frozen_931_rnn_1/gru_1/while/"
       "LogicalAnd",
       {"rnn_1", "gru_1"},
       "LogicalAnd"},
      {"cond___rnn_1/gru_1/while/Less__63", {"rnn_1", "gru_1"}, "Less"},
      {"rnn_1/gru_1/while/gru_cell_1/sub/x:0",
       {"rnn_1", "gru_1", "gru_cell_1"},
       "x"},
  };
  for (const Vector& vector : vectors) {
    const TfName name = SplitTfName(vector.name);
    EXPECT_TRUE(name.ok) << vector.name;
    EXPECT_EQ(name.segments, vector.segments) << vector.name;
    EXPECT_EQ(name.op, vector.op) << vector.name;
  }
  EXPECT_FALSE(SplitTfName("MatMul__283").ok);
  EXPECT_FALSE(SplitTfName("/a/MatMul").ok);
  EXPECT_FALSE(SplitTfName("").ok);
}

TEST(NamePartsTest, CountersGoOneAtATime) {
  EXPECT_EQ(WithoutCounter("dense_1"), "dense");
  EXPECT_EQ(WithoutCounter("dense_1_2"), "dense_1");
  EXPECT_EQ(WithoutCounter("dense"), "dense");
  EXPECT_EQ(WithoutCounter("_1"), "_1");
  EXPECT_EQ(WithoutCounter("Linear.12", "."), "Linear");
}

TEST(FunctionsTest, DomainsAreTold) {
  for (const std::string_view domain :
       {"torch.nn.modules.linear", "__main__",
        "transformers.models.bert.modeling_bert"}) {
    EXPECT_TRUE(IsPythonModuleDomain(domain)) << domain;
    EXPECT_FALSE(IsPackageDomain(domain)) << domain;
  }
  for (const std::string_view domain :
       {"pkg.transformers.4.34.0", "pkg.torch.2.1.0", "pkg.models",
        "pkg.torch.2.1.0a0+git1"}) {
    EXPECT_TRUE(IsPackageDomain(domain)) << domain;
    EXPECT_FALSE(IsPythonModuleDomain(domain)) << domain;
  }
  for (const std::string_view domain :
       {"", "ai.onnx", "ai.onnx.ml", "com.microsoft",
        "pkg.onnxscript.torch_lib", "pkg.onnxscript.torch_lib.common",
        "pkg.torch.__subgraph__", "pkg.", "a..b", "4.2"}) {
    EXPECT_FALSE(IsPythonModuleDomain(domain)) << domain;
    EXPECT_FALSE(IsPackageDomain(domain)) << domain;
  }
}

TEST(FunctionsTest, NamesGiveClassAndModule) {
  const auto attention = SplitPackageFunction(
      "transformers_models_gpt2_modeling_gpt2_GPT2Attention_h_1_attn_1");
  ASSERT_EQ(attention.size(), 1u);
  EXPECT_EQ(attention[0].class_name, "GPT2Attention");
  EXPECT_EQ(attention[0].module, "h_1_attn");

  const auto norm = SplitPackageFunction(
      "torch_nn_modules_normalization_LayerNorm_bert_output_LayerNorm_2");
  ASSERT_EQ(norm.size(), 2u);
  EXPECT_EQ(norm[0].class_name, "LayerNorm");
  EXPECT_EQ(norm[0].module, "bert_output_LayerNorm");
  EXPECT_EQ(norm[1].module, "");

  EXPECT_TRUE(SplitPackageFunction("aten_unsqueeze").empty());
  EXPECT_TRUE(SplitPackageFunction("aten_add|folded_3").empty());
}

ModuleTree Modules(std::initializer_list<std::string_view> paths) {
  ModuleTree tree;
  for (const std::string_view path : paths) tree.Add(path);
  return tree;
}

TEST(SanitizedTest, Pitfall16_KnownModulesTellUnderscoresApart) {
  const ModuleTree tree =
      Modules({"tokenizer.conv_layers.0.0", "encoder.layer_norm",
               "encoder.layer.0", "transformer.h.1.ln_1"});
  const auto match = [&](std::string_view text) {
    const SanitizedMatch found = MatchSanitized(tree, ModuleTree::kRoot, text);
    return tree.Path(found.module) + "|" + std::string(found.rest);
  };
  EXPECT_EQ(match("tokenizer_conv_layers_0_0_weight"),
            "tokenizer.conv_layers.0.0|weight");
  EXPECT_EQ(match("encoder_layer_norm"), "encoder.layer_norm|");
  EXPECT_EQ(match("encoder_layer_0"), "encoder.layer.0|");
  EXPECT_EQ(match("transformer.h_1_ln_1"), "transformer.h.1.ln_1|");
  EXPECT_EQ(match("other"), "|other");
  EXPECT_EQ(match(""), "|");
  EXPECT_EQ(match("encoders"), "|encoders");
}

TEST(SanitizedTest, HostileTreesAreHarmless) {
  ModuleTree tree;
  ModuleId at = ModuleTree::kRoot;
  std::string text;
  for (int i = 0; i < 50000; ++i) {
    tree.Child(at, "a_a");
    at = tree.Child(at, "a");
    text += "a_";
  }
  EXPECT_TRUE(MatchSanitized(tree, ModuleTree::kRoot, text).rest.empty());
}

TEST(SanitizedTest, ATreeOfAllCutsOfANameIsNotSearchedAsAWhole) {
  ModuleTree tree;
  std::vector<ModuleId> level = {ModuleTree::kRoot};
  for (int depth = 0; depth < 13; ++depth) {
    std::vector<ModuleId> next;
    for (const ModuleId at : level) {
      next.push_back(tree.Child(at, "a"));
      next.push_back(tree.Child(at, "a_a"));
    }
    level = std::move(next);
  }
  std::string text = "a";
  for (int i = 0; i < 60; ++i) text += "_a";
  const SanitizedMatch found = MatchSanitized(tree, ModuleTree::kRoot, text);
  EXPECT_EQ(tree.Depth(found.module), 13u);
  EXPECT_LT(found.tried, tree.size() / 8);
}

TEST(DialectTest, OneNameTellsAsMuchAsItCan) {
  struct Vector {
    std::string_view name, op_type, dialect;
  };
  const Vector vectors[] = {
      {"/encoder/layer.0/MatMul_3", "MatMul", "torchscript"},
      {"/Shape_3", "Shape", "torchscript"},
      {"MatMul_24", "MatMul", "torchscript-old"},
      {"node_linear_3", "Gemm", "dynamo"},
      {"n0", "Constant", "dynamo"},
      {"node_MatMul_0__7", "MatMul", "dynamo"},
      {"model/layers.0/MatMul_node_12", "MatMul", "onnxscript"},
      {"/model/constant_nodes/INT64/[1]", "Constant", "genai"},
      {"model/dense/MatMul", "MatMul", "tf2onnx"},
      {"MatMul__283", "MatMul", "tf2onnx"},
      {"Add_112__10", "Add", "torchscript-old"},
      {"Conv.0", "Conv", "paddle"},
      {"p2o.Conv.0", "Conv", "paddle"},
      {"SkipLayerNorm_AddBias_3", "SkipLayerNormalization", "onnxruntime"},
      {"Attention_0", "Attention", "onnxruntime"},
      {"Gelu", "Gelu", "onnxruntime"},
      {"gemm_input_reshape", "Reshape", "onnxruntime"},
      {"", "Add", "unknown"},
      {"whatever", "Add", "unknown"},
  };
  for (const Vector& vector : vectors) {
    EXPECT_EQ(DialectName(NodeNameDialect(vector.name, vector.op_type)),
              vector.dialect)
        << vector.name;
  }
  EXPECT_EQ(ValueNameDialect("/a/MatMul/output_0"), Dialect::kGenai);
  EXPECT_EQ(ValueNameDialect("/a/MatMul_output_0"), Dialect::kTorchScript);
  EXPECT_EQ(ValueNameDialect("val_3"), Dialect::kDynamo);
  EXPECT_EQ(ValueNameDialect("v_a.b.MatMul_3"), Dialect::kOnnxscript);
  EXPECT_EQ(ValueNameDialect("model/dense:0"), Dialect::kTf2onnx);
  EXPECT_EQ(ValueNameDialect("onnx::Gather_12"), Dialect::kTorchScriptOld);
}

TEST(DialectTest, Pitfall19And20_DynamoNamesAreNeverModules) {
  for (const std::string_view name : {"node_select_3", "node_add_2", "n1"}) {
    EXPECT_EQ(NodeNameDialect(name, "Add"), Dialect::kDynamo);
  }
}

TEST(DialectTest, AMegabyteOfPartsIsReadLikeFiftyParts) {
  for (const std::string_view part : {"/", ".", "_", "a/", "__1", ":0", "A_"}) {
    SCOPED_TRACE(part);
    std::string few;
    for (int i = 0; i < 50; ++i) few += part;
    std::string many;
    while (many.size() < 1000000) many += part;
    EXPECT_EQ(NodeNameDialect(many, "Add"), NodeNameDialect(few, "Add"));
    EXPECT_EQ(ValueNameDialect(many), ValueNameDialect(few));
    EXPECT_EQ(SplitTfName(many).ok, SplitTfName(few).ok);
    EXPECT_EQ(SplitGenaiNode(many).ok, SplitGenaiNode(few).ok);
    EXPECT_EQ(SplitPackageFunction(many + "_1").empty(),
              SplitPackageFunction(few + "_1").empty());
    EXPECT_EQ(IsPythonModuleDomain(many), IsPythonModuleDomain(few));
  }
}

}  // namespace
}  // namespace onnx_tag::hierarchy
