// transfer, diff, check and profile, asked as a user asks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/json_schema.h"
#include "support/onnx_models.h"
#include "support/run_cli.h"
#include "support/temporary_folder.h"
#include "support/truth.h"

namespace onnx_tag::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const std::string kTruth = ONNX_TAG_TEST_FOLDER "/truth/";
const std::string kProfiles = ONNX_TAG_TEST_FOLDER "/uses/profile/data/";

std::vector<std::string> Breaks(const std::string& schema,
                                const std::string& document) {
  const json rules =
      json::parse(ReadFile(ONNX_TAG_DOCS "/" + schema + ".schema.json"));
  return JsonSchema(rules).Violations(json::parse(document));
}

class CarryTest : public testing::Test {
 protected:
  std::string In(const std::string& name) { return folder_ / name; }
  std::string Tagged(const std::string& model) {
    const std::string path = In("tagged.onnx");
    EXPECT_EQ(RunCli({"tag", kTruth + model, "-o", path, "--force"}).exit, 0);
    return path;
  }
  TemporaryFolder folder_;
};

TEST_F(CarryTest, TransferWritesWhatTagWrites) {
  const std::string from = Tagged("bert/ts.onnx");
  const CliResult result =
      RunCli({"transfer", from, kTruth + "bert/ts-ortext.onnx", "-o",
              In("to.onnx"), "--json", "--min-coverage", "100"});
  EXPECT_EQ(result.exit, 0) << result.err;
  EXPECT_THAT(Breaks("transfer", result.out), testing::IsEmpty());
  EXPECT_EQ(RunCli({"check", In("to.onnx"), "--min-coverage", "100"}).exit, 0);
  const CliResult again =
      RunCli({"transfer", In("tagged.tags.json"),
              kTruth + "bert/ts-ortext.onnx", "-o", In("to.onnx")});
  EXPECT_THAT(again.out, HasSubstr("unchanged"));
  const CliResult stripped =
      RunCli({"strip", In("to.onnx"), "-o", In("stripped.onnx")});
  EXPECT_EQ(stripped.exit, 0);
  EXPECT_EQ(ReadFile(In("stripped.onnx")),
            ReadFile(kTruth + "bert/ts-ortext.onnx"));
}

TEST_F(CarryTest, TransferWarnsOfStrangers) {
  const CliResult result =
      RunCli({"transfer", kTruth + "bert/ts.onnx", kTruth + "vit/ts.onnx",
              "--sidecar", "-", "--sidecar-only"});
  EXPECT_THAT(result.err, HasSubstr("are they versions of the same model?"));
}

TEST_F(CarryTest, DiffOfEqualTagsIsEmpty) {
  const std::string from = Tagged("bert/ts.onnx");
  const CliResult result = RunCli({"diff", from, In("tagged.tags.json")});
  EXPECT_EQ(result.exit, 0) << result.out;
  EXPECT_THAT(result.out, HasSubstr("no difference"));
}

TEST_F(CarryTest, DiffFoldsLayersThatChangedAlike) {
  const std::string a = kTruth + "bert/ts.onnx";
  const std::string b = kTruth + "bert/ts-qdyn.onnx";
  const CliResult text = RunCli({"diff", a, b});
  EXPECT_EQ(text.exit, 1);
  EXPECT_THAT(text.out, HasSubstr("encoder.layer.{0-1}.attention.self.query"));
  EXPECT_THAT(text.out, HasSubstr("MatMul -> MatMulInteger"));
  const CliResult markdown = RunCli({"diff", a, b, "--format", "markdown"});
  EXPECT_THAT(markdown.out, HasSubstr("| module | A | B | what |"));
  const CliResult asked = RunCli({"diff", a, b, "--json"});
  EXPECT_THAT(Breaks("diff", asked.out), testing::IsEmpty());
  const json document = json::parse(asked.out);
  EXPECT_FALSE(document["equal"]);
  EXPECT_EQ(
      document["b"]["nodes"].get<int>() - document["a"]["nodes"].get<int>(),
      document["added"].get<int>() - document["removed"].get<int>());
}

TEST_F(CarryTest, DiffFindsTagsThatMoved) {
  const std::string from = Tagged("bert/ts.onnx");
  std::string sidecar = ReadFile(In("tagged.tags.json"));
  const std::string old = "\"module\": \"bert.pooler.dense\"";
  ASSERT_NE(sidecar.find(old), std::string::npos);
  sidecar.replace(sidecar.find(old), old.size(), "\"module\": \"bert.pooler\"");
  folder_.Write("moved.tags.json", sidecar);
  const CliResult result =
      RunCli({"diff", from, In("moved.tags.json"), "--json"});
  EXPECT_EQ(result.exit, 1);
  EXPECT_THAT(Breaks("diff", result.out), testing::IsEmpty());
  const json document = json::parse(result.out);
  ASSERT_EQ(document["moved"].size(), 1u);
  EXPECT_EQ(document["moved"][0]["a"]["module"], "bert.pooler.dense");
  EXPECT_EQ(document["moved"][0]["b"]["module"], "bert.pooler");
  const CliResult check =
      RunCli({"check", from, "--sidecar", In("moved.tags.json"), "--json"});
  EXPECT_EQ(check.exit, 1);
  EXPECT_THAT(Breaks("check", check.out), testing::IsEmpty());
  // The counts of both modules are wrong as well.
  EXPECT_EQ(json::parse(check.out)["findings"].back()["rule"],
            "sidecar-differs");
}

TEST_F(CarryTest, CheckFindsBadEntries) {
  schema::ModelProto model;
  model.ParseFromString(ReadFile(Tagged("bert/ts.onnx")));
  auto* graph = model.mutable_graph();
  const auto add = [&](int node, const char* key, const char* value) {
    auto* entry = graph->mutable_node(node)->add_metadata_props();
    entry->set_key(key);
    entry->set_value(value);
  };
  add(0, "pkg.onnx_tag.modul", "x");
  add(1, "pkg.onnx_tag.module", "y");
  add(2, "pkg.onnx_tag.confidence", "sure");
  graph->mutable_node(3)->clear_metadata_props();
  add(3, "pkg.onnx_tag.module", "z");
  folder_.Write("bad.onnx", model.SerializeAsString());
  const CliResult result = RunCli({"check", In("bad.onnx"), "--json"});
  EXPECT_EQ(result.exit, 1);
  EXPECT_THAT(Breaks("check", result.out), testing::IsEmpty());
  for (const char* rule :
       {"unknown-key", "duplicate-key", "bad-value", "incomplete-tag"}) {
    EXPECT_THAT(result.out, HasSubstr(rule));
  }
  const CliResult text = RunCli({"check", In("bad.onnx")});
  EXPECT_THAT(text.out, HasSubstr("#0 Constant"));
  EXPECT_THAT(text.out, HasSubstr("[unknown-key]"));
}

TEST_F(CarryTest, ARecordOfNewNamesIsCheckedBeforeItIsUndone) {
  schema::ModelProto model = ModelFromText(R"(
    ir_version: 8 producer_name: "pytorch" producer_version: "2.5"
    opset_import { version: 17 }
    metadata_props { key: "pkg.onnx_tag.renamed"
                     value: "{\"fc.weight\": \"onnx::MatMul_7\"}" }
    graph {
      name: "g"
      node { op_type: "MatMul" name: "/fc/MatMul" input: "x"
             input: "fc.weight" output: "y" }
      initializer { name: "fc.weight" data_type: 1 dims: 1 float_data: 1 }
      input { name: "x" } output { name: "y" }
    })");
  const std::string renamed =
      folder_.Write("renamed.onnx", model.SerializeAsString());
  EXPECT_EQ(RunCli({"check", renamed}).exit, 0);
  EXPECT_EQ(RunCli({"strip", renamed, "-o", In("back.onnx")}).exit, 0);
  EXPECT_THAT(ReadFile(In("back.onnx")), HasSubstr("onnx::MatMul_7"));
  EXPECT_THAT(ReadFile(In("back.onnx")), testing::Not(HasSubstr("fc.weight")));

  // Another program has given the old name to an initializer of its own.
  model.mutable_graph()->add_initializer()->set_name("onnx::MatMul_7");
  folder_.Write("stale.onnx", model.SerializeAsString());
  const CliResult strip =
      RunCli({"strip", In("stale.onnx"), "-o", In("broken.onnx")});
  EXPECT_EQ(strip.exit, 4);
  EXPECT_THAT(strip.err, HasSubstr("stale.onnx: its record of renamed"));
  EXPECT_THAT(strip.err, HasSubstr("that name is taken"));
  EXPECT_FALSE(std::filesystem::exists(In("broken.onnx")));
  const CliResult check = RunCli({"check", In("stale.onnx")});
  EXPECT_EQ(check.exit, 1);
  EXPECT_THAT(check.out, HasSubstr("[bad-value]"));
}

TEST_F(CarryTest, CheckFindsStaleTagsAndOtherGraphs) {
  schema::ModelProto model;
  model.ParseFromString(ReadFile(Tagged("bert/ts.onnx")));
  for (auto& node : *model.mutable_graph()->mutable_node()) {
    if (node.name() != "/bert/pooler/activation/Tanh") continue;
    for (auto& entry : *node.mutable_metadata_props()) {
      if (entry.key() == "pkg.onnx_tag.module")
        entry.set_value("bert.embeddings");
    }
  }
  folder_.Write("stale.onnx", model.SerializeAsString());
  const CliResult stale = RunCli({"check", In("stale.onnx")});
  EXPECT_EQ(stale.exit, 1);
  EXPECT_THAT(stale.out, HasSubstr("[stale-tag]"));
  const CliResult other =
      RunCli({"check", kTruth + "bert/ts-slim.onnx", "--sidecar",
              In("tagged.tags.json"), "--format", "github"});
  EXPECT_EQ(other.exit, 1);
  EXPECT_THAT(other.out, HasSubstr("::error"));
  EXPECT_THAT(other.out, HasSubstr("[other-graph]"));
}

// The recipe book would place a node elsewhere.
TEST_F(CarryTest, CheckAcceptsGuessesThatMoreNamesContradict) {
  const std::string bart =
      ONNX_TAG_TEST_FOLDER "/models/bart_without_metadata.onnx";
  ASSERT_EQ(RunCli({"tag", bart, "--no-recipes", "-o", In("guess.onnx")}).exit,
            0);
  const CliResult guess = RunCli({"check", In("guess.onnx")});
  EXPECT_EQ(guess.exit, 0) << guess.out;
}

TEST_F(CarryTest, CheckCountsWhatASidecarCounts) {
  Tagged("bert/ts.onnx");
  std::string sidecar = ReadFile(In("tagged.tags.json"));
  const std::size_t at = sidecar.rfind("\"tagged\": 149");
  ASSERT_NE(at, std::string::npos);
  sidecar.replace(at, 13, "\"tagged\": 140");
  folder_.Write("wrong.tags.json", sidecar);
  const CliResult result = RunCli({"check", In("wrong.tags.json")});
  EXPECT_EQ(result.exit, 1);
  EXPECT_THAT(result.out, HasSubstr("[wrong-count]"));
}

TEST_F(CarryTest, CheckCountsTheNodesOfEachModule) {
  Tagged("bert/ts.onnx");
  const std::string sidecar = ReadFile(In("tagged.tags.json"));
  const std::size_t row = sidecar.find("\"path\": \"bert.embeddings\"");
  ASSERT_NE(row, std::string::npos);
  for (const std::string key : {"nodes", "total_nodes"}) {
    SCOPED_TRACE(key);
    const std::string before = "\"" + key + "\": ";
    const std::size_t at = sidecar.find(before, row) + before.size();
    std::string wrong = sidecar;
    folder_.Write("wrong.tags.json", wrong.insert(at, "7"));
    const CliResult result = RunCli({"check", In("wrong.tags.json")});
    EXPECT_EQ(result.exit, 1);
    EXPECT_THAT(result.out, HasSubstr("module bert.embeddings has 7"));
    EXPECT_THAT(result.out, HasSubstr("tag the model again"));
    EXPECT_THAT(result.out, HasSubstr("1 finding\n"));
  }
}

TEST_F(CarryTest, CheckMeetsGates) {
  EXPECT_EQ(RunCli({"check", kTruth + "bert/ts.onnx", "--min-coverage", "100",
                    "--require-module", "bert.encoder.layer.*"})
                .exit,
            0);
  const CliResult result =
      RunCli({"check", kTruth + "bert/ts.onnx", "--require-module", "decoder"});
  EXPECT_EQ(result.exit, 1);
  EXPECT_THAT(result.out, HasSubstr("[gate]"));
}

class ProfileTest : public testing::TestWithParam<std::string> {};

TEST_P(ProfileTest, AddsUpToTheTopLevelKernels) {
  const std::string profile = kProfiles + GetParam();
  // Independent of the program: what is in no branch.
  std::int64_t expected = 0;
  for (const json& event : json::parse(ReadFile(profile))) {
    const std::string name = event["name"];
    if (event["cat"] == "Node" && name.ends_with("_kernel_time") &&
        !name.starts_with("/block/then") && !name.starts_with("/block/other")) {
      expected += event["dur"].get<std::int64_t>();
    }
  }
  for (const char* by : {"module", "class", "layer", "role", "node"}) {
    const CliResult result = RunCli({"profile", kProfiles + "branches.onnx",
                                     profile, "--by", by, "--json"});
    ASSERT_EQ(result.exit, 0) << result.err;
    EXPECT_THAT(Breaks("profile", result.out), testing::IsEmpty());
    const json document = json::parse(result.out);
    EXPECT_EQ(document["total_us"], expected);
    EXPECT_EQ(document["runs"], 3);
    std::int64_t sum = 0;
    std::int64_t calls = 0;
    for (const json& row : document["rows"]) {
      sum += row["self_us"].get<std::int64_t>();
      calls += row["calls"].get<std::int64_t>();
    }
    EXPECT_EQ(sum, expected) << by;
    EXPECT_EQ(calls, document["calls"]);
  }
}

TEST_P(ProfileTest, TakesTheBranchFromTheIf) {
  const CliResult result =
      RunCli({"profile", kProfiles + "branches.onnx", kProfiles + GetParam(),
              "--by", "node", "--json"});
  const json document = json::parse(result.out);
  std::int64_t time_of_if = -1;
  std::int64_t whole = 0;
  for (const json& event : json::parse(ReadFile(kProfiles + GetParam()))) {
    const std::string name = event["name"];
    const std::int64_t duration = event["dur"];
    if (name == "/block/If_kernel_time") whole += duration;
    if (name.ends_with("_kernel_time") &&
        (name.starts_with("/block/then") || name.starts_with("/block/other"))) {
      whole -= duration;
    }
  }
  for (const json& row : document["rows"]) {
    if (row["name"] == "#5 /block/If") time_of_if = row["self_us"];
  }
  EXPECT_EQ(time_of_if, whole);
}

TEST_P(ProfileTest, PrintsFlameGraphs) {
  const CliResult folded =
      RunCli({"profile", kProfiles + "branches.onnx", kProfiles + GetParam(),
              "--format", "folded"});
  EXPECT_THAT(folded.out, HasSubstr(";block;then;MatMul "));
  const CliResult scope =
      RunCli({"profile", kProfiles + "branches.onnx", kProfiles + GetParam(),
              "--format", "speedscope"});
  const json document = json::parse(scope.out);
  const json& profile = document["profiles"][0];
  EXPECT_EQ(profile["samples"].size(), profile["weights"].size());
  std::int64_t sum = 0;
  for (const json& weight : profile["weights"]) {
    sum += weight.get<std::int64_t>();
  }
  EXPECT_EQ(sum, profile["endValue"]);
}

INSTANTIATE_TEST_SUITE_P(
    Versions, ProfileTest,
    testing::Values("ort-1.15.1.json", "ort-1.15.1-optimized.json",
                    "ort-1.18.1.json", "ort-1.18.1-optimized.json",
                    "ort-1.31.1.json", "ort-1.31.1-optimized.json"),
    [](const testing::TestParamInfo<std::string>& test) {
      std::string name = test.param;
      for (char& c : name) {
        if (!isalnum(static_cast<unsigned char>(c))) c = '_';
      }
      return name;
    });

TEST(Profile, RefusesWhatIsNoProfile) {
  const CliResult result = RunCli(
      {"profile", kProfiles + "branches.onnx", kProfiles + "branches.onnx"});
  EXPECT_EQ(result.exit, 3);
  EXPECT_THAT(result.err, HasSubstr("not a profile"));
}

TEST(Profile, ShowsWhatItCouldNotPlace) {
  const CliResult result =
      RunCli({"profile", kTruth + "bert/ts.onnx", kProfiles + "ort-1.31.1.json",
              "--top", "1"});
  EXPECT_EQ(result.exit, 0);
  EXPECT_THAT(result.out, HasSubstr("[not in the model]"));
}

}  // namespace
}  // namespace onnx_tag::test
