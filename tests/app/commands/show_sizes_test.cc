// What `show` and `split` say about costs: formulas, memory, plans.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/json_schema.h"
#include "support/onnx_models.h"
#include "support/run_cli.h"
#include "support/temporary_folder.h"

namespace onnx_tag::test {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

// Four layers: three products with [8, 8], and one whose cost is quadratic in
// the sequence.
constexpr const char* kCostlyModel = R"(
  ir_version: 8 producer_name: "pytorch" producer_version: "2.5"
  opset_import { version: 17 }
  graph {
    input { name: "x" type { tensor_type { elem_type: 1 shape {
      dim { dim_param: "batch" } dim { dim_param: "sequence" }
      dim { dim_value: 8 } } } } }
    output { name: "y" type { tensor_type { elem_type: 1 } } }
    initializer { name: "in.weight" data_type: 1 dims: 8 dims: 8 }
    initializer { name: "mid.weight" data_type: 1 dims: 8 dims: 8 }
    initializer { name: "out.weight" data_type: 1 dims: 8 dims: 8 }
    node { op_type: "MatMul" name: "/in/MatMul" input: "x"
           input: "in.weight" output: "/in/MatMul_output_0" }
    node { op_type: "Transpose" name: "/attend/Transpose"
           input: "/in/MatMul_output_0" output: "/attend/Transpose_output_0"
           attribute { name: "perm" type: 7 ints: 0 ints: 2 ints: 1 } }
    node { op_type: "MatMul" name: "/attend/MatMul"
           input: "/in/MatMul_output_0" input: "/attend/Transpose_output_0"
           output: "/attend/MatMul_output_0" }
    node { op_type: "MatMul" name: "/attend/MatMul_1"
           input: "/attend/MatMul_output_0" input: "/in/MatMul_output_0"
           output: "/attend/MatMul_1_output_0" }
    node { op_type: "MatMul" name: "/mid/MatMul"
           input: "/attend/MatMul_1_output_0" input: "mid.weight"
           output: "/mid/MatMul_output_0" }
    node { op_type: "MatMul" name: "/out/MatMul"
           input: "/mid/MatMul_output_0" input: "out.weight" output: "y" }
  })";

class ShowSizesTest : public testing::Test {
 protected:
  Json Show(std::vector<std::string> words) const {
    words.insert(words.begin(), {"show", model_, "--json"});
    const CliResult result = RunCli(words);
    EXPECT_EQ(result.exit, 0) << result.err;
    const JsonSchema checker(Json::parse(
        ReadFile(std::string(ONNX_TAG_DOCS) + "/show.schema.json")));
    Json data = Json::parse(result.out);
    EXPECT_THAT(checker.Violations(data), testing::IsEmpty()) << result.out;
    return data;
  }
  Json Split(std::vector<std::string> words) const {
    words.insert(words.begin(), {"split", model_, "--dry-run", "--json"});
    const CliResult result = RunCli(words);
    EXPECT_EQ(result.exit, 0) << result.err;
    const JsonSchema checker(Json::parse(
        ReadFile(std::string(ONNX_TAG_DOCS) + "/split.schema.json")));
    Json data = Json::parse(result.out);
    EXPECT_THAT(checker.Violations(data), testing::IsEmpty()) << result.out;
    return data;
  }

  TemporaryFolder folder_;
  std::string model_ = folder_.Write("m.onnx", BytesFromText(kCostlyModel));
};

TEST_F(ShowSizesTest, TheHeaderHasANumberTheSizesAndTheFormula) {
  const std::string text = RunCli({"show", model_}).out;
  // 3 x 2·8·8 and 2 x 2·8 for each pair of tokens.
  EXPECT_THAT(text, HasSubstr("  FLOPs       573 k for assumed batch=1, "
                              "sequence=128\n"
                              "              = 384·batch·sequence + "
                              "32·batch·sequence²\n"));
  EXPECT_THAT(RunCli({"show", model_, "--shape", "sequence=2"}).out,
              HasSubstr("  FLOPs       896 for sequence=2 and assumed "
                        "batch=1\n"));
  EXPECT_THAT(RunCli({"show", model_, "--shape", "batch=1,sequence=2"}).out,
              HasSubstr("  FLOPs       896 for batch=1, sequence=2\n"));
}

TEST_F(ShowSizesTest, JsonHasTheTermsAndTheDimensions) {
  const Json data = Show({"--shape", "sequence=4", "--nodes"});
  EXPECT_EQ(data["flops"], 384 * 4 + 32 * 16);
  const Json terms = data["flops_formula"]["terms"];
  EXPECT_THAT(terms, testing::UnorderedElementsAre(
                         Json::parse(R"([384, {"batch": 1, "sequence": 1}])"),
                         Json::parse(R"([32, {"batch": 1, "sequence": 2}])")));
  EXPECT_EQ(data["dimensions"]["sequence"]["size"], 4);
  EXPECT_EQ(data["dimensions"]["sequence"]["from"], "given");
  EXPECT_EQ(data["dimensions"]["batch"]["from"], "default");
}

TEST_F(ShowSizesTest, ByFlopsShowsAFormulaForEachModule) {
  const std::string text = RunCli({"show", model_, "--measure", "flops"}).out;
  EXPECT_THAT(text, HasSubstr("  32·batch·sequence²\n"));
  EXPECT_THAT(text, HasSubstr("128·batch·sequence"));
  const CliResult wrong = RunCli({"show", model_, "--measure", "flop"});
  EXPECT_EQ(wrong.exit, 2);
  EXPECT_THAT(wrong.err, HasSubstr("flops"));
}

TEST_F(ShowSizesTest, TheRowsOfAnyKeyAddUpToTheModel) {
  const Json whole = Show({"--measure", "memory"});
  for (const std::string key : {"class", "layer", "role", "op", "line", "node",
                                "type", "confidence", "graph"}) {
    SCOPED_TRACE(key);
    const Json data = Show({"--by", key, "--measure", "memory"});
    EXPECT_EQ(data["by"], key);
    std::uint64_t peak = 0;
    for (const std::string measure : {"nodes", "parameters", "bytes", "flops",
                                      "activation_bytes", "unknown_flops"}) {
      std::uint64_t sum = 0;
      for (const Json& row : data["rows"]) {
        sum += row[measure].get<std::uint64_t>();
        peak = std::max(peak, row["peak_memory"].get<std::uint64_t>());
      }
      EXPECT_EQ(sum, whole[measure]) << measure;
    }
    EXPECT_EQ(peak, whole["memory"]["peak"]);
  }
  EXPECT_THAT(RunCli({"show", model_, "--by", "op", "--measure", "bytes"}).out,
              HasSubstr("       768 B  100.0 %  MatMul"));
  EXPECT_THAT(RunCli({"show", model_, "--by", "laier"}).err,
              HasSubstr("did you mean 'layer'"));
}

TEST_F(ShowSizesTest, QueriesCountByKeys) {
  const Json data = Json::parse(
      RunCli({"query", model_, "op=MatMul", "--by", "module,op", "--json"})
          .out);
  EXPECT_EQ(data["by"], Json::parse(R"(["module", "op"])"));
  EXPECT_EQ(data["rows"][0],
            Json::parse(R"({"nodes": 2, "module": "attend", "op": "MatMul"})"));
  EXPECT_EQ(data["rows"].size(), 4u);
  EXPECT_EQ(RunCli({"query", model_, "op=MatMul", "--count", "--tsv"}).out,
            "nodes\n5\n");
}

TEST_F(ShowSizesTest, RangesAndWrongNamesAreRefused) {
  for (const CliResult& range :
       {RunCli({"show", model_, "--shape", "sequence=1..1024"}),
        RunCli({"diff", model_, model_, "--shape", "sequence=1..1024"})}) {
    EXPECT_EQ(range.exit, 2);
    EXPECT_THAT(range.err, HasSubstr("'sequence=1..1024' is a range"));
    EXPECT_THAT(range.err, HasSubstr("onnx-tag report MODEL"));
  }
  const CliResult wrong = RunCli({"show", model_, "--shape", "sequnce=3"});
  EXPECT_EQ(wrong.exit, 2);
  EXPECT_THAT(wrong.err, HasSubstr("did you mean 'sequence'?"));
}

TEST_F(ShowSizesTest, MemoryIsWhatIsHeldAtOnce) {
  const Json data =
      Show({"--measure", "memory", "--shape", "batch=1,sequence=100"});
  // Scores of 100 x 100 and three times 100 x 8: the input, the keys and their
  // transpose or the context.
  EXPECT_EQ(data["memory"]["peak"], 4 * (100 * 100 + 3 * 100 * 8));
  EXPECT_EQ(data["memory"]["held"][0]["value"], "/attend/MatMul_output_0");
  EXPECT_THAT(RunCli({"show", model_, "--measure", "memory"}).out,
              HasSubstr("held at the peak:"));
}

TEST_F(ShowSizesTest, PartsAreBalancedByTheMeasure) {
  const Json by_weights = Split({"--parts", "3"});
  EXPECT_EQ(by_weights["parts"][1]["cost"], 256);
  EXPECT_EQ(by_weights["parts"][2]["at"], "out");
  EXPECT_EQ(by_weights["parts"][0]["cost"], 256);
  const Json by_flops =
      Split({"--parts", "2", "--by", "flops", "--shape", "sequence=64"});
  EXPECT_EQ(by_flops["parts"][1]["at"], "mid");
  EXPECT_EQ(by_flops["parts"][0]["cost"], 128 * 64 + 32 * 64 * 64);
  EXPECT_EQ(by_flops["parts"][1]["bytes_across"], 4 * 64 * 8);
}

// More than are compared: evenly spaced ones are taken.
TEST_F(ShowSizesTest, AListOfManyModulesIsCutInEqualParts) {
  schema::ModelProto model;
  model.set_ir_version(8);
  schema::GraphProto& graph = *model.mutable_graph();
  for (int i = 0; i < 4000; ++i) {
    const std::string module = "m." + std::to_string(i);
    schema::TensorProto& weight = *graph.add_initializer();
    weight.set_name(module + ".weight");
    weight.set_data_type(1);
    weight.add_dims(2);
    weight.add_dims(2);
    AddNode(graph, "MatMul", "/" + module + "/MatMul",
            {"v" + std::to_string(i), weight.name()},
            {"v" + std::to_string(i + 1)});
  }
  graph.add_input()->set_name("v0");
  graph.add_output()->set_name("v4000");
  model_ = folder_.Write("list.onnx", model.SerializeAsString());
  const Json parts = Split({"--parts", "4"})["parts"];
  ASSERT_EQ(parts.size(), 4u);
  for (const Json& part : parts) {
    EXPECT_NEAR(part["cost"].get<double>(), 16000, 100);
  }
}

TEST_F(ShowSizesTest, ABudgetTakesTheFewestPartsOrNamesWhatDoesNotFit) {
  EXPECT_EQ(Split({"--budget", "600B"})["parts"].size(), 2u);
  EXPECT_EQ(Split({"--budget", "1kB"})["parts"].size(), 1u);
  const CliResult small =
      RunCli({"split", model_, "--budget", "100", "--dry-run"});
  EXPECT_EQ(small.exit, 2);
  EXPECT_THAT(small.err, HasSubstr("mid: 256 B"));
  EXPECT_EQ(RunCli({"split", model_, "--parts", "9", "--dry-run"}).exit, 2);
  EXPECT_EQ(RunCli({"split", model_, "--budget", "two", "--dry-run"}).exit, 2);
  EXPECT_EQ(RunCli({"split", model_, "--dry-run"}).exit, 2);
}

TEST_F(ShowSizesTest, ABudgetPlacesTheFirstModulesOnTheDevice) {
  const CliResult result =
      RunCli({"select", model_, "--for", "layer-ann", "--device", "cuda",
              "--budget", "600", "--format", "text"});
  EXPECT_EQ(result.exit, 0) << result.err;
  EXPECT_EQ(result.out, "cuda(=in, =attend, =mid)\n");
  EXPECT_THAT(result.err, HasSubstr("512 B of 600 B"));
  EXPECT_EQ(
      RunCli({"select", model_, "--for", "layer-ann", "--budget", "9"}).exit,
      1);
}

}  // namespace
}  // namespace onnx_tag::test
