
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/tagging/module_format.h"
#include "core/tagging/tag_format.h"
#include "core/tagging/tag_writer.h"
#include "support/generated_model.h"
#include "support/onnx_models.h"

namespace onnx_tag::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Two layers, one of them of a class that others fit, the other found.
Tagging TwoLayers() {
  Tagging tagging;
  tagging.root = {"BertModel", Confidence::kMedium, {"RobertaModel"}};
  tagging.dialect = "torchscript";
  tagging.family_words = {"Bert"};
  ModuleTree& tree = tagging.modules;
  tree.SetClass(ModuleTree::kRoot, "BertModel");
  const ModuleId first = tree.Add("layer.0");
  const ModuleId second = tree.Add("layer.1");
  tree.SetClass(first, "BertLayer");
  tagging.facts.resize(tree.size());
  tagging.facts[first].class_confidence = Confidence::kHigh;
  tagging.facts[first].candidates = {"RobertaLayer", "BertModel"};
  tagging.found.push_back({second, "block 2 of 2"});
  tagging.Give(second).hierarchy_tag = "/A/B";
  return tagging;
}

TEST(ModuleTableTest, WhatIsWrittenIsReadBack) {
  Tagging read;
  EXPECT_EQ(ReadModuleTable(WriteModuleTable(TwoLayers()), read), "");
  EXPECT_EQ(read.root.name, "BertModel");
  EXPECT_EQ(read.root.confidence, Confidence::kMedium);
  EXPECT_THAT(read.root.alternatives, ElementsAre("RobertaModel"));
  EXPECT_EQ(read.dialect, "torchscript");
  EXPECT_THAT(read.family_words, ElementsAre("Bert"));
  const ModuleId first = read.modules.Find("layer.0");
  const ModuleId second = read.modules.Find("layer.1");
  ASSERT_NE(second, kNo<ModuleId>);
  EXPECT_EQ(read.modules.size(), 4u);
  EXPECT_EQ(read.modules.Class(first), "BertLayer");
  EXPECT_EQ(read.ClassConfidenceName(first), "high");
  EXPECT_THAT(read.FactsOf(first)->candidates,
              ElementsAre("RobertaLayer", "BertModel"));
  EXPECT_EQ(read.modules.Class(second), "");
  ASSERT_NE(read.FindFound(second), nullptr);
  EXPECT_EQ(read.FindFound(second)->description, "block 2 of 2");
  const ModuleFormat format(read);
  EXPECT_EQ(format.HierarchyTag(first), "/BertModel/BertLayer.0");
  EXPECT_EQ(format.RolePath(first), "/Model/Layer.0");
  EXPECT_EQ(format.HierarchyTag(second), "/A/B");
}

TEST(ModuleTableTest, TheEntryIsCompact) {
  Tagging tagging;
  for (int layer = 0; layer < 100; ++layer) {
    const std::string path = "encoder.layer." + std::to_string(layer);
    for (const char* part :
         {".attention.query", ".attention.value", ".dense"}) {
      tagging.modules.SetClass(tagging.modules.Add(path + part), "Linear");
    }
  }
  EXPECT_LT(WriteModuleTable(tagging).size(), 25 * tagging.modules.size());
}

TEST(ModuleTableTest, HostileNamesAreReadBack) {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    Random random(seed);
    const std::string bytes = GeneratedModel(random, false).SerializeAsString();
    const Tagging tagging = HostileTagging(ReadModel(bytes), seed);
    const std::string entry = WriteModuleTable(tagging);
    Tagging read;
    ASSERT_EQ(ReadModuleTable(entry, read), "") << seed;
    EXPECT_EQ(WriteModuleTable(read), entry) << seed;
  }
}

TEST(ModuleTableTest, AMalformedEntryAddsNothing) {
  for (const std::string entry : {
           "",
           "{",
           "[]",
           "garbage",
           "{\"modules\": 7}",
           "{\"root\": [\"A\"], \"modules\": []}",                   // short
           "{\"root\": [\"A\", 4, []]}",                             // level
           "{\"modules\": [[0, 0], [1, \"a\", 0, 0]]}",              // parent
           "{\"modules\": [[0, 0], [0, \"a.b\", 0, 0]]}",            // name
           "{\"modules\": [[0, 0], [0, \"\", 0, 0]]}",               // name
           "{\"modules\": [[0, 0], [0, \"a\", 1, 0]]}",              // class
           "{\"modules\": [[0, 0], [0, \"a\", 0]]}",                 // short
           "{\"modules\": [[0, 0], [0,\"a\",0,0], [0,\"a\",0,0]]}",  // twice
           "{\"classes\": [], \"classes\": []}",
       }) {
    Tagging read;
    EXPECT_NE(ReadModuleTable(entry, read), "") << entry;
    EXPECT_EQ(read.modules.size(), 1u) << entry;
    EXPECT_TRUE(read.facts.empty()) << entry;
    EXPECT_EQ(read.root.name, "") << entry;
  }
}

TEST(ModuleTableTest, AFewNumbersDoNotBecomeMuchText) {
  std::string entry = "{\"classes\": [\"" + std::string(1 << 20, 'C') +
                      "\"], \"modules\": [[0, 0, [1";
  for (int i = 0; i < 10000; ++i) entry += ",1";
  entry += "]]]}";
  Tagging read;
  EXPECT_THAT(ReadModuleTable(entry, read), HasSubstr("too long"));
}

TEST(ModuleTableTest, UnknownMembersAreIgnored) {
  Tagging read;
  EXPECT_EQ(ReadModuleTable("{\"later\": {}, \"modules\": "
                            "[[0, 3], [0, \"a\", 0, 2, {\"later\": 1}]]}",
                            read),
            "");
  EXPECT_EQ(read.modules.size(), 2u);
}

constexpr char kTableNodes[] =
    "graph { node { op_type: 'MatMul' } node { op_type: 'Add' } }";

std::string Tagged(const std::string& bytes, const Tagging& tagging) {
  const Model model = ReadModel(bytes);
  TagWriter writer(model, tagging, {});
  StringSink sink(bytes);
  writer.Write(sink);
  EXPECT_EQ(writer.new_size(), sink.text().size());
  return sink.text();
}

Tagging TwoTags() {
  Tagging tagging = TwoLayers();
  tagging.given = {};
  tagging.roles.Add(Role());
  tagging.tags.resize(2);
  tagging.tags[NodeId{0}] = {.module = tagging.modules.Find("layer.0")};
  tagging.tags[NodeId{1}] = {.module = tagging.modules.Find("layer.1"),
                             .source = Source::kStructure};
  tagging.origins.push_back({NodeId{0}, tagging.modules.Find("layer.1")});
  return tagging;
}

TEST(ModuleTableTest, ATaggedModelKnowsWhatItsTagsKnew) {
  const std::string tagged = Tagged(BytesFromText(kTableNodes), TwoTags());
  const Model model = ReadModel(tagged);
  const Tagging read = ReadTagging(model);
  EXPECT_THAT(read.notes, IsEmpty());
  EXPECT_EQ(read.root.ConfidenceName(), "medium");
  EXPECT_EQ(read.modules.Path(read.OriginsOf(NodeId{0})[0].module), "layer.1");
  EXPECT_THAT(read.OriginsOf(NodeId{1}), IsEmpty());
  EXPECT_NE(read.FindFound(read.modules.Find("layer.1")), nullptr);
  // Nothing is lost, also the second time.
  EXPECT_EQ(Tagged(tagged, read), tagged);
}

TEST(ModuleTableTest, TagsOfNodesPrevailOverTheEntry) {
  schema::ModelProto proto;
  ASSERT_TRUE(
      proto.ParseFromString(Tagged(BytesFromText(kTableNodes), TwoTags())));
  for (auto& entry :
       *proto.mutable_graph()->mutable_node(0)->mutable_metadata_props()) {
    if (entry.key() == keys::kClass) entry.set_value("OtherLayer");
    if (entry.key() == keys::kHierarchyTag) entry.set_value("/X/OtherLayer");
  }
  const std::string bytes = proto.SerializeAsString();
  const Model model = ReadModel(bytes);
  const Tagging read = ReadTagging(model);
  const ModuleId module = read.tags[NodeId{0}].module;
  EXPECT_EQ(read.modules.Class(module), "OtherLayer");
  EXPECT_EQ(ModuleFormat(read).HierarchyTag(module), "/X/OtherLayer");
}

TEST(ModuleTableTest, ADamagedEntryIsANoteAndTheTagsAreRead) {
  schema::ModelProto proto;
  ASSERT_TRUE(
      proto.ParseFromString(Tagged(BytesFromText(kTableNodes), TwoTags())));
  for (auto& entry : *proto.mutable_metadata_props()) {
    if (entry.key() == keys::kModules) entry.set_value("{\"root\": 1}");
  }
  const std::string bytes = proto.SerializeAsString();
  const Model model = ReadModel(bytes);
  const Tagging read = ReadTagging(model);
  EXPECT_THAT(read.notes, ElementsAre(HasSubstr("pkg.onnx_tag.modules")));
  EXPECT_EQ(read.modules.Path(read.tags[NodeId{0}].module), "layer.0");
  EXPECT_EQ(read.root.name, "BertModel");
  EXPECT_EQ(read.root.confidence, Confidence::kLow);
  EXPECT_TRUE(read.facts.empty());
}

}  // namespace
}  // namespace onnx_tag::test
