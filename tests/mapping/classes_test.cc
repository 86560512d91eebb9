// Classes of a real file, from its names alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "onnx_tag/mapping.h"
#include "tagging/module_format.h"

namespace onnx_tag {
namespace {

using testing::Contains;

std::string BertTiny() {
  std::ifstream in(ONNX_TAG_TEST_FOLDER "/models/bert_tiny/model.onnx",
                   std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(ClassesTest, BertTinyHasItsThirteenTags) {
  const std::string bytes = BertTiny();
  MappingOptions options;
  options.format.exceptions.clear();
  const Model model = ReadModel(bytes);
  const Tagging tagging = MapNodes(model, options);
  const ModuleFormat format(tagging);
  std::set<std::string> tags;
  for (const Tag& tag : tagging.tags) {
    ASSERT_TRUE(tag.tagged());
    tags.insert(format.HierarchyTag(tag.module));
  }
  std::set<std::string> wanted = {"/BertModel", "/BertModel/BertEmbeddings",
                                  "/BertModel/BertPooler"};
  for (const std::string layer : {"0", "1"}) {
    const std::string at = "/BertModel/BertEncoder/BertLayer." + layer;
    wanted.insert(
        {at + "/BertAttention/BertSelfAttention",
         at + "/BertAttention/BertSelfOutput", at + "/BertIntermediate",
         at + "/BertIntermediate/GELUActivation", at + "/BertOutput"});
  }
  EXPECT_EQ(tags, wanted);
}

TEST(ClassesTest, CopiesOfBertAreNotRuledOut) {
  const std::string bytes = BertTiny();
  const Model model = ReadModel(bytes);
  const Tagging tagging = MapNodes(model, {});
  EXPECT_EQ(tagging.root.name, "BertModel");
  EXPECT_NE(tagging.root.confidence, Confidence::kCertain);
  EXPECT_THAT(tagging.root.alternatives, Contains("RobertaModel"));
  const ModuleId query =
      tagging.modules.Find("encoder.layer.0.attention.self.query");
  ASSERT_NE(query, kNo<ModuleId>);
  EXPECT_EQ(tagging.modules.Class(query), "Linear");
  EXPECT_EQ(tagging.facts[query].class_confidence, Confidence::kCertain);
}

TEST(ClassesTest, RolePathsLeaveTheFamilyOut) {
  const std::string bytes = BertTiny();
  const Model model = ReadModel(bytes);
  const Tagging tagging = MapNodes(model, {});
  const ModuleFormat format(tagging);
  EXPECT_EQ(
      format.RolePath(tagging.modules.Find("encoder.layer.0.attention.self")),
      "/Model/Encoder/Layer.0/Attention/SelfAttention");
  EXPECT_THAT(tagging.family_words, testing::ElementsAre("Bert"));
}

}  // namespace
}  // namespace onnx_tag
