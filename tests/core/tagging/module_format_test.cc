#include "core/tagging/module_format.h"

#include <gtest/gtest.h>

namespace onnx_tag {
namespace {

struct PathAndClass {
  std::string_view path;
  std::string_view class_name;
};

Tagging Modules(std::string_view root, std::vector<PathAndClass> modules) {
  Tagging tagging;
  tagging.root.name = root;
  for (const PathAndClass& module : modules) {
    tagging.modules.SetClass(tagging.modules.Add(module.path),
                             module.class_name);
  }
  return tagging;
}

std::string TagOf(const Tagging& tagging, std::string_view path) {
  return ModuleFormat(tagging).HierarchyTag(tagging.modules.Find(path));
}

std::string RoleOf(const Tagging& tagging, std::string_view path) {
  return ModuleFormat(tagging).RolePath(tagging.modules.Find(path));
}

Tagging Bert() {
  return Modules("BertModel",
                 {{"encoder", "BertEncoder"},
                  {"encoder.layer", "ModuleList"},
                  {"encoder.layer.0", "BertLayer"},
                  {"encoder.layer.0.attention", "BertAttention"},
                  {"encoder.layer.0.attention.self", "BertSelfAttention"},
                  {"encoder.layer.0.attention.self.query", "Linear"},
                  {"encoder.layer.0.output.LayerNorm", "LayerNorm"},
                  {"embeddings.dropout", "Dropout"}});
}

TEST(ModuleFormatTest, TagsAreClassesWithTheirIndices) {
  const Tagging bert = Bert();
  EXPECT_EQ(TagOf(bert, ""), "/BertModel");
  EXPECT_EQ(TagOf(bert, "encoder.layer"), "/BertModel/BertEncoder");
  EXPECT_EQ(TagOf(bert, "encoder.layer.0.attention.self"),
            "/BertModel/BertEncoder/BertLayer.0/BertAttention/"
            "BertSelfAttention");
}

TEST(ModuleFormatTest, TorchNnIsLeftOutButForTheExceptions) {
  Tagging bert = Bert();
  EXPECT_EQ(TagOf(bert, "encoder.layer.0.attention.self.query"),
            TagOf(bert, "encoder.layer.0.attention.self"));
  EXPECT_EQ(TagOf(bert, "encoder.layer.0.output.LayerNorm"),
            "/BertModel/BertEncoder/BertLayer.0/output/LayerNorm");
  bert.format.exceptions = {"Linear"};
  EXPECT_EQ(TagOf(bert, "encoder.layer.0.attention.self.query"),
            "/BertModel/BertEncoder/BertLayer.0/BertAttention/"
            "BertSelfAttention/Linear");
  EXPECT_EQ(TagOf(bert, "encoder.layer.0.output.LayerNorm"),
            "/BertModel/BertEncoder/BertLayer.0/output");
  bert.format.torch_nn = true;
  EXPECT_EQ(TagOf(bert, "embeddings.dropout"), "/BertModel/embeddings/Dropout");
  EXPECT_EQ(TagOf(bert, "encoder.layer"), "/BertModel/BertEncoder")
      << "a list only holds, whatever the granularity";
}

std::string TagModuleOf(const Tagging& tagging, std::string_view path) {
  const ModuleFormat format(tagging);
  return tagging.modules.Path(format.TagModule(tagging.modules.Find(path)));
}

TEST(ModuleFormatTest, TheTagModuleIsTheOneTheLastSegmentNames) {
  Tagging bert = Bert();
  EXPECT_EQ(TagModuleOf(bert, ""), "");
  EXPECT_EQ(TagModuleOf(bert, "encoder.layer"), "encoder");
  EXPECT_EQ(TagModuleOf(bert, "encoder.layer.0"), "encoder.layer.0");
  EXPECT_EQ(TagModuleOf(bert, "encoder.layer.0.attention.self.query"),
            "encoder.layer.0.attention.self");
  EXPECT_EQ(TagModuleOf(bert, "encoder.layer.0.output.LayerNorm"),
            "encoder.layer.0.output.LayerNorm");
  bert.format.torch_nn = true;
  EXPECT_EQ(TagModuleOf(bert, "encoder.layer.0.attention.self.query"),
            "encoder.layer.0.attention.self.query");
}

std::string_view SureOf(const Tagging& tagging, std::string_view path) {
  return ModuleFormat(tagging).TagClassConfidence(tagging.modules.Find(path));
}

TEST(ModuleFormatTest, ATagIsAsSureAsItsWeakestClass) {
  Tagging bert = Bert();
  EXPECT_EQ(SureOf(bert, "encoder"), "") << "nothing says how sure";
  bert.facts.resize(bert.modules.size());
  for (ModuleFacts& facts : bert.facts) {
    facts.class_confidence = Confidence::kCertain;
  }
  const auto set = [&](std::string_view path, Confidence confidence) {
    bert.facts[bert.modules.Find(path)].class_confidence = confidence;
  };
  bert.root.confidence = Confidence::kHigh;
  set("encoder.layer.0.attention", Confidence::kMedium);
  // Neither is in the tag: a Linear, and a list.
  set("encoder.layer.0.attention.self.query", Confidence::kLow);
  set("encoder.layer", Confidence::kLow);
  EXPECT_EQ(SureOf(bert, "encoder.layer.0"), "high");
  EXPECT_EQ(SureOf(bert, "encoder.layer.0.attention.self.query"), "medium");
  bert.format.torch_nn = true;
  EXPECT_EQ(SureOf(bert, "encoder.layer.0.attention.self.query"), "low");
  bert.root.name = "";
  EXPECT_EQ(SureOf(bert, ""), "") << "/Model is no class";
  EXPECT_EQ(SureOf(bert, "encoder.layer.0"), "certain");
}

TEST(ModuleFormatTest, RolePathsLeaveTheFamilyOut) {
  EXPECT_EQ(RoleOf(Bert(), "encoder.layer.0.attention.self"),
            "/Model/Encoder/Layer.0/Attention/SelfAttention");
  EXPECT_EQ(RoleOf(Bert(), "embeddings"), "/Model/Embeddings");
}

TEST(ModuleFormatTest, NestedListsGiveAllIndices) {
  const Tagging tagging = Modules("Net", {{"blocks", "ModuleList"},
                                          {"blocks.0", "ModuleList"},
                                          {"blocks.0.1", "Block"},
                                          {"seq", "Sequential"},
                                          {"seq.3", "Sequential"},
                                          {"seq.3.2", "Block"}});
  EXPECT_EQ(TagOf(tagging, "blocks.0.1"), "/Net/Block.0.1");
  EXPECT_EQ(TagOf(tagging, "seq.3.2"), "/Net/Block.3.2");
}

TEST(ModuleFormatTest, UnknownClassesAreNamedByTheirAttribute) {
  const Tagging tagging =
      Modules("", {{"decoder.blocks.0.mlp", ""}, {"decoder.blocks.1", ""}});
  EXPECT_EQ(TagOf(tagging, ""), "/Model");
  EXPECT_EQ(TagOf(tagging, "decoder"), "/Model/decoder");
  EXPECT_EQ(TagOf(tagging, "decoder.blocks.0"), "/Model/decoder/blocks.0");
  EXPECT_EQ(TagOf(tagging, "decoder.blocks.0.mlp"),
            "/Model/decoder/blocks.0/mlp");
  EXPECT_EQ(RoleOf(tagging, "decoder.blocks.0.mlp"),
            "/Model/Decoder/Blocks.0/Mlp");
}

TEST(ModuleFormatTest, ATagReadBackStaysAsItWas) {
  Tagging tagging = Modules("Net", {{"a", "A"}});
  tagging.Give(ModuleId{1}).hierarchy_tag = "/Other/X";
  EXPECT_EQ(TagOf(tagging, "a"), "/Other/X");
}

}  // namespace
}  // namespace onnx_tag
