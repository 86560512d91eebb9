// A profile with two providers, rolled up by hand.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/onnx_models.h"
#include "support/run_cli.h"
#include "support/temporary_folder.h"

namespace onnx_tag::test {
namespace {

using Json = nlohmann::json;

constexpr const char* kCpu = "CPUExecutionProvider";
constexpr const char* kNpu = "NpuExecutionProvider";

// a.0 and a.1 run on the second provider, but for the Relu of a.1; b falls
// back as a whole.
//
//   x - a.0/MatMul - a.0/Add - a.1/MatMul - a.1/Relu - b/Softmax - b/Add - y
//            npu       npu        npu         cpu        cpu       cpu
schema::ModelProto Chain() {
  schema::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  schema::GraphProto& graph = *model.mutable_graph();
  graph.set_name("main");
  std::string before = "x";
  for (const auto& [name, op] :
       std::vector<std::pair<std::string, std::string>>{
           {"/a/a.0/MatMul", "MatMul"},
           {"/a/a.0/Add", "Add"},
           {"/a/a.1/MatMul", "MatMul"},
           {"/a/a.1/Relu", "Relu"},
           {"/b/Softmax", "Softmax"},
           {"/b/Add", "Add"}}) {
    const std::string after = name + "_output_0";
    schema::NodeProto* const node = AddNode(graph, op, name, {before}, {after});
    if (op == "MatMul") node->add_input(name.substr(3, 3) + ".weight");
    before = after;
  }
  for (const std::string weight : {"a.0.weight", "a.1.weight"}) {
    schema::TensorProto& tensor = *graph.add_initializer();
    tensor.set_name(weight);
    tensor.add_dims(1);
    tensor.set_data_type(1);
    tensor.add_float_data(1);
  }
  graph.add_input()->set_name("x");
  graph.add_output()->set_name(before);
  return model;
}

// The durations of a run; it takes 1000 us. The copies are the runtime's own.
struct Kernel {
  std::string name;
  std::string op;
  std::string provider;
  std::vector<int> durations;  // of each run
};
const std::vector<Kernel> kKernels = {
    {"/a/a.0/MatMul", "MatMul", kNpu, {100, 110, 120, 400}},
    {"/a/a.0/Add", "Add", kNpu, {10, 10, 10, 10}},
    {"/a/a.1/MatMul", "MatMul", kNpu, {50, 60, 70, 80}},
    {"Memcpy", "MemcpyToHost", kNpu, {7, 8, 9, 6}},
    {"/a/a.1/Relu", "Relu", kCpu, {5, 5, 5, 5}},
    {"/b/Softmax", "Softmax", kCpu, {20, 30, 40, 50}},
    {"/b/Add", "Add", kCpu, {1, 2, 3, 4}}};

std::string ProfileText() {
  Json events = Json::array();
  for (int run = 0; run < 4; ++run) {
    int at = 1000 * run;
    for (const Kernel& kernel : kKernels) {
      const int duration = kernel.durations[static_cast<std::size_t>(run)];
      events.push_back(
          {{"cat", "Node"},
           {"name", kernel.name + "_kernel_time"},
           {"tid", 1},
           {"ts", at},
           {"dur", duration},
           {"args", {{"op_name", kernel.op}, {"provider", kernel.provider}}}});
      at += duration;
    }
    events.push_back({{"cat", "Session"},
                      {"name", "model_run"},
                      {"ts", 1000 * run},
                      {"dur", 1000}});
  }
  return events.dump();
}

class PlacementTest : public testing::Test {
 protected:
  Json Profile(std::vector<std::string> options) {
    options.insert(options.begin(), {"profile", model_, profile_, "--json"});
    const CliResult result = RunCli(options);
    EXPECT_EQ(result.exit, 0) << result.err;
    return Json::parse(result.out);
  }
  // The row with this name.
  static Json Row(const Json& result, const std::string& name) {
    for (const Json& row : result["rows"]) {
      if (row["name"] == name) return row;
    }
    ADD_FAILURE() << "no row " << name;
    return {};
  }

  TemporaryFolder folder_;
  const std::string model_ =
      folder_.Write("m.onnx", Chain().SerializeAsString());
  const std::string profile_ = folder_.Write("p.json", ProfileText());
};

TEST_F(PlacementTest, ProvidersHaveTheSumsOfTheirKernels) {
  const Json result = Profile({"--by", "provider"});
  // 730 + 40 + 260 + 30, and 20 + 140 + 10.
  EXPECT_EQ(Row(result, kNpu)["self_us"], 1060);
  EXPECT_EQ(Row(result, kCpu)["self_us"], 170);
  EXPECT_EQ(result["total_us"], 1230);
  EXPECT_EQ(Row(result, kNpu)["calls"], 16);
}

// Any key gives the same total.
TEST_F(PlacementTest, RowsOfAnyKeyAddUpToTheTotal) {
  for (const std::string key : {"module", "class", "layer", "role", "op",
                                "line", "node", "provider", "type"}) {
    const Json result = Profile({"--by", key});
    std::int64_t sum = 0;
    for (const Json& row : result["rows"]) {
      sum += row["self_us"].get<std::int64_t>();
    }
    EXPECT_EQ(sum, 1230) << key;
  }
}

TEST_F(PlacementTest, AColumnOfATableIsAKey) {
  const std::string table = "/b/Softmax\tnpu\t2\n/b/Softmax\tcpu\t3\n";
  const CliResult result =
      RunCli({"profile", model_, "-", "--by", "device", "--json"},
             "node\tdevice\tms\n" + table);
  ASSERT_EQ(result.exit, 0) << result.err;
  const Json data = Json::parse(result.out);
  EXPECT_EQ(Row(data, "cpu")["share"], 0.6);
  EXPECT_EQ(Row(data, "npu")["share"], 0.4);
  EXPECT_EQ(RunCli({"profile", model_, "-", "--by", "devise"}, table).exit, 2);
}

TEST_F(PlacementTest, OperatorsHaveTheSumsOfTheirKernels) {
  const Json result = Profile({"--by", "op"});
  EXPECT_EQ(Row(result, "MatMul")["self_us"], 990);
  EXPECT_EQ(Row(result, "Add")["self_us"], 50);
  EXPECT_EQ(Row(result, "MemcpyToHost")["self_us"], 30);
  EXPECT_EQ(result["rows"].size(), 5u);
}

TEST_F(PlacementTest, FallbacksBordersAndCopiesAreCounted) {
  const Json placement = Profile({})["placement"];
  EXPECT_EQ(placement["borders"], 1);  // a.1/MatMul's output
  EXPECT_EQ(placement["copies"]["calls"], 4);
  EXPECT_EQ(placement["copies"]["self_us"], 30);
  const Json& fallbacks = placement["cpu_fallbacks"];
  ASSERT_EQ(fallbacks.size(), 2u) << placement;
  EXPECT_EQ(fallbacks[0]["module"], "b");
  EXPECT_EQ(fallbacks[0]["whole"], true);
  EXPECT_EQ(fallbacks[0]["self_us"], 150);
  EXPECT_EQ(fallbacks[1]["module"], "a.1");
  EXPECT_EQ(fallbacks[1]["whole"], false);
  EXPECT_EQ(fallbacks[1]["kernels"], 1);
}

TEST_F(PlacementTest, ARowOfANodeHasItsProvider) {
  EXPECT_EQ(Row(Profile({"--by", "node"}), "#4 /b/Softmax")["provider"], kCpu);
}

TEST_F(PlacementTest, TextSaysWhatFellBackAndWhatToDoAboutOtherKernels) {
  const std::string text =
      RunCli({"profile", model_, profile_, "--by", "provider"}).out;
  EXPECT_NE(text.find("between providers: 1 value, 4 calls of copies: 0.030 ms "
                      "(2.4 %)"),
            text.npos)
      << text;
  EXPECT_NE(text.find("a.1 (others in it do not)"), text.npos) << text;
  const std::string tree = RunCli({"profile", model_, profile_}).out;
  EXPECT_NE(tree.find("3 kernels fell back to CPUExecutionProvider: 13.8 % of "
                      "the time"),
            tree.npos)
      << tree;
  // 30 of 1230 us are the copies: too little to explain.
  EXPECT_EQ(tree.find("not in the model:"), tree.npos) << tree;

  std::string other = ProfileText();
  for (std::size_t at; (at = other.find("/b/Softmax")) != other.npos;) {
    other.replace(at, 10, "fused_node");
  }
  const std::string fused = folder_.Write("q.json", other);
  const std::string advice = RunCli({"profile", model_, fused}).out;
  EXPECT_NE(advice.find("13.8 % is in kernels that are not in the model: "
                        "Softmax, MemcpyToHost"),
            advice.npos)
      << advice;
  EXPECT_NE(advice.find("onnx-tag transfer " + model_), advice.npos) << advice;
}

// "_Transpose" is the root's node as Qualcomm's tools write it, "Transpose" a
// node that ONNX Runtime inserted.
TEST_F(PlacementTest, ANodeOfTheRuntimeIsNotTheNodeOfTheRoot) {
  schema::ModelProto model = Chain();
  schema::GraphProto& graph = *model.mutable_graph();
  AddNode(graph, "Transpose", "/Transpose", {"x"}, {"t"});
  graph.add_output()->set_name("t");
  const std::string named = folder_.Write("n.onnx", model.SerializeAsString());
  const std::string table =
      folder_.Write("n.tsv", "_Transpose\t4\nTranspose\t2\n");
  const Json result = Json::parse(
      RunCli({"profile", named, table, "--by", "node", "--json"}).out);
  EXPECT_EQ(Row(result, "#6 _Transpose")["calls"], 1);
  ASSERT_EQ(result["unplaced"].size(), 1u);
  EXPECT_EQ(result["unplaced"][0]["name"], "Transpose");
}

}  // namespace
}  // namespace onnx_tag::test
