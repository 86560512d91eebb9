#include "core/tagging/sidecar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "onnx_tag/error.h"
#include "support/generated_model.h"
#include "support/json_schema.h"
#include "support/onnx_models.h"
#include "support/temporary_folder.h"

namespace onnx_tag::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Written(const Model& model, const Tagging& tagging) {
  std::string text;
  WriteSidecar(model, tagging, AboutModel("m.onnx", model, tagging),
               [&](Bytes bytes) { text.append(bytes); });
  return text;
}

std::string Refusal(std::string_view json) {
  try {
    ReadSidecar(json);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    return error.what();
  }
  return "read";
}

void ExpectSameTags(const Tagging& a, const Tagging& b) {
  ASSERT_EQ(a.tags.size(), b.tags.size());
  for (const NodeId node : AllIds<NodeId>(a.tags.size())) {
    SCOPED_TRACE(Index(node));
    const Tag& left = a.tags[node];
    const Tag& right = b.tags[node];
    ASSERT_EQ(left.tagged(), right.tagged());
    if (!left.tagged()) continue;
    EXPECT_EQ(a.modules.Path(left.module), b.modules.Path(right.module));
    EXPECT_EQ(a.modules.Class(left.module), b.modules.Class(right.module));
    EXPECT_EQ(a.roles[left.role], b.roles[right.role]);
    EXPECT_EQ(left.confidence, right.confidence);
    EXPECT_EQ(left.source, right.source);
  }
}

// Names, and which node makes what another reads.
void ExpectSameNodes(const Model& model, const Model& read) {
  ASSERT_EQ(read.node_count(), model.node_count());
  for (const NodeId node : model.Nodes()) {
    EXPECT_EQ(read[node].name, model[node].name);
    EXPECT_EQ(read.OpType(node), model.OpType(node));
    EXPECT_EQ(read.Domain(node), model.Domain(node));
    EXPECT_EQ(read.Address(node), model.Address(node));
    EXPECT_EQ(read.InputNames(node), model.InputNames(node));
    EXPECT_EQ(read.OutputNames(node), model.OutputNames(node));
    // A sidecar does not list the inputs of branches and functions.
    if (model[node].graph != GraphId{0}) continue;
    const auto inputs = model.Inputs(node);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] == kNo<ValueId>) continue;
      EXPECT_EQ(read.Producer(read.Inputs(node)[i]), model.Producer(inputs[i]))
          << model.ValueName(inputs[i]);
    }
  }
}

TEST(SidecarTest, WhatIsWrittenIsReadBack) {
  for (std::uint32_t seed = 1; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::string bytes = GeneratedModel(random, false).SerializeAsString();
    const Model model = ReadModel(bytes);
    Tagging tagging = HostileTagging(model, seed);
    if (model.node_count() > 2) tagging.tags[NodeId{2}] = Tag();
    const std::string text = Written(model, tagging);
    const Sidecar sidecar = ReadSidecar(text);
    ExpectSameTags(tagging, sidecar.tagging);
    EXPECT_EQ(sidecar.tagging.strategy, tagging.strategy);
    EXPECT_EQ(sidecar.tagging.root.name, tagging.root.name);
    EXPECT_EQ(sidecar.model.fingerprint, Fingerprint(model));
    ExpectSameNodes(model, sidecar.graph);
    EXPECT_EQ(Written(model, tagging), text) << "the same bytes every time";
  }
}

TEST(SidecarTest, IsWhatTheSchemaSays) {
  const JsonSchema schema(nlohmann::json::parse(ReadFile(ONNX_TAG_SCHEMA)));
  for (std::uint32_t seed = 1; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::string bytes = GeneratedModel(random, false).SerializeAsString();
    const Model model = ReadModel(bytes);
    Tagging tagging = HostileTagging(model, seed);
    if (model.node_count() > 2) tagging.tags[NodeId{2}] = Tag();
    const std::string text = Written(model, tagging);
    nlohmann::json json = nlohmann::json::parse(text);
    EXPECT_THAT(schema.Violations(json), ElementsAre());
    // And the schema says something.
    json["nodes"].push_back({{"graph", ""}, {"index", -1}});
    EXPECT_THAT(schema.Violations(json),
                ::testing::Contains(HasSubstr("/index")));
  }
}

TEST(SidecarTest, CountsAddUp) {
  const std::string bytes = BytesFromText(R"pb(
    graph {
      node { op_type: "A" }
      node { op_type: "B" }
      node { op_type: "C" }
    })pb");
  const Model model = ReadModel(bytes);
  Tagging tagging;
  tagging.roles.Add(Role());
  tagging.tags.resize(3);
  tagging.tags[NodeId{0}].module = tagging.modules.Add("a.b");
  tagging.tags[NodeId{1}].module = tagging.modules.Add("a");
  const auto json = nlohmann::json::parse(Written(model, tagging));
  ASSERT_EQ(json["modules"].size(), 3u) << "the root, a and a.b";
  EXPECT_EQ(json["modules"][0]["path"], "");
  EXPECT_EQ(json["modules"][0]["total_nodes"], 2);
  EXPECT_EQ(json["modules"][1]["nodes"], 1);
  EXPECT_EQ(json["modules"][1]["total_nodes"], 2);
  EXPECT_TRUE(json["nodes"][2]["module"].is_null());
  EXPECT_TRUE(json["root"]["class"].is_null());
  EXPECT_EQ(json["statistics"]["tagged"], 2);
  EXPECT_EQ(json["statistics"]["untagged"], 1);
}

TEST(SidecarTest, FunctionsListTheirCallSites) {
  const std::string bytes = BytesFromText(R"pb(
    graph {
      node { op_type: "G" domain: "d" }
      node { op_type: "F" domain: "d" }
      node { op_type: "F" domain: "d" }
    }
    functions { name: "F" domain: "d" }
    functions { name: "G" domain: "d" }
  )pb");
  const Model model = ReadModel(bytes);
  Tagging tagging;
  tagging.roles.Add(Role());
  tagging.tags.resize(3);
  tagging.call_sites = {{1, NodeId{0}, tagging.modules.Add("g")},
                        {0, NodeId{1}, tagging.modules.Add("f1")},
                        {0, NodeId{2}, kNo<ModuleId>}};
  const auto json = nlohmann::json::parse(Written(model, tagging));
  EXPECT_EQ(json["functions"][0]["call_sites"].size(), 2u);
  EXPECT_EQ(json["functions"][0]["call_sites"][0]["module"], "f1");
  EXPECT_TRUE(json["functions"][0]["call_sites"][1]["module"].is_null());
  EXPECT_EQ(json["functions"][1]["call_sites"][0]["module"], "g");
}

TEST(SidecarTest, OriginsBelongToTheirNode) {
  const std::string bytes =
      BytesFromText("graph { node { op_type: 'A' } node { op_type: 'B' } }");
  const Model model = ReadModel(bytes);
  Tagging tagging;
  tagging.roles.Add(Role());
  tagging.tags.resize(2);
  tagging.tags[NodeId{1}].module = tagging.modules.Add("q");
  tagging.origins = {{NodeId{1}, tagging.modules.Add("k")},
                     {NodeId{1}, tagging.modules.Add("v")}};
  const Sidecar sidecar = ReadSidecar(Written(model, tagging));
  ASSERT_EQ(sidecar.tagging.origins.size(), 2u);
  EXPECT_EQ(sidecar.tagging.modules.Path(sidecar.tagging.origins[1].module),
            "v");
}

TEST(SidecarTest, AnythingElseIsRefusedInASentence) {
  EXPECT_THAT(Refusal(""),
              HasSubstr("not a sidecar of onnx-tag: line 1, column 1: "));
  EXPECT_THAT(Refusal("{"), HasSubstr("line 1, column 2: syntax error"));
  EXPECT_THAT(Refusal("[]"), HasSubstr("\"format\""));
  EXPECT_THAT(Refusal("{}"), HasSubstr("\"format\""));
  EXPECT_THAT(Refusal(R"({"format": "onnx-tag/9"})"), HasSubstr("\"format\""));
  EXPECT_THAT(Refusal(R"({"format": "onnx-tag/1"})"),
              HasSubstr("no \"model\""));
  EXPECT_THAT(Refusal(std::string(200'000, '[')), HasSubstr("levels deep"));
  EXPECT_THAT(Refusal("\"\x1b[2J"), ::testing::Not(HasSubstr("\x1b")));
}

TEST(SidecarTest, WrongTypesInsideAreRefusedWithTheirPlace) {
  const std::string head =
      R"({"format": "onnx-tag/1", "model": {}, "root": {}, )";
  for (
      const std::string_view rest :
      {R"("modules": 3, "nodes": 4})", R"("modules": [3], "nodes": [null]})",
       R"("modules": [{"path": 3}], "nodes": [{"module": "a", "semantic": 1}]})",
       R"("modules": {}, "nodes": [{"index": -1, "inputs": [1]}]})"}) {
    SCOPED_TRACE(rest);
    EXPECT_THAT(Refusal(head + std::string(rest)),
                HasSubstr("not a sidecar of onnx-tag: line 1, column "));
  }
}

// A sidecar cut anywhere is refused: no half-read tags.
TEST(SidecarTest, EveryPrefixIsRefused) {
  const std::string bytes = BytesFromText(
      "graph { node { op_type: 'A' name: 'n' input: 'x' output: 'y' } }");
  const Model model = ReadModel(bytes);
  const std::string text = Written(model, HostileTagging(model, 3));
  for (std::size_t size = 0; size + 1 < text.size(); ++size) {
    EXPECT_NE(Refusal(text.substr(0, size)), "read") << size;
  }
}

TEST(FingerprintTest, CoversTheGraphAndNotTheRest) {
  const std::string text =
      "graph { node { op_type: 'A' name: 'n' input: 'x' output: 'y' } }";
  schema::ModelProto proto = ModelFromText(text);
  const auto fingerprint = [&] {
    const std::string bytes = proto.SerializeAsString();
    return Fingerprint(ReadModel(bytes));
  };
  const std::string before = fingerprint();
  // Fixed for all machines: sidecars travel.
  EXPECT_EQ(before, "xxh64:e1836cf2f4b70676");
  AddMetadata(*proto.mutable_graph()->mutable_node(0), "k", "v");
  proto.mutable_graph()->add_initializer()->set_raw_data("weights");
  proto.set_producer_name("p");
  EXPECT_EQ(fingerprint(), before);
  proto.mutable_graph()->mutable_node(0)->set_input(0, "z");
  EXPECT_NE(fingerprint(), before);
  proto = ModelFromText(text);
  proto.mutable_graph()->mutable_node(0)->set_name("m");
  EXPECT_NE(fingerprint(), before);
}

TEST(FingerprintTest, OneOfVersion01IsComparedNodeByNode) {
  const std::string bytes = BytesFromText(
      "graph { node { op_type: 'A' name: 'n' input: 'x' output: 'y' } }");
  const Model model = ReadModel(bytes);
  Sidecar sidecar = ReadSidecar(Written(model, HostileTagging(model, 3)));
  EXPECT_TRUE(BelongsTo(sidecar, model));
  sidecar.model.fingerprint = "0123456789abcdef";
  EXPECT_TRUE(BelongsTo(sidecar, model));
  const std::string other = BytesFromText(
      "graph { node { op_type: 'A' name: 'n' input: 'z' output: 'y' } }");
  EXPECT_FALSE(BelongsTo(sidecar, ReadModel(other)));
}

}  // namespace
}  // namespace onnx_tag::test
