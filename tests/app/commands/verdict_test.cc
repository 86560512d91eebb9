// One reading, one verdict: what one command says of a file, all say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "app/cli/command_table.h"
#include "support/run_cli.h"
#include "support/temporary_folder.h"
#include "support/wire_builder.h"

namespace onnx_tag::test {
namespace {

namespace fs = std::filesystem;
using ::testing::StartsWith;
using Words = std::vector<std::string>;

constexpr int kNotReadable = 3;

class VerdictTest : public testing::Test {
 protected:
  // A run of every command on `model`. A command that is not listed takes a
  // model and no more.
  std::vector<Words> Runs(const std::string& model) {
    const std::string table = folder_.Write("numbers.tsv", "name\tms\na\t1\n");
    const auto out = [&](const char* name) { return folder_ / name; };
    const std::map<std::string_view, std::vector<Words>> known = {
        {"tag",
         {{"-o", out("t.onnx"), "--data", "keep", "--force"},
          {"--sidecar-only", "--sidecar", out("s.json"), "--force"}}},
        {"query", {{"layer>=0"}}},
        {"show",
         {{},
          {"--measure", "memory"},
          {"--by", "role"},
          {"--shape", "batch=7"}}},
        {"select",
         {{"op=Relu", "--for", "names"},
          {"--for", "layer-ann", "--device", "gpu", "--budget", "1kB"}}},
        {"explain", {{"#0"}}},
        {"export", {{"--to", "graphml"}}},
        {"strip",
         {{"-o", out("stripped.onnx"), "--data", "keep", "--force"},
          {"--private", "-o", out("p.onnx"), "--data", "keep", "--force"}}},
        {"transfer",
         {{model, "-o", out("carried.onnx"), "--data", "keep", "--force"}}},
        {"diff", {{model}, {model, "--weights"}}},
        {"report", {{"-o", out("page.html"), "--force"}}},
        {"check", {{}}},
        {"profile", {{table}}},
        {"weights", {{}}},
        {"tap",
         {{"--module", "**", "-o", out("tap.onnx"), "--data", "keep",
           "--force"}}},
        {"extract",
         {{"--module", "", "-o", out("e.onnx"), "--data", "keep", "--force"}}},
        {"split",
         {{"--at", "", "--out-dir", out("parts"), "--data", "keep", "--force"},
          {"--parts", "2", "--by", "flops", "--dry-run"},
          {"--budget", "1kB", "--by", "memory", "--dry-run"}}},
    };
    std::vector<Words> runs;
    for (const cli::Command& command : cli::Commands()) {
      // These take no model.
      if (command.name == "completion" || command.name == "man") {
        continue;
      }
      const auto at = known.find(command.name);
      for (const Words& more :
           at == known.end() ? std::vector<Words>{{}} : at->second) {
        Words words = {std::string(command.name), model};
        words.insert(words.end(), more.begin(), more.end());
        runs.push_back(std::move(words));
      }
    }
    return runs;
  }

  TemporaryFolder folder_;
};

std::vector<std::string> HostileFiles() {
  std::vector<std::string> files;
  for (const auto& entry :
       fs::directory_iterator(ONNX_TAG_TEST_FOLDER "/fuzz/corpus/model")) {
    files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// The lines that begin with the program and the file's name: an error, or
// warnings of weights that cannot be read.
std::vector<std::string> LinesOnReading(const CliResult& result,
                                        const std::string& file) {
  std::vector<std::string> lines;
  for (const std::string& line : Lines(result.err)) {
    const bool warns = line.find("cannot be read") != std::string::npos;
    const bool fails =
        result.exit == kNotReadable && !line.starts_with("onnx-tag: mapped");
    if ((warns || fails) &&
        std::find(lines.begin(), lines.end(), line) == lines.end()) {
      lines.push_back(line);
      if (!line.starts_with("  ")) {
        EXPECT_THAT(line, StartsWith("onnx-tag: " + file + ": "));
      }
    }
  }
  return lines;
}

TEST_F(VerdictTest, EveryCommandGivesTheSameVerdictOnAHostileFile) {
  int refused = 0;
  int read = 0;
  for (const std::string& file : HostileFiles()) {
    std::vector<std::string> first;
    bool readable = true;
    const std::vector<Words> runs = Runs(file);
    for (const Words& run : runs) {
      const CliResult result = RunCli(run);
      const std::vector<std::string> said = LinesOnReading(result, file);
      if (run == runs.front()) {
        first = said;
        readable = result.exit != kNotReadable;
        (readable ? read : refused) += 1;
      }
      EXPECT_EQ(result.exit != kNotReadable, readable)
          << run[0] << " " << file << ": " << result.err;
      EXPECT_LE(result.exit, kNotReadable) << run[0] << " " << file;
      EXPECT_EQ(said, first) << run[0] << " " << file;
    }
  }
  EXPECT_GT(refused, 10);
  EXPECT_GT(read, 25);
}

TEST_F(VerdictTest, AWeightThatCannotBeReadIsAWarningWithTheFile) {
  const std::string file =
      ONNX_TAG_TEST_FOLDER "/fuzz/corpus/model/numbers_cut.onnx";
  const CliResult shown = RunCli({"show", file});
  EXPECT_EQ(shown.exit, 0) << shown.err;
  EXPECT_THAT(shown.err, testing::HasSubstr("onnx-tag: " + file +
                                            ": warning: the numbers of "));
}

TEST_F(VerdictTest, AModelWhoseOutputIsAnInputIsSplit) {
  const std::string file =
      ONNX_TAG_TEST_FOLDER "/fuzz/corpus/model/output_is_input.onnx";
  const CliResult split =
      RunCli({"split", file, "--at", "b", "--out-dir", folder_ / "p"});
  EXPECT_EQ(split.exit, 0) << split.err;
  EXPECT_TRUE(fs::exists(folder_ / "p/output_is_input.part1.onnx"));
}

TEST_F(VerdictTest, ANoteOnAModuleNamesTheFileAndTheRoot) {
  const std::string file =
      ONNX_TAG_TEST_FOLDER "/fuzz/corpus/model/empty_graph.onnx";
  EXPECT_THAT(
      RunCli({"tap", file, "--module", "**", "-o", folder_ / "t.onnx"}).err,
      testing::HasSubstr("onnx-tag: " + file + ": <root>: "));
}

// Two products; the weights have `size` rows and columns.
std::string TwoProducts(std::uint64_t size) {
  std::string graph;
  for (const std::string module : {"a", "b"}) {
    graph += BytesField(
        1,
        Wire(BytesField(1, module == "a" ? "x" : "a"),
             BytesField(1, module + ".weight"), BytesField(2, module),
             BytesField(3, "/" + module + "/MatMul"), BytesField(4, "MatMul")));
    graph += BytesField(
        5, Wire(VarintField(1, size), VarintField(1, size), VarintField(2, 1),
                BytesField(8, module + ".weight")));
  }
  return Wire(VarintField(1, 8),
              BytesField(7, Wire(graph, BytesField(11, BytesField(1, "x")),
                                 BytesField(12, BytesField(1, "b")))),
              BytesField(8, VarintField(2, 17)));
}

TEST_F(VerdictTest, CheckAcceptsWhatTagWroteWithAnyKeys) {
  const std::string model = folder_.Write("m.onnx", TwoProducts(4));
  for (const char* const keys :
       {"tags", "layer_ann", "namespace", "class_hierarchy", "source_line",
        "layer_ann,source_line", "tags,layer_ann,namespace"}) {
    const std::string out = folder_ / "tagged.onnx";
    ASSERT_EQ(RunCli({"tag", model, "-o", out, "--force", "--keys", keys}).exit,
              0);
    const CliResult checked = RunCli({"check", out});
    EXPECT_EQ(checked.exit, 0) << keys << checked.out;
  }
}

TEST_F(VerdictTest, WeightsOverTheLargestNumberSaySoAndFitNoBudget) {
  const std::string model =
      folder_.Write("m.onnx", TwoProducts(std::uint64_t{1} << 40));
  EXPECT_THAT(RunCli({"show", model}).out,
              testing::AllOf(testing::HasSubstr("over 2^63 parameters"),
                             testing::HasSubstr("weights     over 2^63\n")));
  for (const char* const budget : {"1MB", "18446744073709551615"}) {
    const CliResult split = RunCli({"split", model, "--budget", budget, "-n"});
    EXPECT_EQ(split.exit, 2) << budget << split.out;
  }
}

}  // namespace
}  // namespace onnx_tag::test
