// What `show` prints stays a picture: within 80 columns, and not too long.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "support/onnx_models.h"
#include "support/run_cli.h"
#include "support/temporary_folder.h"

namespace onnx_tag::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::size_t Columns(const std::string& line) {
  return static_cast<std::size_t>(std::count_if(
      line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

// `count` modules with a node each, in groups of ten whose names differ.
std::string ManyModules(const TemporaryFolder& folder, int count) {
  schema::ModelProto model;
  model.set_ir_version(8);
  model.set_producer_name("pytorch");
  for (int i = 0; i < count; ++i) {
    const std::string name = "/group" + std::to_string(i / 100) + "/part" +
                             std::to_string(i / 10) + "/leaf" +
                             std::to_string(i) + "/Relu";
    AddNode(*model.mutable_graph(), "Relu", name, {"x"}, {name + "_output_0"});
  }
  return folder.Write("many.onnx", model.SerializeAsString());
}

TEST(ShowTest, BertFitsEightyColumns) {
  const CliResult result = RunCli(
      {"show", std::string(ONNX_TAG_TEST_MODELS) + "/bert_tiny/model.onnx"});
  EXPECT_EQ(result.exit, 0);
  EXPECT_THAT(result.out, HasSubstr("layer.0-1  BertLayer"));
  EXPECT_THAT(result.out, HasSubstr("×2"));
  for (const std::string& line : Lines(result.out)) {
    EXPECT_LE(Columns(line), 80u) << line;
  }
}

// Tags that exist say nothing of how the user wants the model mapped.
TEST(ShowTest, AnOptionOfMappingMapsWhateverTagsThereAre) {
  const TemporaryFolder folder;
  const std::string tagged = folder.path() + "/tagged.onnx";
  ASSERT_EQ(RunCli({"tag",
                    std::string(ONNX_TAG_TEST_MODELS) + "/bert_tiny/model.onnx",
                    "-o", tagged, "--no-sidecar"})
                .exit,
            0);
  EXPECT_THAT(RunCli({"show", tagged}).err, HasSubstr("tags in the file"));
  const CliResult without = RunCli({"show", tagged, "--no-catalogue"});
  EXPECT_THAT(without.err, Not(HasSubstr("tags in the file")));
  EXPECT_THAT(without.out, Not(HasSubstr("BertModel")));
  EXPECT_THAT(RunCli({"show", tagged, "--min-confidence", "certain"}).out,
              HasSubstr("202 certain\n"));
}

TEST(ShowTest, AThousandModulesAreShownAsDeepAsFits) {
  const TemporaryFolder folder;
  const std::string path = ManyModules(folder, 1000);
  const CliResult result = RunCli({"show", path});
  const std::vector<std::string> lines = Lines(result.out);
  EXPECT_LT(lines.size(), 230u);
  EXPECT_GT(lines.size(), 100u);
  EXPECT_THAT(result.out, HasSubstr("--depth N shows more"));
  EXPECT_THAT(result.out, HasSubstr(" 1,000\n\n")) << "the nodes of a role";
  EXPECT_GT(Lines(RunCli({"show", path, "--depth", "9"}).out).size(), 1000u);
  for (const std::string& line : lines) EXPECT_LE(Columns(line), 80u) << line;
}

// x[N,4] * w[4,4], then Relu.
std::string ModelWithNamedDimension(const TemporaryFolder& folder) {
  schema::ModelProto model;
  model.set_ir_version(8);
  model.set_producer_name("pytorch");
  schema::GraphProto& graph = *model.mutable_graph();
  schema::ValueInfoProto& input = *graph.add_input();
  input.set_name("x");
  auto& type = *input.mutable_type()->mutable_tensor_type();
  type.set_elem_type(1);
  type.mutable_shape()->add_dim()->set_dim_param("N");
  type.mutable_shape()->add_dim()->set_dim_value(4);
  schema::TensorProto& weight = *graph.add_initializer();
  weight.set_name("fc.weight");
  weight.set_data_type(1);
  weight.add_dims(4);
  weight.add_dims(4);
  AddNode(graph, "MatMul", "/fc/MatMul", {"x", "fc.weight"}, {"y"});
  AddNode(graph, "Relu", "/act/Relu", {"y"}, {"z"});
  return folder.Write("named.onnx", model.SerializeAsString());
}

TEST(ShowTest, CountsFlopsWhereShapesAreKnown) {
  const TemporaryFolder folder;
  const std::string path = ModelWithNamedDimension(folder);
  const std::string assumed = RunCli({"show", path}).out;
  EXPECT_THAT(assumed, HasSubstr("  weights     64 B\n"));
  EXPECT_THAT(assumed, HasSubstr("  FLOPs       36 for assumed N=1\n"));
  const std::string known = RunCli({"show", path, "--shape", "x=3,4"}).out;
  // 2 * 3 * 4 * 4 for the product, 3 * 4 for Relu.
  EXPECT_THAT(known, HasSubstr("  FLOPs       108 for N=3\n"));
  EXPECT_THAT(known, HasSubstr("  88.9 %"));
  EXPECT_THAT(RunCli({"show", path, "--shape", "x=3,4", "--json"}).out,
              HasSubstr("\"total_flops\": 96"));
  EXPECT_THAT(RunCli({"diff", path, path, "--shape", "x=3,4"}).out,
              HasSubstr("   16 parameters, 64 B; FLOPs 108 for N=3\n"));
  EXPECT_EQ(RunCli({"show", path, "--shape", "y=3"}).exit, 2);
}

TEST(ShowTest, ColoursOnlyWhereAskedFor) {
  const std::string path =
      std::string(ONNX_TAG_TEST_MODELS) + "/bert_tiny/model.onnx";
  EXPECT_THAT(RunCli({"show", path}).out, Not(HasSubstr("\x1b[")));
  const std::string colored = RunCli({"show", path, "--color", "always"}).out;
  EXPECT_THAT(colored, HasSubstr("\x1b[32m█"));
  EXPECT_THAT(colored, HasSubstr("\x1b[36mBertEncoder"));
}

}  // namespace
}  // namespace onnx_tag::test
