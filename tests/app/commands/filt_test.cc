// The logs in tests/filt were printed by ONNX Runtime 1.31, polygraphy and
// OnnxSlim for tests/models/bert_tiny; paths of the machine were replaced.
// tensorrt.log was written by hand in the form of TensorRT's and Qualcomm's
// logs. `*.expected` is what filt makes of them; ONNX_TAG_UPDATE_GOLDEN=1
// writes it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "support/onnx_models.h"
#include "support/run_cli.h"
#include "support/temporary_folder.h"

namespace onnx_tag::test {
namespace {

namespace fs = std::filesystem;

const std::string kBertTiny =
    std::string(ONNX_TAG_TEST_MODELS) + "/bert_tiny/model.onnx";
const std::string kLogs = std::string(ONNX_TAG_TEST_MODELS) + "/../filt";

// `text` without what filt inserted, which colours mark.
std::string WithoutNotes(const std::string& text) {
  static const std::string kBegin = " \x1b[36m[";
  static const std::string kEnd = "]\x1b[0m";
  std::string left;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t note = std::min(text.find(kBegin, at), text.size());
    left += text.substr(at, note - at);
    if (note == text.size()) break;
    at = text.find(kEnd, note) + kEnd.size();
  }
  return left;
}

TEST(FiltTest, RealLogsGetTheirModulesAndKeepAllOtherBytes) {
  int logs = 0;
  for (const auto& entry : fs::directory_iterator(kLogs)) {
    if (entry.path().extension() != ".log") continue;
    SCOPED_TRACE(entry.path().filename());
    ++logs;
    const std::string text = ReadFile(entry.path());
    const CliResult result = RunCli({"filt", kBertTiny}, text, true);
    EXPECT_EQ(result.exit, 0);
    EXPECT_EQ(
        WithoutNotes(
            RunCli({"filt", kBertTiny, "--color", "always"}, text, true).out),
        text);
    fs::path expected = entry.path();
    expected.replace_extension(".expected");
    if (std::getenv("ONNX_TAG_UPDATE_GOLDEN") != nullptr) {
      std::ofstream(expected, std::ios::binary) << result.out;
    } else {
      EXPECT_EQ(result.out, ReadFile(expected));
    }
  }
  EXPECT_EQ(logs, 6);
}

std::string Filtered(const std::string& text,
                     std::vector<std::string> options = {}) {
  options.insert(options.begin(), {"filt", kBertTiny, "-q"});
  return RunCli(options, text, true).out;
}

constexpr const char* kQuery = "/encoder/layer.0/attention/self/query/MatMul";
constexpr const char* kQueryNote =
    " [encoder.layer.0.attention.self.query Linear]";

TEST(FiltTest, NamesAreFoundBetweenAnyMarks) {
  const std::string name = kQuery;
  const std::string noted = name + kQueryNote;
  const std::vector<std::pair<std::string, std::string>> marks = {
      {"", ""},       {"'", "'"},
      {"\"", "\","},  {"node:", ":0"},
      {"(", ")"},     {"{ForeignNode[", "...x]}"},
      {"<", ">"},     {"a\\n", "\\n"},
      {"name=", ";"}, {"\x1b[1;31m", "\x1b[0m"},
      {"- ", "."},    {"->", "->"}};
  for (const auto& [before, after] : marks) {
    SCOPED_TRACE(before + after);
    EXPECT_EQ(Filtered(before + name + after + "\n"),
              before + noted + after + "\n");
  }
}

TEST(FiltTest, WordsThatOnlyBeginAsANameStayAsTheyAre) {
  for (const std::string text :
       {"/encoder/layer.0/attention/self/query/MatMulX\n",
        "x/encoder/layer.0/attention/self/query/MatMul\n",
        "/encoder/layer.0/attention\n", "encoder layer input 12 MatMul\n",
        "\xff\xfe\x00\x01 \x80\n", "no newline at the end"}) {
    EXPECT_EQ(Filtered(text), text);
  }
}

TEST(FiltTest, OnlyPrintsLinesWithNamesAndJsonSaysWhereTheyAre) {
  const std::string text =
      "nothing\nhere: " + std::string(kQuery) + "_kernel_time\nnothing\n";
  EXPECT_EQ(Filtered(text, {"--only"}), "here: " + std::string(kQuery) +
                                            "_kernel_time" + kQueryNote + "\n");
  const std::string json = Filtered(text, {"--format", "json"});
  EXPECT_NE(json.find("{\"line\": 2, \"column\": 7, \"name\": \"" +
                      std::string(kQuery) + "_kernel_time\""),
            json.npos)
      << json;
  EXPECT_NE(json.find("\"module\": \"encoder.layer.0.attention.self.query\", "
                      "\"class\": \"Linear\""),
            json.npos)
      << json;
}

TEST(FiltTest, ASidecarIsEnough) {
  const TemporaryFolder folder;
  const std::string sidecar = folder / "m.tags.json";
  RunCli({"tag", kBertTiny, "--sidecar-only", "--sidecar", sidecar});
  EXPECT_EQ(RunCli({"filt", sidecar, "-q"}, std::string(kQuery) + "\n").out,
            std::string(kQuery) + kQueryNote + "\n");
}

TEST(FiltTest, TheModelCannotBeStandardInput) {
  EXPECT_EQ(RunCli({"filt", "-"}, "text").exit, 2);
  EXPECT_EQ(RunCli({"filt", "missing.onnx"}, "text").exit, 3);
}

TEST(FiltTest, ALineOfManyMegabytesIsTreatedInParts) {
  std::string text;
  std::string expected;
  while (text.size() < (std::size_t{3} << 20)) {
    text += std::string(kQuery) + " and more, ";
    expected += std::string(kQuery) + kQueryNote + " and more, ";
  }
  EXPECT_EQ(Filtered(text), expected);
  // One word as long: nothing to find, nothing lost.
  const std::string word(std::size_t{3} << 20, 'x');
  EXPECT_EQ(Filtered(word + kQuery + " " + kQuery + "\n"),
            word + kQuery + " " + kQuery + kQueryNote + "\n");
}

}  // namespace
}  // namespace onnx_tag::test
