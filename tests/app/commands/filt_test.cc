// The logs in tests/filt were printed by ONNX Runtime 1.31, polygraphy and
// OnnxSlim for tests/models/bert_tiny; paths of the machine were replaced.
// tensorrt.log was written by hand in the form of TensorRT's and Qualcomm's
// logs. `*.expected` is what filt makes of them; ONNX_TAG_UPDATE_GOLDEN=1
// writes it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "app/commands/filt/annotate_text.h"
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

// `--color always` is what a terminal gets.
TEST(FiltTest, ATerminalGetsALinkToALineThatIsThere) {
  const TemporaryFolder folder;
  const std::string code = folder.Write("a net.py", "pass\n");
  const auto model = [&](const std::string& file) {
    schema::ModelProto proto = ModelFromText(
        ReadFile(std::string(ONNX_TAG_TEST_MODELS) + "/traced.textproto"));
    schema::NodeProto& node = *proto.mutable_graph()->mutable_node(0);
    node.mutable_metadata_props(2)->set_value(
        "File \"" + file + "\", line 12, in forward\n    y = self.fc(x)");
    return folder.Write("m.onnx", proto.SerializeAsString());
  };
  const auto noted = [&](const std::string& file, const std::string& color) {
    return RunCli({"filt", model(file), "-q", "--color", color},
                  "node_linear\n")
        .out;
  };
  std::string path = fs::canonical(code).generic_string();
  if (!path.starts_with('/')) path = "/" + path;
  path.replace(path.find(' '), 1, "%20");
  EXPECT_EQ(noted(code, "always"),
            "node_linear \x1b[36m[head.fc Linear \x1b]8;;file://" + path +
                "#12\x1b\\a net.py:12\x1b]8;;\x1b\\]\x1b[0m\n");
  EXPECT_EQ(noted(code, "never"), "node_linear [head.fc Linear a net.py:12]\n");
  // Not here, not a file, on another machine, and what only looks like a path.
  for (const std::string& file :
       {folder / "gone.py", folder / ".", "/" + code,
        std::string("/x\x1b]8;;http://evil\x07/net.py")}) {
    const std::string text = noted(file, "always");
    EXPECT_EQ(text.find("\x1b]"), text.npos) << text;
  }
}

TEST(FiltTest, TheModelCannotBeStandardInput) {
  EXPECT_EQ(RunCli({"filt", "-"}, "text").exit, 2);
  EXPECT_EQ(RunCli({"filt", "missing.onnx"}, "text").exit, 3);
}

// ---------------------------------------------------------------- the text
// A book of names without a model.
class Names {
 public:
  explicit Names(std::vector<std::string> names) : names_(std::move(names)) {
    for (const std::string& name : names_) {
      filter_.Add(name);
      notes_[name].text = " [*]";
    }
    filter_.AddOperator("Add");
  }
  std::string Annotate(const std::string& text, std::size_t piece,
                       bool only = false) {
    std::string out;
    TextAnnotator annotator(
        filter_,
        [&](std::string_view name) {
          const auto at = notes_.find(std::string(name));
          return at == notes_.end() ? nullptr : &at->second;
        },
        {.only = only, .each = {}},
        [&](std::string_view bytes) { out += bytes; });
    for (std::size_t i = 0; i < text.size(); i += piece) {
      annotator.Add(std::string_view(text).substr(i, piece));
    }
    annotator.Finish();
    return out;
  }

 private:
  std::vector<std::string> names_;
  std::map<std::string, NameNote> notes_;
  NameFilter filter_;
};

TEST(FiltTest, ATextInPiecesOfAnySizeGivesTheSame) {
  Names names({"/a/MatMul", "val_3", "fused a/b", "Add", "x"});
  const std::string text =
      "run /a/MatMul: val_3,val_33 \x1b[1m/a/MatMul\x1b[0m\n\n"
      "fused a/b fused a/bc 'x' x \"x\": Name:'Add' 'Add'\nval_3";
  const std::string whole = names.Annotate(text, text.size());
  EXPECT_EQ(whole,
            "run /a/MatMul [*]: val_3 [*],val_33 "
            "\x1b[1m/a/MatMul [*]\x1b[0m\n\n"
            "fused a/b [*] fused a/bc 'x [*]' x \"x\": Name:'Add [*]' "
            "'Add'\nval_3 [*]");
  for (std::size_t piece = 1; piece < 20; ++piece) {
    EXPECT_EQ(names.Annotate(text, piece), whole) << piece;
  }
}

TEST(FiltTest, ALineOfManyMegabytesIsTreatedInParts) {
  Names names({"/a/MatMul"});
  std::string text;
  std::string expected;
  while (text.size() < (std::size_t{5} << 20)) {
    text += "/a/MatMul and more, ";
    expected += "/a/MatMul [*] and more, ";
  }
  EXPECT_EQ(names.Annotate(text, 1 << 16), expected);
  // One word as long: nothing to find, nothing lost.
  const std::string word(std::size_t{3} << 20, 'x');
  EXPECT_EQ(names.Annotate(word + "/a/MatMul /a/MatMul\n", 1 << 16),
            word + "/a/MatMul /a/MatMul [*]\n");
}

TEST(FiltTest, HostileNamesNeitherForgeLinesNorTakeLong) {
  // 10^5 names that begin alike, and a text of their common beginning.
  std::vector<std::string> names;
  std::string path;
  for (int i = 0; i < 200; ++i) path += "/a b";
  for (int i = 0; i < 2000; ++i) names.push_back(path + std::to_string(i));
  Names book(names);
  std::string text;
  for (int i = 0; i < 2000; ++i) text += path;
  EXPECT_EQ(book.Annotate(text, 1 << 16), text);
}

}  // namespace
}  // namespace onnx_tag::test
