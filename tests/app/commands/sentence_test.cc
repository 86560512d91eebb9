#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "app/commands/show/explain.h"
#include "support/onnx_models.h"

namespace onnx_tag {
namespace {

// One node of a BERT, with a role.
class SentenceTest : public testing::Test {
 protected:
  SentenceTest() {
    tagging_.root.name = "BertModel";
    Class("encoder.layer", "ModuleList");
    Class("encoder.layer.0", "BertLayer");
    Class("encoder.layer.0.attention.self", "BertSelfAttention");
    Class("encoder.layer.0.attention.self.query", "Linear");
    Class("encoder.layer.0.output", "BertOutput");
    Class("encoder.layer.0.output.LayerNorm", "LayerNorm");
  }

  void Class(const std::string& path, const std::string& name) {
    tagging_.modules.SetClass(tagging_.modules.Add(path), name);
  }

  std::string Say(const std::string& op, const std::string& path, Role role,
                  Confidence confidence = Confidence::kCertain) {
    const std::string bytes = test::BytesFromText("graph { node { op_type: \"" +
                                                  op + "\" name: \"n\" } }");
    const Model model = ReadModel(bytes);
    tagging_.tags.resize(1);
    tagging_.tags[NodeId{0}] = {tagging_.modules.Add(path),
                                tagging_.roles.Add(role), confidence,
                                Source::kScope};
    tagging_.facts.resize(tagging_.modules.size());
    for (ModuleFacts& facts : tagging_.facts) {
      facts.class_confidence = Confidence::kCertain;
    }
    tagging_.facts[tagging_.tags[NodeId{0}].module].class_confidence =
        of_class_.value_or(confidence);
    return Sentence(model, tagging_, NodeId{0});
  }

  std::optional<Confidence> of_class_;  // as the module's if not given
  Tagging tagging_;
};

TEST_F(SentenceTest, AProjectionIsNamedWithItsLayerAndClass) {
  EXPECT_EQ(
      Say("MatMul", "encoder.layer.0.attention.self.query",
          {RoleType::kAttention, "query", AttentionKind::kSelf, 0}),
      "This MatMul is the query projection of layer 0's self-attention: "
      "encoder.layer.0.attention.self.query, a Linear in BertSelfAttention; "
      "certain");
}

TEST_F(SentenceTest, AGuessedClassIsSaidToBeOne) {
  of_class_ = Confidence::kLow;
  EXPECT_EQ(
      Say("MatMul", "encoder.layer.0.attention.self.query",
          {RoleType::kAttention, "query", AttentionKind::kSelf, 0}),
      "This MatMul is the query projection of layer 0's self-attention: "
      "encoder.layer.0.attention.self.query, a Linear? in BertSelfAttention; "
      "module certain, class low");
}

TEST_F(SentenceTest, AHelperBelongsToWhatItHelps) {
  EXPECT_EQ(Say("Reshape", "encoder.layer.0.attention.self",
                {RoleType::kAttention, "query", AttentionKind::kSelf, 0},
                Confidence::kHigh),
            "This Reshape belongs to the query of layer 0's self-attention: "
            "encoder.layer.0.attention.self, a BertSelfAttention; "
            "high");
  EXPECT_EQ(Say("Mul", "encoder.layer.0",
                {RoleType::kActivation, "", AttentionKind::kNone, 0}),
            "This Mul belongs to an activation in layer 0: encoder.layer.0, a "
            "BertLayer; certain");
  EXPECT_THAT(Say("Add", "encoder.layer.0",
                  {RoleType::kFeedForward, "up", AttentionKind::kNone, 1}),
              testing::StartsWith("This Add belongs to the up projection of "
                                  "layer 1's feed-forward network: "));
  EXPECT_THAT(
      Say("Add", "embeddings",
          {RoleType::kEmbedding, "projection", AttentionKind::kNone, -1}),
      testing::StartsWith(
          "This Add belongs to a projection of an embedding: "));
}

TEST_F(SentenceTest, OperatorsThatDoTheWorkAreTheirRole) {
  const std::string self = "encoder.layer.0.attention.self";
  EXPECT_THAT(Say("MatMul", self,
                  {RoleType::kAttention, "scores", AttentionKind::kCross, 3}),
              testing::StartsWith("This MatMul computes the scores of layer "
                                  "3's cross-attention: "));
  EXPECT_THAT(Say("Softmax", self,
                  {RoleType::kAttention, "softmax", AttentionKind::kNone, -1}),
              testing::StartsWith("This Softmax is the softmax of the "
                                  "attention: "));
  EXPECT_THAT(Say("LayerNormalization", "encoder.layer.0.output.LayerNorm",
                  {RoleType::kNormalization, "", AttentionKind::kNone, 0}),
              testing::EndsWith("is a normalization in layer 0: "
                                "encoder.layer.0.output.LayerNorm, a LayerNorm "
                                "in BertOutput; certain"));
  EXPECT_THAT(
      Say("Gather", "embeddings",
          {RoleType::kEmbedding, "token_type", AttentionKind::kNone, -1}),
      testing::StartsWith("This Gather is a token type embedding: "));
  EXPECT_THAT(
      Say("Gemm", self, {RoleType::kAttention, "qkv", AttentionKind::kSelf, 1}),
      testing::StartsWith("This Gemm is the query, key and value projection of "
                          "layer 1's self-attention: "));
}

TEST_F(SentenceTest, TheRootAndUnknownClassesHaveNoFalseNames) {
  EXPECT_EQ(Say("Identity", "", Role()),
            "This Identity belongs to <root>, a BertModel; certain");
  EXPECT_EQ(Say("Add", "pooler", Role()),
            "This Add belongs to pooler; certain");
}

TEST_F(SentenceTest, AnUntaggedNodeIsSaidToBeOne) {
  const std::string bytes =
      test::BytesFromText("graph { node { op_type: \"A\\033dd\" } }");
  const Model model = ReadModel(bytes);
  tagging_.tags.resize(1);
  tagging_.tags[NodeId{0}] = Tag();
  EXPECT_EQ(Sentence(model, tagging_, NodeId{0}),
            "This A\\x1bdd stays untagged: nothing in the file says which "
            "module made it");
}

// All nodes of a model have one role and one module.
std::string SayInModel(const std::string& graph, NodeId node,
                       const std::string& path, const Role& role) {
  const std::string bytes = test::BytesFromText("graph { " + graph + " }");
  const Model model = ReadModel(bytes);
  Tagging tagging;
  const ModuleId module = tagging.modules.Add(path);
  for (const NodeId id : model.Nodes()) {
    tagging.tags.resize(Index(id) + 1);
    tagging.tags[id] = {module, tagging.roles.Add(role), Confidence::kHigh,
                        Source::kScope};
  }
  return Sentence(model, tagging, node);
}

TEST(ServiceSentenceTest, AQuantizerNamesWhatItQuantizesAndForWhom) {
  const Role role = {RoleType::kQuantization, "", AttentionKind::kNone, -1};
  const std::string graph = R"(
    node { op_type: "Relu" name: "/act/Relu" input: "x" output: "a" }
    node { op_type: "QuantizeLinear" input: "a" input: "s" output: "b" }
    node { op_type: "DequantizeLinear" input: "b" input: "s" output: "c" }
    node { op_type: "DequantizeLinear" input: "w_q" input: "s" output: "w" }
    node { op_type: "MatMul" name: "/fc/MatMul" input: "c" input: "w" output: "d" }
    node { op_type: "Abs" input: "c" output: "e" }
    initializer { name: "w_q" data_type: 3 dims: 2 dims: 2 }
    initializer { name: "s" data_type: 1 }
    input { name: "x" })";
  EXPECT_EQ(SayInModel(graph, NodeId{1}, "act", role),
            "This QuantizeLinear quantizes the result of the Relu /act/Relu "
            "for the MatMul /fc/MatMul and 1 more: act; high");
  EXPECT_EQ(SayInModel(graph, NodeId{2}, "act", role),
            "This DequantizeLinear dequantizes the result of the Relu "
            "/act/Relu for the MatMul /fc/MatMul and 1 more: act; high");
  EXPECT_EQ(SayInModel(graph, NodeId{3}, "fc", role),
            "This DequantizeLinear dequantizes the weight w_q for the MatMul "
            "/fc/MatMul: fc; high");
  EXPECT_EQ(SayInModel(R"(node { op_type: "QuantizeLinear" input: "x"
                          output: "y" } input { name: "x" })",
                       NodeId{0}, "fc", role),
            "This QuantizeLinear quantizes the input x: fc; high");
}

TEST(ServiceSentenceTest, AConstantNamesItsReaderAndACopyItsWeight) {
  const Role role = {RoleType::kConstant, "", AttentionKind::kNone, 0};
  const std::string graph = R"(
    node { op_type: "Constant" output: "c" }
    node { op_type: "Identity" input: "a.weight" output: "b.weight" }
    node { op_type: "Div" name: "/layers.0/attn/Div" input: "x" input: "c" output: "d" }
    node { op_type: "MatMul" input: "d" input: "b.weight" output: "e" }
    initializer { name: "a.weight" data_type: 1 dims: 2 dims: 2 })";
  EXPECT_EQ(SayInModel(graph, NodeId{0}, "attn", role),
            "This Constant is a constant in layer 0, read by the Div "
            "/layers.0/attn/Div: attn; high");
  EXPECT_EQ(SayInModel(graph, NodeId{1}, "b", role),
            "This Identity copies the weight a.weight for the MatMul #3: b; "
            "high");
}

TEST(ServiceSentenceTest, AStepOfAnMlpOrOfAHeadIsNoLayer) {
  const std::string product =
      R"(node { op_type: "MatMul" input: "x" input: "w" output: "y" })";
  EXPECT_THAT(SayInModel(product, NodeId{0}, "pos_head.layers.0",
                         {RoleType::kHead, "", AttentionKind::kNone, 0}),
              testing::HasSubstr("belongs to the output head:"));
  EXPECT_THAT(SayInModel(product, NodeId{0}, "mlp.layers.1",
                         {RoleType::kFeedForward, "", AttentionKind::kNone, 1}),
              testing::HasSubstr("belongs to the feed-forward network:"));
  EXPECT_THAT(SayInModel(product, NodeId{0}, "layers.1.mlp",
                         {RoleType::kFeedForward, "", AttentionKind::kNone, 1}),
              testing::HasSubstr("layer 1's feed-forward network"));
}

}  // namespace
}  // namespace onnx_tag
