// What nodes are called; tests/properties_test.cc has the laws.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/tagging/tag_writer.h"
#include "support/onnx_models.h"

namespace onnx_tag::test {
namespace {

using ::testing::ElementsAre;

// Gives the nodes the modules, "-" for none: high, with "?" medium.
Tagging TagsOf(const Model& model, const std::vector<std::string>& modules) {
  Tagging tagging;
  tagging.roles.Add(Role());
  tagging.tags.resize(model.node_count());
  for (const NodeId node : model.Nodes()) {
    std::string path = modules[Index(node)];
    if (path == "-") continue;
    const bool sure = !path.starts_with("?");
    if (!sure) path.erase(0, 1);
    tagging.tags[node].module = tagging.modules.Add(path);
    tagging.tags[node].confidence =
        sure ? Confidence::kHigh : Confidence::kMedium;
  }
  return tagging;
}

std::string Renamed(const std::string& bytes,
                    const std::vector<std::string>& modules) {
  Model model = ReadModel(bytes);
  const Tagging tagging = TagsOf(model, modules);
  RenameNodes(tagging, model);
  TagWriter writer(model, tagging, {}, true);
  StringSink sink(bytes);
  writer.Write(sink);
  return sink.text();
}

std::string Stripped(const std::string& bytes) {
  const Model model = ReadModel(bytes);
  TagWriter writer(model);
  StringSink sink(bytes);
  writer.Write(sink);
  return sink.text();
}

std::vector<std::string> NamesIn(const std::string& bytes) {
  const Model model = ReadModel(bytes);
  std::vector<std::string> names;
  for (const NodeId node : model.Nodes()) names.emplace_back(model[node].name);
  return names;
}

constexpr char kFive[] = R"pb(
  graph {
    node { op_type: "MatMul" name: "n0" }
    node { op_type: "MatMul" name: "" }
    node { op_type: "MatMul" }
    node { op_type: "Add" name: "n1" }
    node { op_type: "Add" }
  })pb";

TEST(NodeNamesTest, CertainAndHighTagsNameTheirNodes) {
  const std::string bytes = BytesFromText(kFive);
  const std::string renamed =
      Renamed(bytes, {"layer.0.fc", "layer.0.fc", "", "?layer.0", "-"});
  EXPECT_THAT(NamesIn(renamed),
              ElementsAre("layer.0.fc/MatMul", "layer.0.fc/MatMul_1", "/MatMul",
                          "n1", "Add_1"));
  EXPECT_EQ(Stripped(renamed), bytes);
}

TEST(NodeNamesTest, NamesDifferInAllGraphsAlsoForEnginesThatKnowOnlyWords) {
  const std::string bytes = BytesFromText(R"pb(
    graph {
      node { op_type: "Add" name: "a.b/Add" }
      node {
        op_type: "If"
        name: "a/b"
        attribute {
          name: "then_branch"
          type: 5
          g { node { op_type: "Add" name: "x" } }
        }
      }
      node { op_type: "Sub" name: "a.b" }
    }
    functions {
      name: "f"
      node { op_type: "Add" name: "x" }
    })pb");
  const std::string renamed = Renamed(bytes, {"-", "-", "a_b", "-", "a.b\n"});
  // a_b/Add and a.b_/Add are a_b_Add as a.b/Add is; a.b is a_b as a/b is.
  EXPECT_THAT(NamesIn(renamed), ElementsAre("a.b/Add", "a/b", "a_b/Add_1",
                                            "Sub_1", "a.b_/Add_2"));
  EXPECT_EQ(Stripped(renamed), bytes);
}

TEST(NodeNamesTest, OldNamesComeBackAfterAnotherProgramWroteTheFile) {
  const std::string bytes = BytesFromText(kFive);
  schema::ModelProto proto;
  ASSERT_TRUE(
      proto.ParseFromString(Renamed(bytes, {"fc", "fc", "fc", "fc", "fc"})));
  auto& dropped = *proto.mutable_graph()->mutable_node(3);
  EXPECT_EQ(dropped.name(), "fc/Add");
  dropped.clear_name();
  schema::ModelProto stripped;
  ASSERT_TRUE(stripped.ParseFromString(Stripped(proto.SerializeAsString())));
  EXPECT_EQ(stripped.SerializeAsString(), bytes);
}

}  // namespace
}  // namespace onnx_tag::test
