// Many models at once: what is done, in which order it is told, and in which
// words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/commands/batch/batch_progress.h"
#include "support/json_schema.h"
#include "support/onnx_models.h"
#include "support/run_cli.h"
#include "support/temporary_folder.h"

namespace onnx_tag::test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Json = nlohmann::json;

class BatchTest : public testing::Test {
 protected:
  // A model of `nodes` nodes in a module that is named after it.
  void Add(const std::string& name, int nodes = 1) {
    schema::ModelProto model;
    model.set_ir_version(8);
    for (int i = 0; i < nodes; ++i) {
      AddNode(*model.mutable_graph(), "Relu", "/m/Relu_" + std::to_string(i),
              {"v" + std::to_string(i)}, {"v" + std::to_string(i + 1)});
    }
    fs::create_directories(fs::path(folder_ / name).parent_path());
    folder_.Write(name, model.SerializeAsString());
  }
  CliResult Tag(std::vector<std::string> args) {
    args.insert(args.begin(), {"tag", "-r", folder_.path()});
    return RunCli(args);
  }

  TemporaryFolder folder_;
};

TEST_F(BatchTest, LinesAreInTheOrderOfTheInputs) {
  // The first takes longest by far.
  Add("a.onnx", 20'000);
  for (const char c : std::string("bcdefghij")) Add(c + std::string(".onnx"));
  const CliResult result = Tag({"-j", "4", "--no-sidecar"});
  EXPECT_EQ(result.exit, 0) << result.err;
  const auto lines = Lines(result.out);
  ASSERT_EQ(lines.size(), 11u);
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_THAT(lines[i], HasSubstr(std::string(1, static_cast<char>('a' + i)) +
                                    ".onnx: "));
  }
  EXPECT_THAT(lines[10], HasSubstr("10 files: 10 ok; 20,009 nodes"));
}

TEST_F(BatchTest, RecordsAreAsTheSchemaSays) {
  const JsonSchema schema(Json::parse(ReadFile(ONNX_TAG_BATCH_SCHEMA)));
  Add("good.onnx", 3);
  folder_.Write("bad.onnx", "nonsense");
  const CliResult result =
      Tag({"--json", "--json-nodes", "--max-untagged", "0"});
  EXPECT_EQ(result.exit, 5);
  std::map<std::string, int> records;
  for (const std::string& line : Lines(result.out)) {
    const Json record = Json::parse(line);
    ++records[record["record"]];
    EXPECT_THAT(schema.Violations(record), IsEmpty()) << line;
  }
  EXPECT_EQ(records, (std::map<std::string, int>{
                         {"file", 2}, {"node", 3}, {"summary", 1}}));
}

TEST_F(BatchTest, AnythingWrittenIsTheSameForAnyNumberOfThreads) {
  for (int i = 0; i < 30; ++i) {
    Add("d" + std::to_string(i % 3) + "/" + std::to_string(i) + ".onnx",
        i * 7 + 1);
  }
  EXPECT_EQ(Tag({"-j", "1", "--out-dir", folder_ / "one"}).exit, 0);
  EXPECT_EQ(
      Tag({"-j", "8", "--exclude", "one", "--out-dir", folder_ / "many"}).exit,
      0);
  int compared = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder_ / "one")) {
    if (!entry.is_regular_file()) continue;
    const fs::path other =
        folder_ / "many" / fs::relative(entry.path(), folder_ / "one");
    EXPECT_EQ(ReadFile(entry.path()), ReadFile(other)) << other;
    ++compared;
  }
  EXPECT_EQ(compared, 60);
}

TEST_F(BatchTest, OneThatFailsStopsOthersOnlyOnRequest) {
  folder_.Write("a.onnx", "nonsense");
  for (const char c : std::string("bcd")) Add(c + std::string(".onnx"));
  CliResult result = Tag({"-j", "1", "--json", "--fail-fast"});
  EXPECT_EQ(result.exit, 5);
  EXPECT_EQ(Json::parse(Lines(result.out).back())["not_run"], 3);
  EXPECT_EQ(folder_.Names().size(), 4u);
  result = Tag({"-j", "1", "--json"});
  EXPECT_EQ(result.exit, 5);
  EXPECT_EQ(Json::parse(Lines(result.out).back())["ok"], 3);
}

TEST_F(BatchTest, CollisionsAreRefusedBeforeAnythingIsWritten) {
  Add("a/m.onnx");
  Add("b/m.onnx");
  const CliResult result = RunCli(
      {"-r", folder_ / "a", folder_ / "b", "--out-dir", folder_ / "out"});
  EXPECT_EQ(result.exit, 2);
  EXPECT_THAT(result.err, HasSubstr("would both be written to"));
  EXPECT_FALSE(fs::exists(folder_ / "out"));
}

TEST_F(BatchTest, TwoNamesOfOneFolderCollide) {
  if (!CanMakeLinks()) GTEST_SKIP() << "no symbolic links";
  Add("a/m.onnx");
  fs::create_directory_symlink("a", folder_ / "c");
  EXPECT_EQ(RunCli({folder_ / "a/m.onnx", folder_ / "c/m.onnx"}).exit, 2);
  EXPECT_THAT(folder_.Names(), ElementsAre("a", "c"));
}

TEST_F(BatchTest, TwoModelsMayShareWeights) {
  const std::string model = BytesFromText(
      "graph { node { op_type: 'Relu' name: '/a/Relu' } initializer { name: "
      "'w' data_location: 1 external_data { key: 'location' value: "
      "'w.data' } } }");
  fs::create_directory(folder_ / "in");
  folder_.Write("in/w.data", "weights");
  for (int i = 0; i < 8; ++i) {
    folder_.Write("in/" + std::to_string(i) + ".onnx", model);
  }
  const std::string out = folder_ / "out";
  const CliResult result = RunCli(
      {"-r", folder_ / "in", "-j", "8", "--data", "copy", "--out-dir", out});
  EXPECT_EQ(result.exit, 0) << result.err;
  EXPECT_EQ(ReadFile(out + "/w.data"), "weights");
}

TEST_F(BatchTest, TheWeightsOfAnotherModelAreNotReplaced) {
  // b keeps its weights where the tags of a would go.
  for (const std::string name : {"a.tagged.onnx", "a.tags.json"}) {
    fs::create_directories(folder_ / name + ".in");
    const std::string in = name + ".in/";
    Add(in + "a.onnx");
    folder_.Write(
        in + "b.onnx",
        BytesFromText("graph { node { op_type: 'Relu' name: '/a/Relu' } "
                      "initializer { name: 'w' data_location: 1 external_data "
                      "{ key: 'location' value: '" +
                      name + "' } } }"));
    folder_.Write(in + name, "weights");
    const CliResult result =
        RunCli({folder_ / in + "a.onnx", folder_ / in + "b.onnx", "--force"});
    EXPECT_EQ(result.exit, 2) << result.err;
    EXPECT_THAT(result.err, HasSubstr("holds the weights of"));
    EXPECT_EQ(ReadFile(folder_ / in + name), "weights");
    EXPECT_FALSE(fs::exists(folder_ / in + "b.tagged.onnx"));
  }
}

const char* const kHostileNames[] = {
    "a\"b'<c>&d.onnx",  "]]>.onnx",          "new\nline.onnx",
    "\x1b[31mred.onnx", "::error::x.onnx",   "%0A,:.onnx",
    "\xff\xfe.onnx",    "\xef\xbf\xbf.onnx", "<!--.onnx"};

// How many of them a file can have here.
std::size_t AddHostile(const TemporaryFolder& folder) {
  for (const char* const name : kHostileNames) folder.Write(name, "bad");
  const std::vector<std::string> names = folder.Names();
  return static_cast<std::size_t>(std::count_if(
      names.begin(), names.end(),
      [](const std::string& name) { return name.ends_with(".onnx"); }));
}

TEST_F(BatchTest, JunitIsWellFormedWhateverTheNames) {
  const std::string bad = std::to_string(AddHostile(folder_));
  Add("good & fine.onnx");
  const CliResult result =
      Tag({"--format", "junit", "--require-module", "<\"&>"});
  EXPECT_EQ(result.exit, 5);
  EXPECT_TRUE(IsWellFormed(result.out)) << result.out;
  EXPECT_THAT(result.out, HasSubstr("failures=\"1\" errors=\"" + bad + "\""));
  EXPECT_THAT(result.out, Not(HasSubstr("\x1b")));
}

TEST_F(BatchTest, AnnotationsAreOneLineEachWhateverTheNames) {
  const std::size_t bad = AddHostile(folder_);
  const CliResult result = Tag({"--format", "github"});
  EXPECT_EQ(result.exit, 5);
  const auto lines = Lines(result.out);
  ASSERT_EQ(lines.size(), bad + 1);
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    EXPECT_TRUE(lines[i].starts_with("::error file=")) << lines[i];
    // The properties end at the next "::", and there is one comma in them.
    const std::string properties =
        lines[i].substr(2, lines[i].find("::", 2) - 2);
    EXPECT_EQ(std::count(properties.begin(), properties.end(), ','), 1);
    EXPECT_THAT(properties, HasSubstr(",title=onnx-tag%3A not tagged"));
  }
  if (fs::exists(folder_ / "%0A,:.onnx")) {
    EXPECT_THAT(result.out, HasSubstr("%250A%2C%3A.onnx"));
  }
}

TEST_F(BatchTest, TextAndJsonHoldHostileNames) {
  const std::size_t bad = AddHostile(folder_);
  const CliResult text = Tag({});
  EXPECT_EQ(Lines(text.err).size(), bad) << text.err;
  EXPECT_THAT(text.err, Not(HasSubstr("\x1b")));
  for (const std::string& line : Lines(Tag({"--json"}).out)) {
    EXPECT_TRUE(Json::accept(line)) << line;
  }
}

TEST(BatchProgressTest, SaysWhereItIs) {
  BatchProgress progress(4);
  progress.Start(0, "zoo/bert.onnx");
  progress.Start(1, "zoo/gpt\n2.onnx");
  EXPECT_EQ(progress.Line(0),
            "[....................] 0 of 4 files, 0 nodes: "
            "bert.onnx, gpt\\x0a2.onnx");
  progress.End(0, 1500);
  EXPECT_EQ(progress.Line(2),
            "[#####...............] 1 of 4 files, 1,500 "
            "nodes, 0.5 files/s, 0:06 left: gpt\\x0a2.onnx");
}

}  // namespace
}  // namespace onnx_tag::test
