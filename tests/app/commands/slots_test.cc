// weights --lora-slots: what is written, and what is refused. Protobuf reads
// the result; tests/clients/check_slots.py runs it in ONNX Runtime beside PEFT.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "support/json_schema.h"
#include "support/onnx_models.h"
#include "support/run_cli.h"
#include "support/temporary_folder.h"

namespace onnx_tag::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::json;

void AddFloats(schema::GraphProto& graph, const std::string& name,
               const std::vector<std::int64_t>& dims, int type = 1) {
  schema::TensorProto* const tensor = graph.add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(type);
  std::size_t bytes = type == 1 ? 4 : type == 10 ? 2 : 1;
  for (const std::int64_t dim : dims) {
    tensor->add_dims(dim);
    bytes *= static_cast<std::size_t>(dim);
  }
  tensor->set_raw_data(std::string(bytes, '\1'));
}

// fc: a MatMul and its bias, called twice; up: a Gemm of a transposed weight;
// half: behind a Transpose, in float16; conv; and int8.
schema::ModelProto MakeModel() {
  schema::ModelProto model = ModelFromText(
      "ir_version: 8 producer_name: 'pytorch' opset_import { version: 17 } "
      "graph { name: 'main' }");
  schema::GraphProto& graph = *model.mutable_graph();
  AddNode(graph, "MatMul", "/fc/MatMul", {"x", "onnx::MatMul_1"}, {"a"});
  AddNode(graph, "Add", "/fc/Add", {"fc.bias", "a"}, {"b"});
  AddNode(graph, "Relu", "/act/Relu", {"b"}, {"c"});
  AddNode(graph, "MatMul", "/fc/MatMul_1", {"c", "onnx::MatMul_1"}, {"d"});
  AddNode(graph, "Add", "/fc/Add_1", {"fc.bias", "d"}, {"e"});
  schema::NodeProto* const gemm =
      AddNode(graph, "Gemm", "/up/Gemm", {"e", "up.weight", "up.bias"}, {"f"});
  schema::AttributeProto* const turned = gemm->add_attribute();
  turned->set_name("transB");
  turned->set_i(1);
  AddNode(graph, "Transpose", "", {"half.weight"}, {"g"});
  AddNode(graph, "MatMul", "/half/MatMul", {"h", "g"}, {"i"});
  AddNode(graph, "Conv", "/conv/Conv", {"j", "conv.weight"}, {"k"});
  AddNode(graph, "MatMulInteger", "/int8/MatMul",
          {"l", "int8.weight_quantized"}, {"m"});
  AddFloats(graph, "onnx::MatMul_1", {6, 6});
  AddFloats(graph, "fc.bias", {6});
  AddFloats(graph, "up.weight", {9, 6});
  AddFloats(graph, "up.bias", {9});
  AddFloats(graph, "half.weight", {4, 5}, 10);
  AddFloats(graph, "conv.weight", {4, 3, 2, 2});
  AddFloats(graph, "int8.weight_quantized", {4, 4}, 3);
  for (const char* const name : {"f", "i", "k", "m"}) {
    graph.add_output()->set_name(name);
  }
  return model;
}

class SlotsTest : public ::testing::Test {
 protected:
  CliResult Run(const std::string& query, std::vector<std::string> more = {}) {
    std::vector<std::string> words = {
        "weights",      folder_.Write("m.onnx", model_.SerializeAsString()),
        "--lora-slots", query,
        "-o",           folder_ / "out.onnx",
        "--force"};
    words.insert(words.end(), more.begin(), more.end());
    return RunCli(words);
  }
  Json Answer(const std::string& query, std::vector<std::string> more = {}) {
    more.push_back("--json");
    const CliResult result = Run(query, more);
    EXPECT_EQ(result.exit, 0) << result.err;
    static const JsonSchema schema(
        Json::parse(ReadFile(ONNX_TAG_DOCS "/weights.schema.json")));
    const Json answer = Json::parse(result.out);
    EXPECT_THAT(schema.Violations(answer), IsEmpty());
    return answer;
  }
  schema::ModelProto Written() {
    schema::ModelProto model;
    EXPECT_TRUE(model.ParseFromString(ReadFile(folder_ / "out.onnx")));
    return model;
  }

  const TemporaryFolder folder_;
  schema::ModelProto model_ = MakeModel();
};

TEST_F(SlotsTest, TheSumStandsBehindTheBiasOfEveryCall) {
  Run("module=fc", {"--rank", "8"});
  const schema::ModelProto written = Written();
  // Without the new nodes and inputs, and with the old names of two outputs,
  // it is the old model.
  schema::ModelProto rest = written;
  std::vector<std::string> added;
  auto& nodes = *rest.mutable_graph()->mutable_node();
  for (int i = 0; i < nodes.size();) {
    if (nodes[i].name().find("_lora") == std::string::npos) {
      ++i;
      continue;
    }
    const schema::NodeProto& node = nodes[i];
    added.push_back(node.op_type() + " " + node.input(0) + " " + node.input(1) +
                    " > " + node.output(0));
    // A sum follows the two products; before them is the node of the bias.
    if (node.op_type() == "Add") nodes[i - 1].set_output(0, node.output(0));
    nodes.DeleteSubrange(i, 1);
  }
  EXPECT_THAT(added, ElementsAre("MatMul x fc.lora_A.weight > a_lora_A",
                                 "MatMul a_lora_A fc.lora_B.weight > a_lora_B",
                                 "Add b_base a_lora_B > b",
                                 "MatMul c fc.lora_A.weight > d_lora_A",
                                 "MatMul d_lora_A fc.lora_B.weight > d_lora_B",
                                 "Add e_base d_lora_B > e"));
  ASSERT_EQ(rest.graph().initializer_size(), 9);
  const schema::TensorProto& a = rest.graph().initializer(7);
  EXPECT_EQ(a.name(), "fc.lora_A.weight");
  EXPECT_THAT(a.dims(), ElementsAre(6, 0));
  const auto& shape = rest.graph().input(0).type().tensor_type().shape();
  EXPECT_EQ(shape.dim(0).dim_value(), 6);
  EXPECT_EQ(shape.dim(1).dim_param(), "lora0_rank_max8");
  rest.mutable_graph()->mutable_initializer()->DeleteSubrange(7, 2);
  rest.mutable_graph()->clear_input();
  EXPECT_EQ(rest.SerializeAsString(), model_.SerializeAsString());
}

TEST_F(SlotsTest, ShapesFollowTheTransposesAndTypesTheWeights) {
  std::map<std::string, std::string> slots;
  const Json answer = Answer("op in (MatMul, Gemm)", {"--dry-run"});
  for (const Json& slot : answer["slots"]) {
    slots[slot["module"]] = slot["in"].dump() + " " + slot["out"].dump() + " " +
                            std::string(slot["type"]) + " " +
                            slot["products"].dump();
  }
  EXPECT_THAT(slots, ElementsAre(std::pair("fc", "6 6 float32 2"),
                                 std::pair("half", "5 4 float16 1"),
                                 std::pair("up", "6 9 float32 1")));
  EXPECT_EQ(answer["rank"], nullptr);
}

TEST_F(SlotsTest, WhatCannotHaveSlotsIsNamedWithTheReason) {
  schema::NodeProto& other = *model_.mutable_graph()->mutable_node(7);
  schema::AttributeProto* const alpha = other.add_attribute();
  other.set_op_type("Gemm");
  alpha->set_name("alpha");
  alpha->set_f(0.5F);
  const CliResult result = Run("op != Relu");
  EXPECT_THAT(result.out, HasSubstr("3 products cannot have slots"));
  EXPECT_THAT(result.out, HasSubstr("conv: is a convolution"));
  EXPECT_THAT(result.out, HasSubstr("int8: is quantized"));
  EXPECT_THAT(result.out, HasSubstr("half: has transA or alpha"));

  EXPECT_EQ(Run("op=Conv").exit, 1);
  EXPECT_EQ(Run("op=Nothing").exit, 1);
  EXPECT_EQ(Run("module=fc", {"--rank", "0"}).exit, 2);
  EXPECT_EQ(Run("module=").exit, 2);
  model_.set_ir_version(3);
  const CliResult old = Run("module=fc");
  EXPECT_EQ(old.exit, 3);
  EXPECT_THAT(old.err, HasSubstr("has IR version 3; optional inputs need 4"));
}

// Slots are no weights: the next selection does not take them for products.
TEST_F(SlotsTest, SlotsAreAddedOnce) {
  Run("module=fc");
  model_ = Written();
  const CliResult again = Run("op in (MatMul, Gemm)");
  EXPECT_THAT(again.out, HasSubstr("2 slots at 2 products"));
  EXPECT_THAT(again.out, HasSubstr("fc: has an adapter already"));
}

// An input without numbers is no parameter, so it makes no module.
TEST_F(SlotsTest, ANewMappingGivesTheNewNodesToTheModuleOfTheirProduct) {
  Run("module=fc");
  const CliResult nodes =
      RunCli({"query", folder_ / "out.onnx", "name=**lora**", "--json"});
  const Json answer = Json::parse(nodes.out);
  ASSERT_EQ(answer["nodes"].size(), 6u) << nodes.out;
  for (const Json& node : answer["nodes"]) EXPECT_EQ(node["module"], "fc");
}

TEST_F(SlotsTest, TagsStayAndNewNodesHaveThoseOfTheirProduct) {
  const std::string tagged = folder_ / "tagged.onnx";
  RunCli({"tag", folder_.Write("m.onnx", model_.SerializeAsString()),
          "--rename-nodes", "-o", tagged, "--force"});
  ASSERT_TRUE(model_.ParseFromString(ReadFile(tagged)));
  EXPECT_EQ(Run("module=fc").exit, 0);
  const CliResult check = RunCli({"check", folder_ / "out.onnx"});
  EXPECT_EQ(check.exit, 0) << check.out;
  EXPECT_THAT(check.out, HasSubstr("16 nodes: 16 sure"));
  // Stripped, it is what the untagged model gives but for the new names.
  RunCli({"strip", folder_ / "out.onnx", "-o", folder_ / "s.onnx", "--force"});
  schema::ModelProto stripped;
  ASSERT_TRUE(stripped.ParseFromString(ReadFile(folder_ / "s.onnx")));
  model_ = MakeModel();
  Run("module=fc");
  const schema::ModelProto plain = Written();
  for (schema::NodeProto& node : *stripped.mutable_graph()->mutable_node()) {
    if (node.name().starts_with("fc/MatMul")) node.set_name("/" + node.name());
  }
  EXPECT_EQ(stripped.SerializeAsString(), plain.SerializeAsString());
}

}  // namespace
}  // namespace onnx_tag::test
