// What commands print for programs: JSON as the schemas in docs/ say, and
// formats of others that their readers would take, whatever the names are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/tagging/sidecar.h"
#include "support/generated_model.h"
#include "support/json_schema.h"
#include "support/onnx_models.h"
#include "support/run_cli.h"
#include "support/temporary_folder.h"

namespace onnx_tag::test {
namespace {

using ::testing::ElementsAre;
using Json = nlohmann::json;

JsonSchema SchemaOf(const std::string& name) {
  return JsonSchema(Json::parse(
      ReadFile(std::string(ONNX_TAG_DOCS) + "/" + name + ".schema.json")));
}

Json Parsed(const std::string& text) { return Json::parse(text); }

// A model nobody would export, with a sidecar of tags nobody would give.
std::string HostileSidecar(const TemporaryFolder& folder, std::uint32_t seed) {
  Random random(seed);
  const std::string bytes = GeneratedModel(random, false).SerializeAsString();
  const Model model = ReadModel(bytes);
  const Tagging tagging = HostileTagging(model, seed);
  std::string json;
  WriteSidecar(model, tagging, AboutModel("m.onnx", model, tagging),
               [&](Bytes part) { json.append(part); });
  return folder.Write("m.tags.json", json);
}

class JsonOutputTest : public testing::TestWithParam<std::string> {
 protected:
  JsonOutputTest()
      : path_(folder_.Write(
            GetParam() + ".onnx",
            BytesFromText(ReadFile(std::string(ONNX_TAG_TEST_MODELS) + "/" +
                                   GetParam() + ".textproto")))) {}

  void ExpectFits(const std::string& schema, std::vector<std::string> words) {
    EXPECT_TRUE(FitsIfAny(schema, words)) << testing::PrintToString(words);
  }

  // False if the command prints nothing and says why: a tool cannot have the
  // selection.
  bool FitsIfAny(const std::string& schema, std::vector<std::string> words) {
    words.insert(words.begin() + 1, path_);
    const CliResult result = RunCli(words);
    if (result.out.empty() && result.exit == 1) {
      EXPECT_NE(result.err, "") << testing::PrintToString(words);
      return false;
    }
    EXPECT_THAT(SchemaOf(schema).Violations(Parsed(result.out)), ElementsAre())
        << testing::PrintToString(words);
    return true;
  }

  TemporaryFolder folder_;
  std::string path_;
};

TEST_P(JsonOutputTest, IsWhatTheSchemaSays) {
  ExpectFits("show", {"show", "--json"});
  ExpectFits("show", {"show", "--json", "--nodes", "--depth", "1"});
  ExpectFits("query", {"query", "op=** or untagged", "--json"});
  ExpectFits("query", {"query", "op=Nothing", "--json"});
  ExpectFits("query", {"query", "op=**", "--by", "layer,op", "--json"});
  ExpectFits("show", {"show", "--by", "role", "--json"});
  ExpectFits("show", {"show", "--by", "line", "--json"});
  ExpectFits("explain", {"explain", "#0", "--json"});
  ExpectFits("explain", {"explain", "#0", "--frames", "--json"});
  ExpectFits("diff", {"diff", path_, "--json"});
  ExpectFits("strategies", {"strategies", "--json"});
  ExpectFits("netron-attachment", {"export", "--to", "netron"});
  for (const std::string tool :
       {"names", "ort-quant", "layer-ann", "olive", "polygraphy", "modelopt",
        "nncf", "neural-compressor", "fp16"}) {
    FitsIfAny("select", {"select", "not untagged", "--for", tool, "--json",
                         "--skip-unaddressable"});
    FitsIfAny("select",
              {"select", "op=MatMul or op=Relu", "--for", tool, "--json"});
    // Every tool can have the nodes of a layer.
    if (GetParam() != "bert_layer") continue;
    ExpectFits("select",
               {"select", "under=encoder.layer.0", "--for", tool, "--json"});
  }
}

// A line for each name in a text that has all names of the model.
TEST_P(JsonOutputTest, OfNamesInATextIsWhatTheSchemaSays) {
  const Json nodes =
      Parsed(RunCli({"query", path_, "op=** or untagged", "--json"}).out);
  std::string text;
  for (const Json& node : nodes["nodes"]) {
    text += "'" + node["name"].get<std::string>() + "'\n";
  }
  const std::string out =
      RunCli({"filt", path_, "--format", "json"}, text, true).out;
  for (const std::string& line : Lines(out)) {
    EXPECT_THAT(SchemaOf("filt").Violations(Parsed(line)), ElementsAre())
        << line;
  }
}

TEST_P(JsonOutputTest, OfNewModelsIsWhatTheSchemaSays) {
  ExpectFits("strip", {"strip", "--private", "--check", "--json"});
  ExpectFits("weights", {"weights", "--json"});
  ExpectFits("tap", {"tap", "--module", "**", "-o", folder_ / "tap", "--json"});
  ExpectFits("tap", {"tap", "--module", "**", "--inputs", "-o",
                     folder_ / "inputs", "--json"});
  if (GetParam() != "bert_layer") return;
  ExpectFits("extract", {"extract", "--module", "encoder.layer.0", "-o",
                         folder_ / "extract", "--json"});
  ExpectFits("split", {"split", "--at", "encoder.layer.0", "--out-dir",
                       folder_.path(), "--json"});
  const std::string numbers = folder_.Write(
      "numbers.tsv", "/encoder/layer.0/attention/self/Softmax\t1.5\nx\t2\n");
  ExpectFits("profile", {"profile", numbers, "--json"});
  ExpectFits("profile",
             {"profile", numbers, numbers, "--by", "node", "--json"});
  // Two runs on two providers, and a kernel that the model does not have.
  std::string events;
  for (const char* const begin : {"0", "100"}) {
    events += std::string(R"({"cat":"Session","name":"model_run","ts":)") +
              begin + R"(,"dur":90,"args":{}},)";
    for (const char* const kernel :
         {R"("/encoder/layer.0/attention/self/Softmax","dur":30,"args":{)"
          R"("op_name":"Softmax","provider":"CPUExecutionProvider"})",
          R"("/encoder/layer.0/attention/self/query/MatMul","dur":40,"args":{)"
          R"("op_name":"MatMul","provider":"CUDAExecutionProvider"})",
          R"("Memcpy","dur":20,"args":{)"
          R"("op_name":"MemcpyToHost","provider":"CUDAExecutionProvider"})"}) {
      std::string text = kernel;
      text.insert(text.find("\","), "_kernel_time");
      events += R"({"cat":"Node","ts":)" + std::string(begin) + R"(,"name":)" +
                text + "},";
    }
  }
  events.back() = ']';
  const std::string profile = folder_.Write("profile.json", "[" + events);
  for (const std::string by :
       {"module", "class", "layer", "role", "node", "line", "op", "provider"}) {
    ExpectFits("profile", {"profile", profile, "--by", by, "--json"});
    ExpectFits("profile", {"profile", profile, profile, "--by", by, "--json"});
  }
  const std::string devices =
      folder_.Write("devices.tsv",
                    "node\tdevice\tms\n/encoder/layer.0/attention/self/"
                    "Softmax\tnpu\t1.5\nx\tcpu\t2\n");
  ExpectFits("profile", {"profile", devices, "--by", "device", "--json"});
}

INSTANTIATE_TEST_SUITE_P(Models, JsonOutputTest,
                         testing::Values("bert_layer", "control_flow",
                                         "hostile_names", "no_scopes",
                                         "traced"));

TEST(StrategiesTest, TheListIsWhatTheSchemaSays) {
  const Json list = Parsed(RunCli({"strategies", "--json"}).out);
  EXPECT_EQ(list.size(), 5u);
  EXPECT_THAT(SchemaOf("strategies").Violations(list), ElementsAre());
}

// These tools take the names of what they leave alone.
TEST(SelectTest, AnUnnamedNodeCannotBeLeftOut) {
  const TemporaryFolder folder;
  const std::string model = folder.Write(
      "m.onnx",
      BytesFromText(
          R"pb(graph {
                 node { op_type: "Relu" name: "a" input: "x" output: "v" }
                 node { op_type: "Neg" input: "v" output: "y" }
               })pb"));
  for (const std::string tool : {"nncf", "neural-compressor", "fp16"}) {
    const CliResult refused =
        RunCli({"select", model, "name=a", "--for", tool});
    EXPECT_EQ(refused.exit, 1) << tool;
    EXPECT_EQ(refused.out, "") << tool;
    EXPECT_THAT(refused.err, testing::HasSubstr("#1  Neg: it has no name"));
    EXPECT_EQ(
        RunCli({"select", model, "name=a", "--for", tool, "--exclude"}).exit,
        0);
  }
}

TEST(HostileOutputTest, JsonStaysWhatTheSchemaSays) {
  const TemporaryFolder folder;
  for (std::uint32_t seed = 1; seed < 8; ++seed) {
    const std::string path = HostileSidecar(folder, seed);
    const CliResult show = RunCli({"show", path, "--json", "--nodes"});
    EXPECT_THAT(SchemaOf("show").Violations(Parsed(show.out)), ElementsAre());
    const CliResult query = RunCli({"query", path, "op=**", "--json"});
    EXPECT_THAT(SchemaOf("query").Violations(Parsed(query.out)), ElementsAre());
    const CliResult netron = RunCli({"export", path, "--to", "netron"});
    EXPECT_THAT(SchemaOf("netron-attachment").Violations(Parsed(netron.out)),
                ElementsAre());
  }
}

bool IsPlain(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return c == '\n' || c == '\t' || static_cast<unsigned char>(c) >= 0x20;
  });
}

TEST(HostileOutputTest, ExportsStayWhatTheirReadersTake) {
  const TemporaryFolder folder;
  for (std::uint32_t seed = 1; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    const std::string path = HostileSidecar(folder, seed);
    const std::string xml = RunCli({"export", path, "--to", "graphml"}).out;
    EXPECT_TRUE(IsPlain(xml));
    EXPECT_TRUE(IsWellFormed(xml));
    const std::string tsv = RunCli({"export", path, "--to", "tsv"}).out;
    EXPECT_TRUE(IsPlain(tsv));
    std::size_t tabs = 0;
    for (const char c : tsv) {
      if (c == '\t') ++tabs;
      if (c != '\n') continue;
      EXPECT_EQ(tabs, 18u);
      tabs = 0;
    }
    for (const CliResult& said :
         {RunCli({"show", path, "--nodes"}), RunCli({"query", path, "op=**"}),
          RunCli({"query", path, "name=nothing"})}) {
      EXPECT_TRUE(IsPlain(said.out));
      EXPECT_TRUE(IsPlain(said.err));
    }
  }
}

}  // namespace
}  // namespace onnx_tag::test
