// Files of producers other than PyTorch's exporters, built small: what each
// name, or what is left of it, says.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "onnx_tag/mapping.h"
#include "onnx_tag_schema.pb.h"

namespace onnx_tag {
namespace {

class Built {
 public:
  // One output, named after the node as the producer does.
  Built& Node(const std::string& op, const std::string& name,
              const std::vector<std::string>& inputs,
              const std::string& output) {
    schema::NodeProto& node = *proto_.mutable_graph()->add_node();
    node.set_op_type(op);
    node.set_name(name);
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(output);
    return *this;
  }

  Built& Genai(const std::string& op, const std::string& name,
               const std::vector<std::string>& inputs = {"x"}) {
    return Node(op, name, inputs, name + "/output_0");
  }

  Built& Tf(const std::string& op, const std::string& name,
            const std::vector<std::string>& inputs = {"x"}) {
    return Node(op, name, inputs, name + ":0");
  }

  Built& Input(const std::string& name) {
    proto_.mutable_graph()->add_input()->set_name(name);
    return *this;
  }

  Built& Weight(const std::string& name, const std::vector<int>& dims) {
    schema::TensorProto& tensor = *proto_.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(1);
    for (const int dim : dims) tensor.add_dims(dim);
    return *this;
  }

  Built& Ones(const std::string& name, int size) {
    Weight(name, {size});
    const std::vector<float> ones(static_cast<std::size_t>(size), 1.0f);
    schema::GraphProto& graph = *proto_.mutable_graph();
    graph.mutable_initializer(graph.initializer_size() - 1)
        ->set_raw_data(ones.data(), ones.size() * sizeof(float));
    return *this;
  }

  Built& NodeMetadata(const std::string& key, const std::string& value) {
    schema::GraphProto& graph = *proto_.mutable_graph();
    auto& entry =
        *graph.mutable_node(graph.node_size() - 1)->add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
    return *this;
  }

  Built& Map() {
    proto_.set_ir_version(10);
    bytes_ = proto_.SerializeAsString();
    model_ = std::make_unique<Model>(ReadModel(bytes_));
    tagging_ = MapNodes(*model_, MappingOptions());
    return *this;
  }

  const Tag& TagOf(const std::string& name) const {
    for (const NodeId node : model_->Nodes()) {
      if ((*model_)[node].name == name) return tagging_.tags[node];
    }
    ADD_FAILURE() << "no node " << name;
    return tagging_.tags[NodeId{0}];
  }

  // "-" for an untagged node.
  std::string ModuleOf(const std::string& name) const {
    const Tag& tag = TagOf(name);
    return tag.tagged() ? tagging_.modules.Path(tag.module) : "-";
  }

  const Tagging& tagging() const { return tagging_; }

 private:
  schema::ModelProto proto_;
  std::string bytes_;
  std::unique_ptr<Model> model_;
  Tagging tagging_;
};

Built ClassPaths() {
  Built built;
  built.Weight("encoder.layer.0.query.weight", {8, 8})
      .Weight("encoder.layer.0.norm.weight", {8})
      .Node("MatMul", "/Net/Encoder/Layer.0/Linear/MatMul",
            {"x", "encoder.layer.0.query.weight"}, "a")
      .Node("Mul", "/Net/Encoder/Layer.0/Norm/Mul",
            {"a", "encoder.layer.0.norm.weight"}, "b");
  return built;
}

TEST(ClassPathTest, ScopesOfClassesAreADialect) {
  Built built = ClassPaths();
  built.Map();
  EXPECT_EQ(built.tagging().dialect, "class-path");
  EXPECT_EQ(built.ModuleOf("/Net/Encoder/Layer.0/Norm/Mul"),
            "encoder.layer.0.norm");
}

TEST(ClassPathTest, MetadataSaysMore) {
  Built built = ClassPaths();
  built
      .NodeMetadata(
          "pkg.torch.onnx.name_scopes",
          "['', 'encoder', 'encoder.layer.0', 'encoder.layer.0.norm', 'mul']")
      .Map();
  EXPECT_EQ(built.tagging().dialect, "dynamo");
}

TEST(GenaiTest, AttnIsSelfAttnAndAPackedProjectionHasThreeOrigins) {
  Built built;
  built.Weight("model.layers.0.attn.qkv_proj.MatMul.weight", {8, 24})
      .Weight("model.layers.0.attn.o_proj.MatMul.weight", {8, 8})
      .Genai("MatMul", "/model/layers.0/attn/qkv_proj/MatMul",
             {"x", "model.layers.0.attn.qkv_proj.MatMul.weight"})
      .Genai("GroupQueryAttention", "/model/layers.0/attn/GroupQueryAttention")
      .Genai("MatMul", "/model/layers.0/attn/o_proj/MatMul",
             {"x", "model.layers.0.attn.o_proj.MatMul.weight"})
      .Map();
  EXPECT_EQ(built.tagging().dialect, "genai");
  EXPECT_EQ(built.ModuleOf("/model/layers.0/attn/qkv_proj/MatMul"),
            "model.layers.0.self_attn");
  EXPECT_EQ(built.ModuleOf("/model/layers.0/attn/GroupQueryAttention"),
            "model.layers.0.self_attn");
  EXPECT_EQ(built.ModuleOf("/model/layers.0/attn/o_proj/MatMul"),
            "model.layers.0.self_attn.o_proj");
  ASSERT_EQ(built.tagging().origins.size(), 3u);
  EXPECT_EQ(built.tagging().modules.Path(built.tagging().origins[1].module),
            "model.layers.0.self_attn.k_proj");
}

TEST(GenaiTest, TheNormBehindTheLastLayerIsNoLayer) {
  Built built;
  built
      .Genai("SkipSimplifiedLayerNormalization",
             "/model/layers.2/final_norm_layernorm/SkipLayerNorm")
      .Genai("Cast",
             "/model/layers.2/final_norm_layernorm/SkipLayerNorm/output_0/Cast")
      .Map();
  EXPECT_EQ(
      built.ModuleOf("/model/layers.2/final_norm_layernorm/SkipLayerNorm"),
      "model.norm");
  EXPECT_EQ(
      built.ModuleOf(
          "/model/layers.2/final_norm_layernorm/SkipLayerNorm/output_0/Cast"),
      "model.norm");
}

TEST(GenaiTest, AStepWithoutParametersBelongsToTheModuleAround) {
  Built built;
  built.Weight("model.layers.0.mlp.gate_proj.MatMul.weight", {8, 8})
      .Genai("MatMul", "/model/layers.0/mlp/gate_proj/MatMul",
             {"x", "model.layers.0.mlp.gate_proj.MatMul.weight"})
      .Genai("Sigmoid", "/model/layers.0/mlp/act_fn/Sigmoid")
      .Genai("Mul", "/model/layers.0/residual_mul/Mul_1")
      .Map();
  EXPECT_EQ(built.ModuleOf("/model/layers.0/mlp/act_fn/Sigmoid"),
            "model.layers.0.mlp");
  EXPECT_EQ(built.ModuleOf("/model/layers.0/residual_mul/Mul_1"),
            "model.layers.0");
}

TEST(GenaiTest, WhatTheFileHoldsTellsWhichWordsTheModelUses) {
  Built lfm2;
  lfm2.Genai("SimplifiedLayerNormalization",
             "/model/layers.0/operator_layernorm/LayerNorm")
      .Genai("MatMul", "/model/layers.0/mlp/up_proj/MatMul")
      .Genai("MatMul", "/model/layers.0/attn/o_proj/MatMul")
      .Map();
  EXPECT_EQ(lfm2.ModuleOf("/model/layers.0/operator_layernorm/LayerNorm"),
            "model.layers.0.operator_norm");
  EXPECT_EQ(lfm2.ModuleOf("/model/layers.0/mlp/up_proj/MatMul"),
            "model.layers.0.feed_forward.w3");
  EXPECT_EQ(lfm2.ModuleOf("/model/layers.0/attn/o_proj/MatMul"),
            "model.layers.0.self_attn.out_proj");
  Built phi;
  phi.Genai("Add", "/model/layers.0/residual_add/Add")
      .Genai("MatMul", "/model/layers.0/attn/o_proj/MatMul")
      .Map();
  EXPECT_EQ(phi.ModuleOf("/model/layers.0/attn/o_proj/MatMul"),
            "model.layers.0.self_attn.dense");
}

TEST(GenaiTest, AProjectionThatMayBePackedIsOfLowConfidence) {
  Built plain;
  plain.Genai("MatMul", "/model/layers.0/mlp/gate_proj/MatMul").Map();
  EXPECT_EQ(plain.TagOf("/model/layers.0/mlp/gate_proj/MatMul").confidence,
            Confidence::kLow);
  // Phi-3 has no norms of queries.
  Built qwen;
  qwen.Genai("MatMul", "/model/layers.0/mlp/gate_proj/MatMul")
      .Genai("Reshape", "/model/layers.0/attn/q_norm/Reshape_1")
      .Map();
  EXPECT_EQ(qwen.TagOf("/model/layers.0/mlp/gate_proj/MatMul").confidence,
            Confidence::kCertain);
}

TEST(GenaiTest, AConstantBelongsToWhatReadsIt) {
  Built built;
  built
      .Node("Constant", "/model/constant_nodes/INT64/[1]", {},
            "/model/constants/INT64/[1]")
      .Genai("Reshape", "/model/layers.0/attn/Reshape",
             {"x", "/model/constants/INT64/[1]"})
      .Map();
  EXPECT_EQ(built.ModuleOf("/model/constant_nodes/INT64/[1]"),
            "model.layers.0.self_attn");
}

TEST(TfTest, TheModelsNameAndKeras3sNumbersAreNotPartOfThePath) {
  Built built;
  built.Tf("MatMul", "functional_1/dense_1/MatMul")
      .Tf("MatMul", "functional_1/dense_1_2/MatMul")
      .Tf("MatMul", "functional_1/dense_2_1/Tensordot/MatMul")
      .Tf("Add", "functional_1/add_1/Add")
      .Tf("ReduceMean", "functional_1/head_1/norm_1/moments/mean")
      .Map();
  EXPECT_EQ(built.tagging().dialect, "tf2onnx");
  EXPECT_EQ(built.ModuleOf("functional_1/dense_1/MatMul"), "dense");
  EXPECT_EQ(built.ModuleOf("functional_1/dense_1_2/MatMul"), "dense_1");
  EXPECT_EQ(built.ModuleOf("functional_1/dense_2_1/Tensordot/MatMul"),
            "dense_2");
  EXPECT_EQ(built.ModuleOf("functional_1/add_1/Add"), "add");
  EXPECT_EQ(built.ModuleOf("functional_1/head_1/norm_1/moments/mean"),
            "head.norm");
}

TEST(TfTest, NumbersThatDifferAreTheLayersOwn) {
  Built built;
  built.Tf("MatMul", "model_1/dense_3/MatMul")
      .Tf("MatMul", "model_1/dense_4/MatMul")
      .Tf("Relu", "model_1/activation/Relu")
      .Map();
  EXPECT_EQ(built.ModuleOf("model_1/dense_3/MatMul"), "dense_3");
  EXPECT_EQ(built.ModuleOf("model_1/dense_4/MatMul"), "dense_4");
}

TEST(TfTest, NodesWithoutAScopeLieInTheLayerAroundTheirNeighbours) {
  Built built;
  built.Tf("MatMul", "m_1/attention_1/query_1/MatMul")
      .Tf("MatMul", "m_1/attention_1/key_1/MatMul")
      .Tf("Transpose", "Transpose__12", {"m_1/attention_1/key_1/MatMul:0"})
      .Tf("MatMul", "MatMul__14",
          {"m_1/attention_1/query_1/MatMul:0", "Transpose__12:0"})
      .Tf("Softmax", "m_1/attention_1/Softmax", {"MatMul__14:0"})
      .Tf("Relu", "m_1/act_1/Relu")
      .Map();
  EXPECT_EQ(built.ModuleOf("Transpose__12"), "attention");
  EXPECT_EQ(built.ModuleOf("MatMul__14"), "attention");
}

TEST(OnnxscriptTest, NamesOfNodesAndValuesAreEnoughWithoutMetadata) {
  Built built;
  built
      .Node("MatMul", "model/layers.0/fc/MatMul_node_3", {"x", "w"},
            "v_model.layers.0.fc.MatMul_3")
      .Node("Add", "model/layers.0/Add_node_4",
            {"v_model.layers.0.fc.MatMul_3", "x"}, "v_model.layers.0.Add_4")
      .Node("SkipLayerNormalization", "node_SkipLayerNormalization_0",
            {"v_model.layers.0.Add_4", "x", "g"},
            "v_model.layers.0.norm.LayerNormalization_5")
      .Map();
  EXPECT_EQ(built.tagging().dialect, "onnxscript");
  EXPECT_EQ(built.ModuleOf("model/layers.0/fc/MatMul_node_3"),
            "model.layers.0.fc");
  EXPECT_EQ(built.ModuleOf("node_SkipLayerNormalization_0"),
            "model.layers.0.norm");
}

TEST(LeftOutWeightsTest, NamesThatNothingDefinesAreParameters) {
  Built built;
  built.Node("Transpose", "a", {"layers.0.fc.weight"}, "t")
      .Node("MatMul", "b", {"x", "t"}, "y")
      .Node("Add", "c", {"y", "layers.0.fc.bias"}, "z")
      .Map();
  EXPECT_EQ(built.ModuleOf("b"), "layers.0.fc");
  EXPECT_EQ(built.ModuleOf("c"), "layers.0.fc");
}

TEST(LeftOutWeightsTest, OfInputsOnlyThoseWithAParametersName) {
  Built built;
  built.Input("layers.0.fc.weight")
      .Input("past.0.key")
      .Node("MatMul", "a", {"x", "layers.0.fc.weight"}, "y")
      .Node("Concat", "b", {"past.0.key", "y"}, "z")
      .Map();
  EXPECT_EQ(built.ModuleOf("a"), "layers.0.fc");
  EXPECT_EQ(built.tagging().modules.Find("past.0"), kNo<ModuleId>);
}

// The norms of an untrained model read one tensor of ones.
TEST(MergedWeightsTest, MetadataWinsOverATensorOfSeveralModules) {
  Built built;
  const std::string scopes = "pkg.torch.onnx.name_scopes";
  built.Ones("layers.0.norm.weight", 8)
      .Node("LayerNormalization", "n0", {"x", "layers.0.norm.weight"}, "a")
      .NodeMetadata(scopes, "['', 'layers.0', 'layers.0.norm', 'norm']")
      .Node("LayerNormalization", "n1", {"a", "layers.0.norm.weight"}, "b")
      .NodeMetadata(scopes, "['', 'layers.1', 'layers.1.norm', 'norm_1']")
      .Map();
  EXPECT_EQ(built.ModuleOf("n0"), "layers.0.norm");
  EXPECT_EQ(built.ModuleOf("n1"), "layers.1.norm");
  EXPECT_EQ(built.TagOf("n1").confidence, Confidence::kCertain);
}

TEST(MergedWeightsTest, OnesThatTwoNodesReadAreNoProof) {
  Built built;
  built.Ones("layers.0.norm.weight", 8)
      .Node("LayerNormalization", "n0", {"x", "layers.0.norm.weight"}, "a")
      .Node("LayerNormalization", "n1", {"a", "layers.0.norm.weight"}, "b")
      .Map();
  EXPECT_LT(built.TagOf("n1").confidence, Confidence::kHigh);
}

TEST(MergedWeightsTest,
     OtherNumbersThatTwoNodesReadBelongToAModuleCalledTwice) {
  Built built;
  built.Weight("norm.weight", {8})
      .Node("LayerNormalization", "n0", {"x", "norm.weight"}, "a")
      .Node("LayerNormalization", "n1", {"a", "norm.weight"}, "b")
      .Map();
  EXPECT_EQ(built.ModuleOf("n1"), "norm");
  EXPECT_EQ(built.TagOf("n1").confidence, Confidence::kHigh);
}

TEST(TfTest, ANodeWithoutAScopeBelongsToTheOwnerOfItsWeight) {
  Built built;
  built.Weight("m_1/depthwise_1/Squeeze:0", {8})
      .Tf("Relu", "m_1/act_1/Relu")
      .Tf("Conv", "Conv__33",
          {"m_1/act_1/Relu:0", "folded", "m_1/depthwise_1/Squeeze:0"})
      .Tf("Softmax", "m_1/out_1/Softmax", {"Conv__33:0"})
      .Map();
  EXPECT_EQ(built.ModuleOf("Conv__33"), "depthwise");
}

TEST(OnlyRootTest, RootScopesWithoutNamedWeightsAreNoEvidence) {
  Built built;
  built.Weight("onnx::MatMul_12", {8, 8})
      .Node("MatMul", "/MatMul", {"x", "onnx::MatMul_12"}, "/MatMul_output_0")
      .Map();
  EXPECT_EQ(built.TagOf("/MatMul").confidence, Confidence::kLow);
}

// As Keras on torch writes them: its layers are not modules.
TEST(OnlyRootTest, RootMetadataWithoutNamedWeightsIsNoEvidence) {
  Built built;
  built.Weight("lifted_tensor_0", {8, 8})
      .Node("MatMul", "node_matmul", {"x", "lifted_tensor_0"}, "matmul")
      .NodeMetadata("pkg.torch.onnx.name_scopes", "['', 'matmul']")
      .Map();
  EXPECT_EQ(built.tagging().dialect, "dynamo");
  EXPECT_EQ(built.TagOf("node_matmul").confidence, Confidence::kLow);
}

TEST(GenerationTest, PrefixesOfTheTwoHalvesAreNoModules) {
  Built built;
  built.Weight("d_transformer.h.0.mlp.c_fc.weight", {8, 8})
      .Node("BeamSearch", "BeamSearch_gpt2", {"x"}, "sequences")
      .Node("MatMul", "MatMul_3", {"x", "d_transformer.h.0.mlp.c_fc.weight"},
            "y")
      .Map();
  EXPECT_EQ(built.ModuleOf("MatMul_3"), "transformer.h.0.mlp.c_fc");
}

// After `tag --rename-nodes`.
TEST(RenamedTest, TheOldNameCountsAndWithoutItTheNewIsAScope) {
  Built built;
  built.Node("MatMul", "b.fc/MatMul", {"x"}, "v")
      .NodeMetadata("pkg.onnx_tag.node_name", "/a/fc/MatMul")
      .Map();
  EXPECT_EQ(built.ModuleOf("b.fc/MatMul"), "a.fc");
  Built bare;
  bare.Weight("b.fc.weight", {8, 8})
      .Node("MatMul", "b.fc/MatMul", {"x", "b.fc.weight"}, "v")
      .Node("Relu", "b.act/Relu_1", {"v"}, "w")
      .Map();
  EXPECT_EQ(bare.ModuleOf("b.fc/MatMul"), "b.fc");
  EXPECT_EQ(bare.TagOf("b.fc/MatMul").evidence, EvidenceKind::kScope);
  EXPECT_EQ(bare.ModuleOf("b.act/Relu_1"), "b.act");
  EXPECT_LT(bare.TagOf("b.act/Relu_1").confidence, Confidence::kCertain);
}

TEST(DialectTest, IsTheExportersAndNotTheLastTools) {
  Built scoped;
  scoped.Node("MatMul", "/a/MatMul", {"x"}, "/a/MatMul_output_0")
      .Node("Attention", "Attention_0", {"x"}, "y")
      .Map();
  EXPECT_EQ(scoped.tagging().dialect, "torchscript");
  Built stripped;
  stripped.Node("MatMul", "node_linear_3", {"x"}, "linear_3").Map();
  EXPECT_EQ(stripped.tagging().dialect, "dynamo-stripped");
  Built old;
  old.Node("MatMul", "MatMul_24", {"x"}, "357").Map();
  EXPECT_EQ(old.tagging().dialect, "torchscript-old");
  Built nobody;
  nobody.Node("MatMul", "n0", {"x"}, "y").Map();
  EXPECT_EQ(nobody.tagging().dialect, "unknown");
}

}  // namespace
}  // namespace onnx_tag
