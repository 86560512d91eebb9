// tap, extract and split: what they print, and what they write of models that
// nobody would export.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/generated_model.h"
#include "support/json_schema.h"
#include "support/onnx_models.h"
#include "support/run_cli.h"
#include "support/temporary_folder.h"

namespace onnx_tag::test {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

// Two blocks with a weight each, behind one another, and a shortcut.
constexpr const char* kModel = R"pb(
  ir_version: 8
  producer_name: "pytorch"
  opset_import { version: 17 }
  graph {
    name: "main_graph"
    node {
      op_type: "MatMul"
      name: "/blocks.0/fc/MatMul"
      input: "x"
      input: "blocks.0.fc.weight"
      output: "/blocks.0/fc/MatMul_output_0"
    }
    node {
      op_type: "Relu"
      name: "/blocks.0/act/Relu"
      input: "/blocks.0/fc/MatMul_output_0"
      output: "/blocks.0/act/Relu_output_0"
    }
    node {
      op_type: "MatMul"
      name: "/blocks.1/fc/MatMul"
      input: "/blocks.0/act/Relu_output_0"
      input: "blocks.1.fc.weight"
      output: "/blocks.1/fc/MatMul_output_0"
    }
    node {
      op_type: "Relu"
      name: "/blocks.1/act/Relu"
      input: "/blocks.1/fc/MatMul_output_0"
      output: "/blocks.1/act/Relu_output_0"
    }
    node {
      op_type: "Add"
      name: "/Add"
      input: "/blocks.0/act/Relu_output_0"
      input: "/blocks.1/act/Relu_output_0"
      output: "y"
    }
    initializer {
      name: "blocks.0.fc.weight"
      data_type: 1
      dims: 2
      dims: 2
      raw_data: "0123456789abcdef"
    }
    initializer {
      name: "blocks.1.fc.weight"
      data_type: 1
      dims: 2
      dims: 2
      raw_data: "fedcba9876543210"
    }
    input {
      name: "x"
      type {
        tensor_type {
          elem_type: 1
          shape {
            dim {}
            dim { dim_value: 2 }
          }
        }
      }
    }
    output {
      name: "y"
      type {
        tensor_type {
          elem_type: 1
          shape {
            dim {}
            dim { dim_value: 2 }
          }
        }
      }
    }
  })pb";

schema::ModelProto Read(const std::string& path) {
  schema::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(ReadFile(path))) << path;
  return model;
}

std::vector<std::string> NamesOf(const auto& items) {
  std::vector<std::string> names;
  for (const auto& item : items) names.push_back(item.name());
  return names;
}

void ExpectFits(const std::string& schema, const std::string& text) {
  const JsonSchema checker(Json::parse(
      ReadFile(std::string(ONNX_TAG_DOCS) + "/" + schema + ".schema.json")));
  EXPECT_THAT(checker.Violations(Json::parse(text)), testing::IsEmpty())
      << text;
}

class EditTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) const {
    return folder_.path() + "/" + name;
  }
  TemporaryFolder folder_;
  std::string model_ = folder_.Write("m.onnx", BytesFromText(kModel));
};

// TorchScript merges equal parameters: one module's is a copy of another's.
TEST_F(EditTest, ACopyOfAParameterDoesNotBringItsReaders) {
  const std::string model = folder_.Write(
      "copy.onnx", BytesFromText(R"pb(
        ir_version: 8
        opset_import { version: 17 }
        graph {
          name: "g"
          node {
            op_type: "Identity"
            name: "Identity_0"
            input: "a.bias"
            output: "b.bias"
          }
          node {
            op_type: "Add"
            name: "/b/Add"
            input: "x"
            input: "b.bias"
            output: "/b/Add_output_0"
          }
          node {
            op_type: "Add"
            name: "/a/Add"
            input: "/b/Add_output_0"
            input: "a.bias"
            output: "y"
          }
          initializer { name: "a.bias" data_type: 1 dims: 1 float_data: 0 }
          input {
            name: "x"
            type {
              tensor_type {
                elem_type: 1
                shape { dim { dim_value: 1 } }
              }
            }
          }
          output {
            name: "y"
            type {
              tensor_type {
                elem_type: 1
                shape { dim { dim_value: 1 } }
              }
            }
          }
        })pb"));
  const CliResult result = RunCli(
      {"extract", model, "--module", "a", "-o", Path("e.onnx"), "--json"});
  ASSERT_EQ(result.exit, 0) << result.err;
  EXPECT_EQ(Json::parse(result.out)["inputs"][0]["name"], "/b/Add_output_0");
  EXPECT_THAT(NamesOf(Read(Path("e.onnx")).graph().node()),
              testing::Contains("/a/Add"));
  EXPECT_THAT(NamesOf(Read(Path("e.onnx")).graph().node()),
              testing::Not(testing::Contains("/b/Add")));
}

TEST_F(EditTest, NodesOfOtherModulesAreExtractedOnlyIfAskedFor) {
  const std::string model = folder_.Write("twice.onnx", BytesFromText(R"pb(
                                            ir_version: 8
                                            opset_import { version: 17 }
                                            graph {
                                              name: "g"
                                              node {
                                                op_type: "MatMul"
                                                name: "/a/MatMul"
                                                input: "x"
                                                input: "a.weight"
                                                output: "/a/MatMul_output_0"
                                              }
                                              node {
                                                op_type: "Relu"
                                                name: "/b/Relu"
                                                input: "/a/MatMul_output_0"
                                                output: "/b/Relu_output_0"
                                              }
                                              node {
                                                op_type: "MatMul"
                                                name: "/a/MatMul_1"
                                                input: "/b/Relu_output_0"
                                                input: "a.weight"
                                                output: "y"
                                              }
                                              initializer {
                                                name: "a.weight"
                                                data_type: 1
                                                dims: 2
                                                dims: 2
                                                float_data: 1
                                                float_data: 2
                                                float_data: 3
                                                float_data: 4
                                              }
                                              input {
                                                name: "x"
                                                type {
                                                  tensor_type {
                                                    elem_type: 1
                                                    shape {
                                                      dim { dim_value: 1 }
                                                      dim { dim_value: 2 }
                                                    }
                                                  }
                                                }
                                              }
                                              output {
                                                name: "y"
                                                type {
                                                  tensor_type {
                                                    elem_type: 1
                                                    shape {
                                                      dim { dim_value: 1 }
                                                      dim { dim_value: 2 }
                                                    }
                                                  }
                                                }
                                              }
                                            })pb"));
  std::vector<std::string> words = {"extract", model, "--module",
                                    "a",       "-o",  Path("e.onnx")};
  const CliResult refused = RunCli(words);
  EXPECT_EQ(refused.exit, 1);
  EXPECT_THAT(refused.err, HasSubstr("1 node of other modules run between "
                                     "nodes of a: b\n  --with-neighbours"));
  EXPECT_FALSE(std::filesystem::exists(Path("e.onnx")));
  words.emplace_back("--with-neighbours");
  EXPECT_EQ(RunCli(words).exit, 0);
  EXPECT_EQ(Read(Path("e.onnx")).graph().node_size(), 3);
}

TEST_F(EditTest, TapAddsOutputsAndChangesNothingElse) {
  const CliResult result = RunCli(
      {"tap", model_, "--module", "blocks.*", "-o", Path("t.onnx"), "--json"});
  ASSERT_EQ(result.exit, 0) << result.err;
  ExpectFits("tap", result.out);
  schema::ModelProto tapped = Read(Path("t.onnx"));
  ASSERT_EQ(tapped.graph().output_size(), 3);
  EXPECT_EQ(tapped.graph().output(1).name(), "blocks.0");
  EXPECT_EQ(tapped.graph().output(1).type().tensor_type().shape().dim_size(),
            2);
  EXPECT_EQ(tapped.graph().node(5).input(0), "/blocks.0/act/Relu_output_0");
  // Without what was added it is the model.
  tapped.mutable_graph()->mutable_node()->DeleteSubrange(5, 2);
  tapped.mutable_graph()->mutable_output()->DeleteSubrange(1, 2);
  EXPECT_EQ(tapped.SerializeAsString(), BytesFromText(kModel));
}

// A pass that removes equal nodes leaves the mask of all layers in one of them.
TEST_F(EditTest, AResultOnEightBitsComesBeforeAMaskForOthers) {
  const std::string model = folder_.Write(
      "q.onnx", BytesFromText(R"pb(
        ir_version: 8
        opset_import { version: 17 }
        graph {
          name: "g"
          input {
            name: "x"
            type {
              tensor_type {
                elem_type: 1
                shape {
                  dim { dim_value: 2 }
                  dim { dim_value: 4 }
                }
              }
            }
          }
          output {
            name: "y"
            type { tensor_type { elem_type: 1 } }
          }
          initializer {
            name: "blocks.0.fc.weight"
            data_type: 1
            dims: 4
            dims: 4
          }
          initializer {
            name: "blocks.1.fc.weight"
            data_type: 1
            dims: 4
            dims: 4
          }
          initializer { name: "s" data_type: 1 float_data: 1 }
          initializer { name: "z" data_type: 3 int32_data: 0 }
          initializer { name: "low" data_type: 1 float_data: -1e38 }
          initializer { name: "zero" data_type: 1 float_data: 0 }
          node {
            op_type: "IsNaN"
            name: "/blocks.0/IsNaN"
            input: "x"
            output: "nan"
          }
          node {
            op_type: "Where"
            name: "/blocks.0/Where"
            input: "nan"
            input: "low"
            input: "zero"
            output: "mask"
          }
          node {
            op_type: "MatMul"
            name: "/blocks.0/fc/MatMul"
            input: "x"
            input: "blocks.0.fc.weight"
            output: "p"
          }
          node {
            op_type: "Add"
            name: "/blocks.0/Add"
            input: "p"
            input: "mask"
            output: "a"
          }
          node {
            op_type: "QuantizeLinear"
            name: "/blocks.0/QuantizeLinear"
            input: "a"
            input: "s"
            input: "z"
            output: "q"
          }
          node {
            op_type: "DequantizeLinear"
            name: "/blocks.1/DequantizeLinear"
            input: "q"
            input: "s"
            input: "z"
            output: "d"
          }
          node {
            op_type: "MatMul"
            name: "/blocks.1/fc/MatMul"
            input: "d"
            input: "blocks.1.fc.weight"
            output: "r"
          }
          node {
            op_type: "Add"
            name: "/blocks.1/Add"
            input: "r"
            input: "mask"
            output: "y"
          }
        })pb"));
  const CliResult result =
      RunCli({"tap", model, "--module", "blocks.0", "--dry-run", "--json"});
  ASSERT_EQ(result.exit, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr(R"("output": "blocks.0", "value": "q")"));
}

TEST_F(EditTest, PartsHaveTheirOwnWeightsAndFitTogether) {
  const CliResult result = RunCli({"split", model_, "--at", "blocks.1",
                                   "--out-dir", Path("parts"), "--json"});
  ASSERT_EQ(result.exit, 0) << result.err;
  ExpectFits("split", result.out);
  const schema::ModelProto first = Read(Path("parts/m.part0.onnx"));
  const schema::ModelProto second = Read(Path("parts/m.part1.onnx"));
  EXPECT_EQ(NamesOf(first.graph().initializer()),
            std::vector<std::string>{"blocks.0.fc.weight"});
  EXPECT_EQ(NamesOf(second.graph().initializer()),
            std::vector<std::string>{"blocks.1.fc.weight"});
  EXPECT_EQ(NamesOf(first.graph().output()), NamesOf(second.graph().input()));
  EXPECT_EQ(NamesOf(second.graph().output()), std::vector<std::string>{"y"});
}

TEST_F(EditTest, ExtractWritesTheModule) {
  const CliResult result = RunCli({"extract", model_, "--module", "blocks.1",
                                   "-o", Path("e.onnx"), "--json"});
  ASSERT_EQ(result.exit, 0) << result.err;
  ExpectFits("extract", result.out);
  const schema::ModelProto part = Read(Path("e.onnx"));
  EXPECT_EQ(
      NamesOf(part.graph().node()),
      (std::vector<std::string>{"/blocks.1/fc/MatMul", "/blocks.1/act/Relu"}));
  EXPECT_EQ(part.graph().initializer(0).raw_data(), "fedcba9876543210");
}

TEST_F(EditTest, ExistingModelsAreReplacedWithForceOnly) {
  const std::string tagged = Path("tagged.onnx");
  ASSERT_EQ(RunCli({"tag", model_, "-o", tagged, "-q"}).exit, 0);
  // Even one of ours.
  const CliResult refused =
      RunCli({"extract", model_, "--module", "blocks.1", "-o", tagged});
  EXPECT_EQ(refused.exit, 4);
  EXPECT_THAT(refused.err, HasSubstr("--force"));
  EXPECT_EQ(RunCli({"extract", model_, "--module", "blocks.1", "-o", tagged,
                    "--force"})
                .exit,
            0);
  EXPECT_EQ(
      RunCli({"tap", model_, "--module", "blocks.1", "-o", model_, "--force"})
          .exit,
      4);
}

TEST_F(EditTest, PartsAreWrittenAllOrNone) {
  std::filesystem::create_directory(Path("parts"));
  folder_.Write("parts/m.part1.onnx", "mine");
  EXPECT_EQ(
      RunCli({"split", model_, "--at", "blocks.1", "--out-dir", Path("parts")})
          .exit,
      4);
  EXPECT_FALSE(std::filesystem::exists(Path("parts/m.part0.onnx")));
}

TEST_F(EditTest, WeightsBesideTheModelNeedAChoiceAndAreCopied) {
  schema::ModelProto model = ModelFromText(kModel);
  schema::TensorProto& weight = *model.mutable_graph()->mutable_initializer(1);
  weight.clear_raw_data();
  weight.set_data_location(1);  // EXTERNAL
  schema::StringStringEntryProto& location = *weight.add_external_data();
  location.set_key("location");
  location.set_value("w.bin");
  const std::string path = folder_.Write("ext.onnx", model.SerializeAsString());
  folder_.Write("w.bin", "fedcba9876543210");
  std::filesystem::create_directory(Path("out"));
  const std::vector<std::string> words = {"extract",  path, "--module",
                                          "blocks.1", "-o", Path("out/e.onnx")};
  EXPECT_EQ(RunCli(words).exit, 4);
  std::vector<std::string> copy = words;
  copy.insert(copy.end(), {"--data", "copy"});
  EXPECT_EQ(RunCli(copy).exit, 0);
  EXPECT_EQ(ReadFile(Path("out/e.onnx.data")), "fedcba9876543210");
}

// Whatever the names and edges, a command ends with a verdict, and what it
// writes can be read.
TEST_F(EditTest, HostileModelsEndInAVerdict) {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::string path = folder_.Write(
        "h.onnx", GeneratedModel(random, true).SerializeAsString());
    for (const std::string pattern : {"**", "*"}) {
      const CliResult tap = RunCli({"tap", path, "--module", pattern, "-o",
                                    Path("h.out.onnx"), "--force", "--json"});
      EXPECT_LE(tap.exit, 1) << tap.err;
      if (tap.exit == 0) {
        ExpectFits("tap", tap.out);
        Read(Path("h.out.onnx"));
      }
    }
    const CliResult whole = RunCli({"extract", path, "--module", "", "-o",
                                    Path("h.out.onnx"), "--force", "--json"});
    EXPECT_LE(whole.exit, 2) << whole.err;
    if (whole.exit == 0) Read(Path("h.out.onnx"));
  }
}

}  // namespace
}  // namespace onnx_tag::test
