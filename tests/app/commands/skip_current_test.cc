// --skip-current: what decides, and what does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/onnx_models.h"
#include "support/run_cli.h"
#include "support/temporary_folder.h"

namespace onnx_tag::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class SkipCurrentTest : public testing::Test {
 protected:
  SkipCurrentTest() { Write("/a/Relu", 'w'); }

  // A model of one size, whatever its weight.
  void Write(const std::string& name, char weight) {
    folder_.Write(
        "m.onnx",
        BytesFromText("graph { node { op_type: 'Relu' name: '" + name +
                      "' } initializer { raw_data: '" + weight + "' } }"));
    SetAge("m.onnx", 100);
  }
  void SetAge(const std::string& name, int seconds) {
    fs::last_write_time(folder_ / name, fs::file_time_type::clock::now() -
                                            std::chrono::seconds(seconds));
  }
  // "ok" or "current"
  std::string Tag(std::vector<std::string> more = {}) {
    std::vector<std::string> args = {"-r", folder_.path(), "--skip-current",
                                     "--json"};
    args.insert(args.end(), more.begin(), more.end());
    last_ = RunCli(args);
    return nlohmann::json::parse(
        last_.out.substr(0, last_.out.find('\n')))["status"];
  }

  TemporaryFolder folder_;
  CliResult last_;
};

TEST_F(SkipCurrentTest, TheSameWorkIsDoneOnce) {
  EXPECT_EQ(Tag(), "ok");
  EXPECT_EQ(Tag(), "current");
  EXPECT_THAT(last_.out, HasSubstr("\"nodes\": 1, \"tagged\": 1"));
  EXPECT_EQ(Tag({"--force"}), "current");
}

TEST_F(SkipCurrentTest, ARetrainedModelIsNewThoughItsGraphIsNot) {
  EXPECT_EQ(Tag(), "ok");
  Write("/a/Relu", 'v');
  SetAge("m.onnx", -10);
  EXPECT_EQ(Tag(), "ok");
  // Of the same age it may have been written after.
  fs::last_write_time(folder_ / "m.onnx",
                      fs::last_write_time(folder_ / "m.tagged.onnx"));
  EXPECT_EQ(Tag(), "ok");
}

TEST_F(SkipCurrentTest, AnotherSizeIsAnotherModel) {
  EXPECT_EQ(Tag(), "ok");
  Write("/a/b/Relu", 'w');
  EXPECT_EQ(Tag(), "ok");
}

TEST_F(SkipCurrentTest, OtherOptionsAreOtherWork) {
  EXPECT_EQ(Tag(), "ok");
  const std::vector<std::vector<std::string>> changes = {
      {"--granularity", "torch_nn"},
      {"--min-confidence", "certain"},
      {"--keys", "tags,namespace"},
      {"--torch-nn-exceptions", "+Linear"}};
  for (const auto& change : changes) {
    EXPECT_EQ(Tag(change), "ok") << change[0];
    EXPECT_EQ(Tag(change), "current") << change[0];
    EXPECT_EQ(Tag(), "ok") << change[0];
  }
}

// They count by what is in them: the name stays, and a time says nothing.
TEST_F(SkipCurrentTest, OtherFactsAreOtherWork) {
  const std::string recorded =
      std::string(ONNX_TAG_TEST_FOLDER) + "/truth/nn_cnn/";
  folder_.Write("m.onnx", ReadFile(recorded + "ts.onnx"));
  SetAge("m.onnx", 100);
  const std::string recording = ReadFile(recorded + "recording.json");
  const std::vector<std::array<std::string, 3>> all = {
      {"universal", "--hierarchy", recording},
      {"htp", "--trace", recording},
      {"fx_graph", "--fx", recording},
      {"enhanced_semantic", "--rules", R"({"rules": []})"}};
  for (const auto& [strategy, option, facts] : all) {
    SCOPED_TRACE(option);
    const auto tag = [&, strategy = strategy, option = option] {
      return Tag({"-s", strategy, option, folder_ / "facts"});
    };
    folder_.Write("facts", facts);
    SetAge("facts", 1000);
    ASSERT_EQ(tag(), "ok") << last_.out;
    EXPECT_EQ(tag(), "current");
    folder_.Write("facts", facts + "\n");
    SetAge("facts", 1000);
    EXPECT_EQ(tag(), "ok");
    EXPECT_EQ(tag(), "current");
  }
}

TEST_F(SkipCurrentTest, EveryOutputMustBeThere) {
  EXPECT_EQ(Tag(), "ok");
  fs::remove(folder_ / "m.tagged.onnx");
  EXPECT_EQ(Tag(), "ok");
  fs::remove(folder_ / "m.tags.json");
  EXPECT_EQ(Tag(), "ok");
  folder_.Write("m.tags.json", "{\n  \"format\": \"onnx-tag/1\"");
  EXPECT_EQ(Tag(), "ok");
  EXPECT_EQ(Tag({"--out-dir", folder_ / "out"}), "ok");
  EXPECT_EQ(Tag({"--sidecar-only"}), "current");
}

// Else a gate that fails once would be passed by running again.
TEST_F(SkipCurrentTest, GatesHoldForWhatIsPassedOver) {
  EXPECT_EQ(Tag({"--require-module", "b"}), "findings");
  EXPECT_EQ(Tag({"--require-module", "b"}), "findings");
  EXPECT_EQ(last_.exit, 1);
  EXPECT_EQ(Tag({"--require-module", "a"}), "current");
  Write("Relu_0", 'w');
  EXPECT_EQ(Tag({"--min-coverage", "50"}), "findings");
  EXPECT_EQ(Tag({"--min-coverage", "50"}), "findings");
  EXPECT_EQ(last_.exit, 1);
}

}  // namespace
}  // namespace onnx_tag::test
