// The user's rules: how they are read, and what they do.
#include "mapping/rules/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "core/tagging/module_format.h"
#include "onnx_tag/error.h"
#include "support/json_schema.h"
#include "support/model_builder.h"
#include "support/temporary_folder.h"

namespace onnx_tag {
namespace {

using test::AddNode;
using test::AddParameters;
using test::Mapped;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string ErrorOf(std::string_view json) {
  try {
    ReadRules(json, "r.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "";
}

MappingFacts WithRules(std::string_view json) {
  MappingFacts facts;
  facts.rules = std::make_shared<const Rules>(ReadRules(json, "r.json"));
  return facts;
}

MappingFacts WithRule(const std::string& rule) {
  return WithRules("{\"rules\": [" + rule + "]}");
}

schema::ModelProto OneLayer() {
  schema::ModelProto model;
  model.set_producer_name("pytorch");
  auto* graph = model.mutable_graph();
  AddParameters(model, {"body.0.up.weight", "head.weight"});
  AddNode(graph, "MatMul", {"x", "body.0.up.weight"}, {"a"},
          "/body.0/up/MatMul");
  AddNode(graph, "Relu", {"a"}, {"hidden"}, "/body.0/act/Relu");
  AddNode(graph, "MatMul", {"hidden", "head.weight"}, {"y"}, "/head/MatMul");
  AddNode(graph, "Custom", {"y"}, {"blk_7_out"}, "blk_7_fused");
  return model;
}

TEST(Pattern, StaysWithinAnAtomUnlessDoubled) {
  EXPECT_TRUE(Pattern("a.*.c").Matches("a.b.c"));
  EXPECT_FALSE(Pattern("a.*").Matches("a.b.c"));
  EXPECT_TRUE(Pattern("a.**").Matches("a.b.c"));
  EXPECT_FALSE(Pattern("*").Matches("/a/b"));
  EXPECT_TRUE(Pattern("/?/b").Matches("/a/b"));
  EXPECT_FALSE(Pattern("a").Matches("ab"));
  EXPECT_TRUE(Pattern("").Matches(""));
  EXPECT_TRUE(Pattern("*x").Matches(std::string(5000, 'x')));
  EXPECT_TRUE(Pattern("**").Matches(std::string(5000, 'x')));
}

TEST(Pattern, CapturesWhatStarsStandFor) {
  std::vector<std::string_view> captures;
  ASSERT_TRUE(Pattern("blk_*_**").Matches("blk_7_q/proj_x", captures));
  EXPECT_THAT(captures, ElementsAre("7", "q/proj_x"));
  EXPECT_EQ(FillIn("h.$1.$2$$", captures), "h.7.q/proj_x$");
}

TEST(Rules, PlaceNodesByNameWithWhatTheStarStandsFor) {
  const Mapped mapped(OneLayer(), WithRule(R"({"name": "fused",
      "match": {"op": "Custom", "name": "blk_*_fused"},
      "module": "blocks.$1.attn", "class": "Attn$1",
      "role": "attention/output"})"));
  EXPECT_EQ(mapped.Module("", 3), "blocks.7.attn");
  EXPECT_EQ(mapped.Class("blocks.7.attn"), "Attn7");
  const Tag& tag = mapped.tagging().tags[NodeId{3}];
  EXPECT_EQ(tag.source, Source::kRule);
  EXPECT_EQ(tag.confidence, Confidence::kCertain);
  EXPECT_EQ(mapped.tagging().roles[tag.role].type, RoleType::kAttention);
  EXPECT_EQ(mapped.tagging().roles[tag.role].component, "output");
  EXPECT_THAT(mapped.tagging().notes, IsEmpty());
}

TEST(Rules, MatchOutputsAndParameters) {
  EXPECT_EQ(Mapped(OneLayer(), WithRule(R"({"match": {"value": "hid*"},
      "module": "x"})"))
                .Module("", 1),
            "x");
  EXPECT_EQ(Mapped(OneLayer(), WithRule(R"({"match":
      {"parameter": "body.*.up.weight"}, "module": "y.$1"})"))
                .Module("", 0),
            "y.0");
}

TEST(Rules, MoveNodesByTheModuleTheyWouldGet) {
  const Mapped mapped(OneLayer(), WithRule(R"({"match":
      {"module": "body.*.act"}, "module": "blocks.$1.act", "class": "Swish"})"));
  EXPECT_EQ(mapped.Module("", 1), "blocks.0.act");
  EXPECT_EQ(mapped.Module("", 0), "body.0.up");
  EXPECT_EQ(mapped.tagging().tags[NodeId{1}].source, Source::kRule);
}

TEST(Rules, GiveModulesClassAndTag) {
  const Mapped mapped(OneLayer(), WithRules(R"({"rules": [
      {"match": {"module": "<root>"}, "class": "MyModel"},
      {"match": {"module": "body.*"}, "class": "MyBlock"},
      {"match": {"module": "head"}, "tag": "/MyModel/Head"}]})"));
  EXPECT_EQ(mapped.tagging().root.name, "MyModel");
  EXPECT_EQ(mapped.Class("body.0"), "MyBlock");
  const ModuleFormat format(mapped.tagging());
  EXPECT_EQ(format.HierarchyTag(mapped.tagging().modules.Find("head")),
            "/MyModel/Head");
}

TEST(Rules, TheFirstThatFitsDecides) {
  const Mapped mapped(OneLayer(), WithRules(R"({"rules": [
      {"match": {"op": "Relu"}, "module": "first", "role": "mask"},
      {"match": {"op": "*"}, "module": "second", "role": "shape"},
      {"match": {"module": "head"}, "class": "A"},
      {"match": {"module": "*"}, "class": "B"}]})"));
  EXPECT_EQ(mapped.Module("", 1), "first");
  EXPECT_EQ(mapped.Module("", 0), "second");
  EXPECT_EQ(mapped.Class("first"), "B");
  EXPECT_EQ(mapped.tagging().roles[mapped.tagging().tags[NodeId{1}].role].type,
            RoleType::kMask);
}

TEST(Rules, AddToTheCatalogue) {
  const Mapped mapped(OneLayer(), WithRules(R"({"catalogue": {
      "Mine": {"body.*": "MyBlock", "head": "MyHead", "extra": "Extra"},
      "MyBlock": {"up": "UpProjection"}}})"));
  EXPECT_EQ(mapped.tagging().root.name, "Mine");
  EXPECT_EQ(mapped.tagging().root.confidence, Confidence::kHigh);
  EXPECT_EQ(mapped.Class("body.0"), "MyBlock");
  EXPECT_EQ(mapped.Class("head"), "MyHead");
}

TEST(Rules, AddToExceptionsAndVocabulary) {
  const Mapped mapped(OneLayer(), WithRules(R"({
      "torch_nn_exceptions": ["Linear"],
      "vocabulary": ["name up attention/query in=any"]})"));
  const Tagging& tagging = mapped.tagging();
  EXPECT_THAT(tagging.format.exceptions, Contains("Linear"));
  EXPECT_EQ(tagging.roles[tagging.tags[NodeId{0}].role].component, "query");
}

TEST(Rules, ThatMatchNothingAreSaid) {
  const Mapped mapped(OneLayer(), WithRule(R"({"name": "lost",
      "match": {"op": "Nothing"}, "module": "a"})"));
  EXPECT_THAT(mapped.tagging().notes,
              ElementsAre("r.json: rule \"lost\" (line 1) matches nothing"));
}

TEST(Rules, AreRefusedWithLineAndColumn) {
  EXPECT_THAT(ErrorOf("{\n \"rule\": []}"),
              HasSubstr("line 2, column 2: unknown key of a rules file "
                        "'rule', did you mean 'rules'?"));
  EXPECT_THAT(ErrorOf(R"({"rules": [{"match": {"ops": "A"}}]})"),
              HasSubstr("column 23: unknown key of a match 'ops', did you "
                        "mean 'op'?"));
  EXPECT_THAT(ErrorOf(R"({"rules": [{"module": "a"}]})"),
              HasSubstr("column 12: a rule has no \"match\""));
  EXPECT_THAT(ErrorOf(R"({"rules": [{"match": {"op": "A"}}]})"),
              HasSubstr("a rule has no effect"));
  EXPECT_THAT(ErrorOf(R"({"rules": [{"match": {}, "module": "a"}]})"),
              HasSubstr("\"match\" is empty"));
  EXPECT_THAT(ErrorOf(R"({"rules": [{"match": {"op": 3}, "module": "a"}]})"),
              HasSubstr("a number where a string should be"));
  EXPECT_THAT(
      ErrorOf(R"({"rules": [{"match": {"op": "A"},
      "module": "a.$1"}]})"),
      HasSubstr("line 2, column 17: the rule uses $1, but \"match\" has "
                "0 *s"));
  EXPECT_THAT(ErrorOf(R"({"rules": [{"match": {"op": "A"}, "module": "a$"}]})"),
              HasSubstr("a $ without a number"));
  EXPECT_THAT(
      ErrorOf(R"({"rules": [{"match": {"op": "A"}, "module": "a..b"}]})"),
      HasSubstr("is not a module path"));
  EXPECT_THAT(ErrorOf(R"({"rules": [{"match": {"op": "A"}, "tag": "a"}]})"),
              HasSubstr("is not a hierarchy tag"));
  EXPECT_THAT(
      ErrorOf(R"({"rules": [{"match": {"op": "A"}, "role": "atention"}]})"),
      HasSubstr("unknown type of a role 'atention', did you mean "
                "'attention'?"));
  EXPECT_THAT(ErrorOf(R"({"rules": [{"match": {"op": "A"},
      "role": {"component": "query"}}]})"),
              HasSubstr("a role needs a \"type\""));
  EXPECT_THAT(ErrorOf(R"({"rules": [{"match": {"op": "A"},
      "role": {"type": "attention", "attention_kind": "both"}}]})"),
              HasSubstr("unknown kind of attention"));
  EXPECT_THAT(ErrorOf(R"({"catalogue": {"A": {"b*": "C"}}})"),
              HasSubstr("\"b*\" is not an attribute"));
  EXPECT_THAT(ErrorOf(R"({"catalogue": {"A": {"b": ""}}})"),
              HasSubstr("is not a class name"));
  EXPECT_THAT(ErrorOf(R"({"vocabulary": ["name q attenion/query"]})"),
              HasSubstr("column 17: unknown type in: name q attenion/query"));
  EXPECT_THAT(ErrorOf(R"({"vocabulary": [""]})"), HasSubstr("no words"));
  EXPECT_THAT(ErrorOf(R"({"format": "onnx-tag-rules/9"})"),
              HasSubstr("unknown format"));
  EXPECT_THAT(ErrorOf("[]"), HasSubstr("a list where an object should be"));
}

std::string ReadDoc(const std::string& name) {
  return test::ReadFile(ONNX_TAG_TEST_FOLDER "/../docs/reference/" + name);
}

// The blocks of JSON in docs/reference/rules.md.
std::vector<std::string> Examples() {
  std::vector<std::string> blocks;
  std::istringstream lines(ReadDoc("rules.md"));
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line == "```json") {
      inside = true;
      blocks.emplace_back();
    } else if (line == "```") {
      inside = false;
    } else if (inside) {
      blocks.back() += line + "\n";
    }
  }
  return blocks;
}

TEST(Rules, OfTheDocumentationAreReadAndAsTheSchemaSays) {
  const test::JsonSchema schema(
      nlohmann::json::parse(ReadDoc("schemas/rules.schema.json")));
  const std::vector<std::string> examples = Examples();
  EXPECT_EQ(examples.size(), 3u);
  for (const std::string& example : examples) {
    EXPECT_EQ(ErrorOf(example), "") << example;
    EXPECT_THAT(schema.Violations(nlohmann::json::parse(example)), IsEmpty());
  }
}

TEST(Rules, ThatTheSchemaRefusesAreRefused) {
  const test::JsonSchema schema(
      nlohmann::json::parse(ReadDoc("schemas/rules.schema.json")));
  for (const std::string bad :
       {R"({"rule": []})", R"({"rules": [{"class": "A"}]})",
        R"({"rules": [{"match": {}, "class": "A"}]})",
        R"({"rules": [{"match": {"op": 1}, "class": "A"}]})",
        R"({"rules": [{"match": {"op": "A"}, "tag": "A"}]})",
        R"({"rules": [{"match": {"op": "A"}, "role": {"type": "x"}}]})",
        R"({"catalogue": {"A": "B"}})", R"({"vocabulary": [1]})",
        R"({"format": "onnx-tag-rules/2"})"}) {
    EXPECT_NE(ErrorOf(bad), "") << bad;
    EXPECT_FALSE(schema.Violations(nlohmann::json::parse(bad)).empty()) << bad;
  }
}

}  // namespace
}  // namespace onnx_tag
