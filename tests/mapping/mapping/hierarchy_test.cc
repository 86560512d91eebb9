// What a hierarchy recorded from the model changes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "clues/recording/module_map.h"
#include "onnx_tag/error.h"
#include "support/model_builder.h"

namespace onnx_tag {
namespace {

using test::AddNode;
using test::AddParameters;
using test::Mapped;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

MappingFacts WithModules(std::string_view modules) {
  ModuleMap map = ReadModuleMap("{\"modules\": " + std::string(modules) + "}");
  map.name = "h.json";
  MappingFacts facts;
  facts.hierarchy = std::make_shared<const ModuleMap>(std::move(map));
  return facts;
}

// Two Linears and what stands between them, with scopes.
schema::ModelProto ScopedModel() {
  schema::ModelProto model;
  model.set_producer_name("pytorch");
  auto* graph = model.mutable_graph();
  AddParameters(model, {"body.up.weight", "body.down.weight"});
  AddNode(graph, "MatMul", {"x", "body.up.weight"}, {"a"}, "/body/up/MatMul");
  AddNode(graph, "Relu", {"a"}, {"b"}, "/body/act/Relu");
  AddNode(graph, "MatMul", {"b", "body.down.weight"}, {"y"},
          "/body/down/MatMul");
  return model;
}

std::string ErrorOf(const schema::ModelProto& model,
                    const MappingFacts& facts) {
  try {
    Mapped mapped(model, facts);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "";
}

TEST(Hierarchy, GivesEveryModuleItsClass) {
  const Mapped mapped(ScopedModel(), WithModules(R"({"": "Net", "body": "Mine",
      "body.up": "MyLinear", "body.act": "Swoosh", "body.down": "Linear"})"));
  EXPECT_EQ(mapped.tagging().root.name, "Net");
  EXPECT_EQ(mapped.tagging().root.confidence, Confidence::kCertain);
  EXPECT_EQ(mapped.Class("body"), "Mine");
  EXPECT_EQ(mapped.Class("body.up"), "MyLinear");
  EXPECT_EQ(mapped.Class("body.act"), "Swoosh");
  EXPECT_THAT(mapped.tagging().notes, IsEmpty());
}

TEST(Hierarchy, FindsAModuleBelowOneThatIsNotCalled) {
  // body.extras is held and never called: scopes leave it out.
  const Mapped mapped(ScopedModel(), WithModules(R"({"": "Net", "body": "Body",
      "body.up": "Linear", "body.down": "Linear", "body.extras": "Extras",
      "body.extras.act": "ReLU"})"));
  EXPECT_EQ(mapped.Module("", 1), "body.extras.act");
  EXPECT_EQ(mapped.tagging().tags[NodeId{1}].source, Source::kHierarchy);
  EXPECT_EQ(mapped.Class("body.extras"), "Extras");
}

TEST(Hierarchy, RulesOutAModuleThatItDoesNotHave) {
  const Mapped mapped(ScopedModel(), WithModules(R"({"": "Net", "body": "Body",
      "body.up": "Linear", "body.down": "Linear"})"));
  EXPECT_EQ(mapped.Module("", 1), "body");
  EXPECT_EQ(mapped.tagging().tags[NodeId{1}].source, Source::kHierarchy);
  EXPECT_EQ(mapped.tagging().tags[NodeId{1}].confidence, Confidence::kMedium);
}

TEST(Hierarchy, OfAnotherToolRulesNothingOut) {
  const Mapped mapped(
      ScopedModel(),
      WithModules(R"({"": {"class_name": "Net", "traced_tag": "/Net"},
      "body": {"class_name": "Body", "traced_tag": "/Net/Body"}})"));
  EXPECT_EQ(mapped.Module("", 1), "body.act");
  EXPECT_EQ(mapped.Class("body"), "Body");
  EXPECT_THAT(mapped.tagging().notes, IsEmpty());
}

TEST(Hierarchy, TellsAnAttributeFromASecondCall) {
  schema::ModelProto model = ScopedModel();
  AddNode(model.mutable_graph(), "Relu", {"y"}, {"z"}, "/body/act_1/Relu");
  const std::string modules = R"("": "Net", "body": "Body",
      "body.up": "Linear", "body.down": "Linear", "body.act": "ReLU")";
  EXPECT_EQ(Mapped(model, WithModules("{" + modules + "}")).Module("", 3),
            "body.act");
}

TEST(Hierarchy, OfTheWrappedModelFits) {
  const Mapped mapped(
      ScopedModel(), WithModules(R"({"": "Inner", "up": "Linear", "act": "ReLU",
      "down": "Linear"})"));
  EXPECT_EQ(mapped.Class("body"), "Inner");
  EXPECT_EQ(mapped.Class("body.act"), "ReLU");
  EXPECT_NE(mapped.tagging().root.name, "Inner");
}

TEST(Hierarchy, OfTheWholeFitsAnExportedPart) {
  const Mapped mapped(
      ScopedModel(),
      WithModules(R"({"": "All", "text": "Text", "text.body": "Body",
      "text.body.up": "Linear", "text.body.act": "ReLU",
      "text.body.down": "Linear", "vision": "Vision"})"));
  EXPECT_EQ(mapped.tagging().root.name, "Text");
  EXPECT_EQ(mapped.Class("body"), "Body");
}

TEST(Hierarchy, OfAnotherModelIsRefusedWithTheFirstConflict) {
  EXPECT_THAT(
      ErrorOf(ScopedModel(), WithModules(R"({"": "ResNet", "conv1": "Conv2d",
      "layer1": "Sequential"})")),
      HasSubstr("h.json: belongs to another model: the file has the "
                "module body.up"));
  EXPECT_NE(ErrorOf(ScopedModel(), WithModules(R"({"": {"class_name": "ResNet"},
      "conv1": {"class_name": "Conv2d"}})")),
            "");
}

TEST(Hierarchy, ThatLacksSomeModulesIsAWarning) {
  const Mapped mapped(ScopedModel(), WithModules(R"({"": "Net", "body": "Body",
      "body.act": "ReLU", "body.down": "Linear"})"));
  EXPECT_THAT(
      mapped.tagging().notes,
      ElementsAre("h.json: lacks the module body.up, which the file names"));
}

TEST(Hierarchy, BeatsWhatTheFileRecordsAndSaysSo) {
  schema::ModelProto model = ScopedModel();
  const auto add = [&](const std::string& key, const std::string& value) {
    auto* entry = model.mutable_graph()->mutable_node(0)->add_metadata_props();
    entry->set_key(key);
    entry->set_value(value);
  };
  add("pkg.torch.onnx.name_scopes", "['', 'body', 'body.up', 'linear']");
  add("pkg.torch.onnx.class_hierarchy",
      "['m.Net', 'm.Body', 'm.Linear', 'aten.linear.default']");
  const Mapped mapped(model, WithModules(R"({"": "Net", "body": "Other",
      "body.up": "Linear", "body.act": "ReLU", "body.down": "Linear"})"));
  EXPECT_EQ(mapped.Class("body"), "Other");
  EXPECT_THAT(mapped.tagging().notes,
              ElementsAre("body is Body in the file and Other in h.json; the "
                          "class in the hierarchy is used"));
}

TEST(Hierarchy, ThatWasNotReadIsAMistakeOfTheProgram) {
  MappingOptions options;
  options.hierarchy_file = "h.json";
  EXPECT_THROW(Mapped(ScopedModel(), options), std::logic_error);
}

// A tool called the bias `w5`: a name like that of a parameter of the root.
TEST(Hierarchy, AModuleWithoutParametersOwnsNoTensor) {
  schema::ModelProto model;
  model.set_producer_name("pytorch");
  auto* graph = model.mutable_graph();
  graph->add_input()->set_name("x");
  AddParameters(model, {"fc.weight"});
  AddParameters(model, {"w5"}, 1);
  AddNode(graph, "MatMul", {"x", "fc.weight"}, {"a"});
  AddNode(graph, "Add", {"a", "w5"}, {"y"});
  graph->add_output()->set_name("y");
  const auto source = [&](const MappingFacts& facts) {
    return Mapped(model, test::NoBook(), facts)
        .tagging()
        .tags[NodeId{1}]
        .source;
  };
  EXPECT_EQ(source({}), Source::kParameter);
  const MappingFacts facts = WithModules(R"({"": "Net",
      "fc": {"class": "Linear", "parameters": {"weight": [2, 2], "bias": [2]}}})");
  EXPECT_NE(source(facts), Source::kParameter);
}

// The operators of a class of another library are not those of torch.nn.
TEST(Hierarchy, AClassIsKnownByItsQualifiedName) {
  schema::ModelProto model;
  model.set_producer_name("pytorch");
  auto* graph = model.mutable_graph();
  graph->add_input()->set_name("x");
  AddParameters(model, {"a.weight", "b.weight"});
  AddNode(graph, "MatMul", {"x", "a.weight"}, {"p"}, "/a/MatMul");
  AddNode(graph, "Softmax", {"p"}, {"q"});
  AddNode(graph, "MatMul", {"q", "b.weight"}, {"y"}, "/a/MatMul_1");
  graph->add_output()->set_name("y");
  const auto with = [](const std::string& qualified) {
    return WithModules(
        R"({"": "Net", "a": {"class": "Linear", "qualified": ")" + qualified +
        R"("}})");
  };
  EXPECT_NE(Mapped(model, test::NoBook(), with("torch.nn.modules.Linear"))
                .Module("", 1),
            "a");
  EXPECT_EQ(
      Mapped(model, test::NoBook(), with("other.layers.Linear")).Module("", 1),
      "a");
}

}  // namespace
}  // namespace onnx_tag
