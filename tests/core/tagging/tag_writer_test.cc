// What exactly is written; tests/properties_test.cc has the laws.
#include "core/tagging/tag_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/tagging/module_format.h"
#include "core/tagging/tag_format.h"
#include "generated/version.h"
#include "support/onnx_models.h"

namespace onnx_tag::test {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using Entries = std::vector<std::pair<std::string, std::string>>;

template <typename Message>
Entries EntriesOf(const Message& message) {
  Entries entries;
  for (const auto& entry : message.metadata_props()) {
    entries.emplace_back(entry.key(), entry.value());
  }
  return entries;
}

// Node 0 is the query projection of a first layer, node 1 is untagged.
Tagging QueryTagging() {
  Tagging tagging;
  tagging.strategy = "enhanced_semantic";
  tagging.root.name = "Bert";
  tagging.roles.Add(Role());
  tagging.tags.resize(2);
  ModuleTree& tree = tagging.modules;
  tree.SetClass(tree.Add("layer.0"), "BertLayer");
  const ModuleId query = tree.Add("layer.0.query");
  tree.SetClass(query, "Linear");
  tagging.tags[NodeId{0}] = {
      .module = query,
      .role = tagging.roles.Add({.type = RoleType::kAttention,
                                 .component = "query",
                                 .attention_kind = AttentionKind::kSelf,
                                 .layer = 0}),
      .confidence = Confidence::kCertain,
      .source = Source::kScopeAndParameter,
      .evidence = EvidenceKind::kScope};
  return tagging;
}

constexpr char kTwoNodes[] =
    "graph { node { op_type: 'MatMul' name: 'm' } node { op_type: 'Add' } }";

schema::ModelProto Tagged(const std::string& bytes, const Tagging& tagging,
                          const KeyChoice& keys) {
  const Model model = ReadModel(bytes);
  TagWriter writer(model, tagging, keys);
  StringSink sink(bytes);
  writer.Write(sink);
  schema::ModelProto proto;
  EXPECT_TRUE(proto.ParseFromString(sink.text()));
  return proto;
}

TEST(TagWriterTest, WritesTheKeysOfTheFormat) {
  const schema::ModelProto proto =
      Tagged(BytesFromText(kTwoNodes), QueryTagging(), {});
  EXPECT_THAT(
      EntriesOf(proto.graph().node(0)),
      ElementsAre(Pair("pkg.onnx_tag.hierarchy_tag", "/Bert/BertLayer.0"),
                  Pair("pkg.onnx_tag.module", "layer.0.query"),
                  Pair("pkg.onnx_tag.class", "Linear"),
                  Pair("pkg.onnx_tag.tag_module", "layer.0"),
                  Pair("pkg.onnx_tag.semantic", "attention/query"),
                  Pair("pkg.onnx_tag.layer", "0"),
                  Pair("pkg.onnx_tag.attention_kind", "self"),
                  Pair("pkg.onnx_tag.semantic_confidence", "low"),
                  Pair("pkg.onnx_tag.confidence", "certain"),
                  Pair("pkg.onnx_tag.source", "scope+parameter"),
                  Pair("pkg.onnx_tag.evidence", "scope")));
  EXPECT_THAT(EntriesOf(proto.graph().node(1)), ElementsAre());
  EXPECT_THAT(EntriesOf(proto),
              ElementsAre(Pair("pkg.onnx_tag.version", kVersion),
                          Pair("pkg.onnx_tag.strategy", "enhanced_semantic"),
                          Pair("pkg.onnx_tag.modules",
                               R"({"root":["Bert",0,[]],)"
                               R"("classes":["BertLayer","Linear"],)"
                               R"("modules":[[0,0],[0,"layer",0,0],)"
                               R"([1,"0",1,0],[2,"query",2,0]]})")));
}

TEST(TagWriterTest, TheRootsEmptyPathIsWritten) {
  Tagging tagging = QueryTagging();
  tagging.tags[NodeId{0}].module = ModuleTree::kRoot;
  const schema::ModelProto proto =
      Tagged(BytesFromText(kTwoNodes), tagging, {});
  EXPECT_EQ(EntriesOf(proto.graph().node(0))[0].second, "/Bert");
  EXPECT_THAT(EntriesOf(proto.graph().node(0))[1],
              Pair("pkg.onnx_tag.module", ""));
}

TEST(TagWriterTest, KeysOfOthersAreWrittenOnRequestAndSigned) {
  const schema::ModelProto proto =
      Tagged(BytesFromText(kTwoNodes), QueryTagging(),
             {.tags = false,
              .name_space = true,
              .layer_ann = true,
              .class_hierarchy = true});
  EXPECT_THAT(
      EntriesOf(proto.graph().node(0)),
      ElementsAre(Pair("namespace", "Bert/layer.0: BertLayer/query: Linear"),
                  Pair("layer_ann", "layer.0.query"),
                  Pair("pkg.torch.onnx.name_scopes",
                       "['', 'layer.0', 'layer.0.query', 'm']"),
                  Pair("pkg.torch.onnx.class_hierarchy",
                       "['Bert', 'BertLayer', 'Linear', 'MatMul']"),
                  Pair("pkg.onnx_tag.wrote",
                       "namespace,layer_ann,pkg.torch.onnx.name_scopes,"
                       "pkg.torch.onnx.class_hierarchy")));
}

// Torch's metadata names the modules that were called, with their classes.
TEST(TagWriterTest, AModuleThatTorchDidNotCallIsNoScope) {
  Tagging tagging = QueryTagging();
  tagging.tags[NodeId{0}].source = Source::kMetadata;
  tagging.facts.resize(tagging.modules.size());
  const auto scopes = [&] {
    const schema::ModelProto proto =
        Tagged(BytesFromText(kTwoNodes), tagging,
               {.tags = false, .class_hierarchy = true});
    return EntriesOf(proto.graph().node(0))[0].second;
  };
  EXPECT_EQ(scopes(), "['', 'layer.0.query', 'm']");
  tagging.facts[tagging.modules.Find("layer.0")].class_confidence =
      Confidence::kCertain;
  EXPECT_EQ(scopes(), "['', 'layer.0', 'layer.0.query', 'm']");
}

TEST(TagWriterTest, WhatOthersWroteStays) {
  schema::ModelProto proto = ModelFromText(kTwoNodes);
  AddMetadata(*proto.mutable_graph()->mutable_node(0), "namespace", "");
  AddMetadata(*proto.mutable_graph()->mutable_node(0), "layer_ann", "theirs");
  const std::string before = proto.SerializeAsString();
  const schema::ModelProto tagged = Tagged(before, QueryTagging(),
                                           {.tags = false,
                                            .name_space = true,
                                            .layer_ann = true,
                                            .class_hierarchy = false});
  EXPECT_THAT(EntriesOf(tagged.graph().node(0)),
              ElementsAre(Pair("namespace", ""), Pair("layer_ann", "theirs")));
}

TEST(TagWriterTest, StripTrustsWroteOnlyForKeysWeWrite) {
  schema::ModelProto proto = ModelFromText(kTwoNodes);
  schema::NodeProto& node = *proto.mutable_graph()->mutable_node(0);
  AddMetadata(node, "important", "theirs");
  AddMetadata(node, "layer_ann", "ours");
  AddMetadata(node, "pkg.onnx_tag.wrote", "important,layer_ann");
  const std::string bytes = proto.SerializeAsString();
  const Model model = ReadModel(bytes);
  EXPECT_EQ(ForeignMetadata(model, NodeId{0}, "important"), "theirs");
  EXPECT_EQ(ForeignMetadata(model, NodeId{0}, "layer_ann"), "")
      << "evidence must not read our own guess";
  EXPECT_FALSE(HasForeignKey(model, NodeId{0}, "layer_ann"));
  TagWriter writer(model);
  StringSink sink(bytes);
  writer.Write(sink);
  schema::ModelProto stripped;
  ASSERT_TRUE(stripped.ParseFromString(sink.text()));
  EXPECT_THAT(EntriesOf(stripped.graph().node(0)),
              ElementsAre(Pair("important", "theirs")));
}

TEST(TagReaderTest, ReadsBackWhatWasWritten) {
  const std::string bytes = BytesFromText(kTwoNodes);
  const std::string tagged =
      Tagged(bytes, QueryTagging(), {}).SerializeAsString();
  EXPECT_FALSE(HasTags(ReadModel(bytes)));
  const Model model = ReadModel(tagged);
  ASSERT_TRUE(HasTags(model));
  const Tagging tagging = ReadTagging(model);
  const Tag& tag = tagging.tags[NodeId{0}];
  EXPECT_EQ(tagging.modules.Path(tag.module), "layer.0.query");
  EXPECT_EQ(tagging.modules.Class(tag.module), "Linear");
  EXPECT_EQ(tagging.roles[tag.role].type, RoleType::kAttention);
  EXPECT_EQ(tagging.roles[tag.role].component, "query");
  EXPECT_EQ(tagging.roles[tag.role].layer, 0);
  EXPECT_EQ(tagging.roles[tag.role].attention_kind, AttentionKind::kSelf);
  EXPECT_EQ(tagging.modules.Path(ModuleFormat(tagging).TagModule(tag.module)),
            "layer.0");
  EXPECT_EQ(tag.confidence, Confidence::kCertain);
  EXPECT_EQ(tag.source, Source::kScopeAndParameter);
  EXPECT_EQ(tagging.root.name, "Bert");
  EXPECT_EQ(tagging.strategy, "enhanced_semantic");
  EXPECT_FALSE(tagging.tags[NodeId{1}].tagged());
}

// Each node with a role of its own: a square here would take minutes.
TEST(TagReaderTest, ManyRolesAreReadInLinearTime) {
  schema::ModelProto proto;
  for (int i = 0; i < 100'000; ++i) {
    schema::NodeProto& node = *AddNode(*proto.mutable_graph(), "A", "");
    AddMetadata(node, "pkg.onnx_tag.module", "m");
    AddMetadata(node, "pkg.onnx_tag.semantic", "other/" + std::to_string(i));
  }
  const std::string bytes = proto.SerializeAsString();
  EXPECT_EQ(ReadTagging(ReadModel(bytes)).roles.size(), 100'001u);
}

// One node with many entries, and a list of many keys.
TEST(TagFormatTest, ManyEntriesAreJudgedInLinearTime) {
  schema::ModelProto proto;
  schema::NodeProto& node = *AddNode(*proto.mutable_graph(), "A", "");
  std::string wrote;
  for (int i = 0; i < 100'000; ++i) {
    AddMetadata(node, "key" + std::to_string(i), "");
    wrote += "key" + std::to_string(i) + ",";
  }
  AddMetadata(node, "pkg.onnx_tag.wrote", wrote);
  const std::string bytes = proto.SerializeAsString();
  EXPECT_EQ(OurEntries(ReadModel(bytes), NodeId{0}).size(), 1u);
}

}  // namespace
}  // namespace onnx_tag::test
