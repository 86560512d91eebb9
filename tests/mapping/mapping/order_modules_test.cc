// The order in which modules are listed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "clues/recording/module_map.h"
#include "support/model_builder.h"

namespace onnx_tag {
namespace {

using test::AddNode;
using test::AddParameters;
using test::Mapped;
using test::Names;
using ::testing::ElementsAre;

Names ModulesOf(const Mapped& mapped) {
  Names paths;
  for (const ModuleId id : mapped.tagging().modules.All()) {
    paths.push_back(mapped.tagging().modules.Path(id));
  }
  return paths;
}

// The copies of shared constants stand in front of everything: TorchScript
// merges the equal biases of an untrained model.
schema::ModelProto WithPrelude() {
  schema::ModelProto model;
  model.set_producer_name("pytorch");
  auto* graph = model.mutable_graph();
  graph->add_input()->set_name("x");
  AddParameters(model,
                {"stem.weight", "mid.weight", "aside.weight", "head.weight"});
  AddParameters(model, {"stem.bias"}, 1);
  AddNode(graph, "Identity", {"stem.bias"}, {"head.bias"}, "Identity_0");
  AddNode(graph, "Identity", {"stem.bias"}, {"mid.bias"}, "Identity_1");
  AddNode(graph, "Gemm", {"x", "stem.weight", "stem.bias"}, {"a"},
          "/stem/Gemm");
  AddNode(graph, "Gemm", {"a", "mid.weight", "mid.bias"}, {"b"}, "/mid/Gemm");
  AddNode(graph, "Gemm", {"a", "aside.weight", "stem.bias"}, {"c"},
          "/aside/Gemm");
  AddNode(graph, "Add", {"b", "c"}, {"d"}, "/Add");
  AddNode(graph, "Gemm", {"d", "head.weight", "head.bias"}, {"y"},
          "/head/Gemm");
  graph->add_output()->set_name("y");
  return model;
}

TEST(OrderModules, ByTheNodesThatCompute) {
  EXPECT_THAT(ModulesOf(Mapped(WithPrelude(), test::NoBook())),
              ElementsAre("", "stem", "mid", "aside", "head"));
}

TEST(OrderModules, ByTheCallsOfARecording) {
  ModuleMap map = ReadModuleMap(R"({"modules": {
      "": {"class": "Net", "order": 0},
      "head": {"class": "Linear", "order": 4},
      "mid": {"class": "Linear", "order": 3},
      "aside": {"class": "Linear", "order": 2},
      "stem": {"class": "Linear", "order": 1}}})");
  MappingFacts facts;
  facts.hierarchy = std::make_shared<const ModuleMap>(std::move(map));
  EXPECT_THAT(ModulesOf(Mapped(WithPrelude(), test::NoBook(), facts)),
              ElementsAre("", "stem", "aside", "mid", "head"));
}

// A table that no data chooses from has the place where it is read.
TEST(OrderModules, ModulesWithoutDataComeWhereTheyAreRead) {
  schema::ModelProto model;
  model.set_producer_name("pytorch");
  auto* graph = model.mutable_graph();
  graph->add_input()->set_name("x");
  AddParameters(model, {"table.weight", "fc.weight", "last.weight"});
  AddParameters(model, {"ids"}, 1);
  AddNode(graph, "Gather", {"table.weight", "ids"}, {"t"}, "/table/Gather");
  AddNode(graph, "MatMul", {"x", "fc.weight"}, {"a"}, "/fc/MatMul");
  AddNode(graph, "Add", {"a", "t"}, {"b"}, "/Add");
  AddNode(graph, "MatMul", {"b", "last.weight"}, {"y"}, "/last/MatMul");
  graph->add_output()->set_name("y");
  EXPECT_THAT(ModulesOf(Mapped(model, test::NoBook())),
              ElementsAre("", "fc", "table", "last"));
}

TEST(OrderModules, TheBodyOfALoopRunsWhereTheLoopDoes) {
  schema::ModelProto model;
  model.set_producer_name("pytorch");
  auto* graph = model.mutable_graph();
  graph->add_input()->set_name("x");
  graph->add_input()->set_name("n");
  AddParameters(model, {"late.weight", "cell.weight", "early.weight"});
  AddNode(graph, "MatMul", {"x", "early.weight"}, {"a"}, "/early/MatMul");
  auto* const loop = AddNode(graph, "Loop", {"n", "", "a"}, {"b"}, "/Loop");
  auto* const attribute = loop->add_attribute();
  attribute->set_name("body");
  attribute->set_type(5);
  auto* const body = attribute->mutable_g();
  for (const char* const input : {"i", "go", "s"}) {
    body->add_input()->set_name(input);
  }
  AddNode(body, "Identity", {"go"}, {"go_on"}, "/Identity");
  AddNode(body, "MatMul", {"s", "cell.weight"}, {"t"}, "/cell/MatMul");
  body->add_output()->set_name("go_on");
  body->add_output()->set_name("t");
  AddNode(graph, "MatMul", {"b", "late.weight"}, {"y"}, "/late/MatMul");
  graph->add_output()->set_name("y");
  EXPECT_THAT(ModulesOf(Mapped(model, test::NoBook())),
              ElementsAre("", "early", "cell", "late"));
}

}  // namespace
}  // namespace onnx_tag
