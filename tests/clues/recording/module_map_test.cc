#include "clues/recording/module_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string MapErrorOf(std::string_view json) {
  try {
    ReadModuleMap(json);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "";
}

std::string ClassOf(const ModuleMap& map, std::string_view path) {
  const ModuleId id = map.tree.Find(path);
  return id == kNo<ModuleId> ? "no such module"
                             : std::string(map.tree.Class(id));
}

TEST(ModuleMap, ReadsTheBareForm) {
  const ModuleMap map = ReadModuleMap(
      R"({"modules": {"": "Net", "body.layers.0": "Block", "body": "Body"}})");
  EXPECT_TRUE(map.complete);
  EXPECT_EQ(ClassOf(map, ""), "Net");
  EXPECT_EQ(ClassOf(map, "body.layers.0"), "Block");
  // Implied by the path below it, and so nothing that runs.
  const ModuleId list = map.tree.Find("body.layers");
  EXPECT_FALSE(map.modules[list].listed);
  EXPECT_TRUE(map.OnlyHolds(list));
  EXPECT_FALSE(map.OnlyHolds(map.tree.Find("body")));
}

TEST(ModuleMap, ReadsARecordingAndPassesOverItsTrace) {
  const ModuleMap map = ReadModuleMap(R"({
    "format": "onnx-tag-recording/1",
    "events": [{"op": "aten::add", "stack": ["", "a"]}],
    "modules": {
      "": {"class": "Net", "qualified": "my.Net", "calls": 1},
      "a": {"class": "Linear", "parameters": ["weight", "bias"], "calls": 2},
      "b": {"class": "Bag", "container": true}}})");
  EXPECT_TRUE(map.complete);
  const RecordedModule& a = map.modules[map.tree.Find("a")];
  EXPECT_THAT(a.parameters, ElementsAre("weight", "bias"));
  EXPECT_TRUE(map.OnlyHolds(map.tree.Find("b")));
}

std::vector<std::string> CallsOf(const ModuleMap& map) {
  std::vector<std::string> calls;
  for (const ModuleCall& call : map.calls) {
    calls.push_back(
        map.tree.Path(call.module) + " from " +
        (call.caller == kNo<ModuleId> ? "nobody" : map.tree.Path(call.caller)));
  }
  return calls;
}

TEST(ModuleMap, ReadsShapesAndOtherNames) {
  const ModuleMap map = ReadModuleMap(R"({"modules": {
      "a": {"class": "Linear", "parameters": {"weight": [4, 3], "bias": [4]}},
      "b": {"class": "Linear", "shared_with": "a",
            "parameters": {"weight": "tied"}}}})");
  const RecordedModule& a = map.modules[map.tree.Find("a")];
  EXPECT_THAT(a.shapes, ElementsAre(ElementsAre(4, 3), ElementsAre(4)));
  const RecordedModule& b = map.modules[map.tree.Find("b")];
  EXPECT_EQ(b.shared_with, "a");
  EXPECT_THAT(b.shapes, ElementsAre(ElementsAre()));
  EXPECT_TRUE(map.calls.empty());
}

TEST(ModuleMap, KnowsTheOrderOfFirstCalls) {
  const ModuleMap map = ReadModuleMap(R"({"modules": {
      "": {"class": "Net", "order": 0},
      "list": {"class": "ModuleList"},
      "list.0": {"class": "B", "order": 2},
      "act": {"class": "ReLU", "order": 1}}})");
  EXPECT_THAT(CallsOf(map),
              ElementsAre(" from nobody", "act from ", "list.0 from "));
}

TEST(ModuleMap, TakesAllCallsWhereTheyAreRecorded) {
  const ModuleMap map = ReadModuleMap(R"({
      "calls": [{"module": "", "number": 0, "parent": null},
                {"module": "act", "number": 0, "parent": 0},
                {"module": "gone", "number": 0, "parent": 0},
                {"module": "act", "number": 1, "parent": 7}],
      "modules": {"": {"class": "Net", "order": 0},
                  "act": {"class": "ReLU", "order": 1}}})");
  EXPECT_THAT(CallsOf(map),
              ElementsAre(" from nobody", "act from ", "act from nobody"));
}

// The documented fields of ModelInsider's metadata: by path, what was called.
TEST(ModuleMap, ReadsModelInsidersFlatModules) {
  const ModuleMap map = ReadModuleMap(R"({
    "export_context": {"strategy": "htp", "version": "1.0"},
    "modules": {
      "": {"class_name": "BertModel", "traced_tag": "/BertModel",
           "execution_order": 0},
      "encoder.layer.0": {"class_name": "BertLayer", "execution_order": 3,
           "traced_tag": "/BertModel/BertEncoder/BertLayer.0"}},
    "nodes": {"/Cast": "/BertModel"}})");
  EXPECT_FALSE(map.complete);
  EXPECT_EQ(ClassOf(map, ""), "BertModel");
  EXPECT_EQ(ClassOf(map, "encoder.layer.0"), "BertLayer");
}

TEST(ModuleMap, ReadsModelInsidersOlderKey) {
  const ModuleMap map = ReadModuleMap(
      R"({"hierarchy": {"": {"class_name": "Net", "module_type": "torch"}}})");
  EXPECT_EQ(ClassOf(map, ""), "Net");
}

// winml-cli nests them by class; `scope` is the path.
TEST(ModuleMap, ReadsWinmlsNestedModules) {
  const ModuleMap map = ReadModuleMap(R"({
    "model": {"name_or_path": "x", "class_name": "BertModel"},
    "modules": {
      "class_name": "BertModel", "traced_tag": "/BertModel", "scope": "",
      "execution_order": 0,
      "children": {
        "BertEncoder": {
          "class_name": "BertEncoder", "scope": "encoder",
          "traced_tag": "/BertModel/BertEncoder",
          "children": {
            "BertLayer.0": {"class_name": "BertLayer",
              "traced_tag": "/BertModel/BertEncoder/BertLayer.0",
              "scope": "encoder.layer.0"},
            "BertLayer.1": {"class_name": "BertLayer",
              "traced_tag": "/BertModel/BertEncoder/BertLayer.1",
              "scope": "/encoder/layer.1"}}}}}})");
  EXPECT_FALSE(map.complete);
  EXPECT_EQ(ClassOf(map, ""), "BertModel");
  EXPECT_EQ(ClassOf(map, "encoder"), "BertEncoder");
  EXPECT_EQ(ClassOf(map, "encoder.layer.0"), "BertLayer");
  EXPECT_EQ(ClassOf(map, "encoder.layer.1"), "BertLayer");
}

TEST(ModuleMap, ShortensQualifiedClasses) {
  const ModuleMap map =
      ReadModuleMap(R"({"modules": {"": "torch.nn.modules.linear.Linear"}})");
  EXPECT_EQ(ClassOf(map, ""), "Linear");
}

TEST(ModuleMap, SaysWhereAndWhatIsWrong) {
  EXPECT_THAT(MapErrorOf("[]"), HasSubstr("line 1, column 1: a list"));
  EXPECT_THAT(MapErrorOf("{}"), HasSubstr("the file has no modules"));
  EXPECT_THAT(MapErrorOf(R"({"modules": {}})"),
              HasSubstr("the file has no modules"));
  EXPECT_THAT(
      MapErrorOf(R"({"modules": []})"),
      HasSubstr("column 13: expected an object with the modules by path"));
  EXPECT_THAT(MapErrorOf("{\"modules\": {\n\"a\": 3}}"),
              HasSubstr("line 2, column 6: module \"a\": a number where"));
  EXPECT_THAT(MapErrorOf(R"({"modules": {"a": {"class": ["x"]}}})"),
              HasSubstr("module \"a\": \"class\" is a list, not a string"));
  EXPECT_THAT(MapErrorOf(R"({"modules": {"a": "X", "a": "Y"}})"),
              HasSubstr("the key \"a\" occurs a second time"));
  EXPECT_THAT(MapErrorOf(R"({"modules": {"a..b": "X"}})"),
              HasSubstr("\"a..b\" is not a module path"));
  EXPECT_THAT(MapErrorOf(R"({"format": "onnx-tag/1", "modules": []})"),
              HasSubstr("a sidecar with tags, not a hierarchy"));
  EXPECT_THAT(
      MapErrorOf(R"({"format": "onnx-tag-recording/2", "modules": {}})"),
      HasSubstr("use a newer onnx-tag"));
  EXPECT_THAT(
      MapErrorOf(R"({"modules": {"class_name": "A", "children": {"B": {}}}})"),
      HasSubstr("has no \"scope\""));
}

// Others walk from a module up to the root, some by calling themselves.
TEST(ModuleMap, RefusesAPathThatIsDeeperThanAnyModel) {
  std::string path = "a";
  for (int i = 1; i < 128; ++i) path += ".a";
  const auto map = [&] { return "{\"modules\": {\"" + path + "\": \"X\"}}"; };
  EXPECT_EQ(MapErrorOf(map()), "");
  path += ".a";
  EXPECT_THAT(MapErrorOf(map()),
              HasSubstr("is too long: at most 2000 bytes and "
                        "128 modules inside each other"));
}

}  // namespace
}  // namespace onnx_tag
