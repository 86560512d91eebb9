#include "app/commands/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/onnx_models.h"
#include "support/run_cli.h"
#include "support/temporary_folder.h"

namespace onnx_tag::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string FileText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void WriteText(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(
      std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

// The data that a page holds, as its script reads it.
nlohmann::json DataOf(const std::string& page) {
  const std::string begin = "id=\"data\">";
  const std::size_t at = page.find(begin) + begin.size();
  return nlohmann::json::parse(
      page.substr(at, page.find("</script>", at) - at));
}

std::string SmallModel(const std::string& name) {
  schema::ModelProto model;
  model.set_ir_version(8);
  schema::GraphProto& graph = *model.mutable_graph();
  AddNode(graph, "MatMul", "/a/fc/MatMul", {"x", "a.fc.weight"}, {"h"});
  AddNode(graph, "Relu", name, {"h"}, {"y"});
  schema::TensorProto* const weight = graph.add_initializer();
  weight->set_name("a.fc.weight");
  weight->set_data_type(1);
  weight->add_dims(3);
  weight->add_dims(2);
  weight->set_raw_data(std::string(24, '\0'));
  schema::ValueInfoProto* const input = graph.add_input();
  input->set_name("x");
  auto& tensor = *input->mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(1);
  tensor.mutable_shape()->add_dim()->set_dim_param("batch");
  tensor.mutable_shape()->add_dim()->set_dim_value(3);
  return model.SerializeAsString();
}

class ReportTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) {
    return folder_.path() + "/" + name;
  }
  TemporaryFolder folder_;
};

TEST(ReportPageTest, NothingInTheDataCanEndItsElement) {
  const std::string page = MakeReportPage(
      "{\"name\":\"</script><script>alert(1)</script>&\xe2\x80\xa8\"}");
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("\xe2\x80\xa8")));
  EXPECT_EQ(DataOf(page)["name"],
            "</script><script>alert(1)</script>&\xe2\x80\xa8");
}

TEST(ReportPageTest, NothingInTheDataHidesOrTurnsTextInThePagesSource) {
  // DEL, a control, a soft hyphen, marks of direction, a byte order mark.
  for (const std::string hidden :
       {"\x7f", "\xc2\x85", "\xc2\xad", "\xd8\x9c", "\xe2\x80\x8b",
        "\xe2\x80\x8f", "\xe2\x80\xa9", "\xe2\x80\xae", "\xe2\x81\xa6",
        "\xef\xbb\xbf"}) {
    const std::string page = MakeReportPage("{\"name\":\"a" + hidden + "b\"}");
    EXPECT_THAT(page, Not(HasSubstr("a" + hidden)));
    EXPECT_EQ(DataOf(page)["name"], "a" + hidden + "b");
  }
  EXPECT_THAT(MakeReportPage("\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""),
              HasSubstr("\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""));
}

TEST(ReportPageTest, APageHasItsMarkAndAStrictPolicy) {
  const std::string page = MakeReportPage("{}");
  EXPECT_THAT(page, StartsWith(std::string(ReportHead())));
  EXPECT_THAT(std::string(ReportHead()), HasSubstr("onnx-tag report"));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, Not(HasSubstr("unsafe-inline")));
  EXPECT_LT(page.size(), 600'000u);
}

TEST_F(ReportTest, APageHoldsTheModel) {
  WriteText(Path("m.onnx"), SmallModel("/a/act/Relu"));
  const CliResult result =
      RunCli({"report", Path("m.onnx"), "--shape", "x=5,3"});
  ASSERT_EQ(result.exit, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("m.report.html"));
  const nlohmann::json model =
      DataOf(FileText(Path("m.report.html")))["models"][0];
  EXPECT_EQ(model["file"], "m.onnx");
  EXPECT_EQ(model["nodes"]["op"].size(), 2u);
  // MatMul: 2 * 5 * 2 * 3; Relu: 5 * 2.
  EXPECT_EQ(model["flops"], nlohmann::json::parse("[60,10]"));
  EXPECT_EQ(model["sizes"]["elements"], nlohmann::json::parse("[6]"));
  EXPECT_EQ(model["sizes"]["bytes"], nlohmann::json::parse("[24]"));
  EXPECT_FALSE(model["reasons"].empty()) << "a reason is told";
}

TEST_F(ReportTest, FoundModulesAreMarked) {
  WriteText(Path("zoo/m.onnx"), BytesFromText(FileText(ONNX_TAG_TEST_MODELS
                                                       "/nameless.textproto")));
  ASSERT_EQ(RunCli({"report", Path("zoo/m.onnx"), "-o", Path("m.html")}).exit,
            0);
  const nlohmann::json model = DataOf(FileText(Path("m.html")))["models"][0];
  EXPECT_EQ(model["found"]["module"].size(),
            model["modules"]["name"].size() - 1)
      << "all but the root";
  EXPECT_THAT(model["found"]["description"].dump(),
              HasSubstr("block 1 of 3 equal blocks; operators 7-11"));
  ASSERT_EQ(RunCli({"report", Path("zoo"), "--out-dir", Path("pages")}).exit,
            0);
  EXPECT_EQ(DataOf(FileText(Path("pages/index.html")))["zoo"][0]["found"], 20);
}

// As `compare --tsv` writes it: by value.
TEST_F(ReportTest, AProfileMayBeATableOfAnyNumbers) {
  WriteText(Path("m.onnx"), SmallModel("/a/act/Relu"));
  WriteText(Path("t.tsv"), "value\tother\terror\nh\t1\t0.25\n");
  const CliResult result = RunCli({"report", Path("m.onnx"), "--profile",
                                   Path("t.tsv"), "--measure", "error"});
  ASSERT_EQ(result.exit, 0) << result.err;
  const nlohmann::json model =
      DataOf(FileText(Path("m.report.html")))["models"][0];
  EXPECT_EQ(model["measure"]["name"], "error");
  const auto parts = model["measure"]["parts"].get<double>();
  EXPECT_EQ(model["nodes"]["profile"][0].get<double>() / parts, 0.25);
  EXPECT_EQ(model["nodes"]["profile"][1], -1) << "the Relu is not in it";

  WriteText(Path("t.tsv"), "value\terror\nh\t-0.25\n");
  const CliResult refused =
      RunCli({"report", Path("m.onnx"), "--profile", Path("t.tsv")});
  EXPECT_EQ(refused.exit, 2);
  EXPECT_THAT(refused.err, HasSubstr("negative numbers"));
}

// Also of a kernel that the model does not have.
TEST_F(ReportTest, AProfileHasTheTotalThatProfilePrints) {
  WriteText(Path("m.onnx"), SmallModel("/a/act/Relu"));
  std::string runs;
  for (const int start : {0, 20}) {
    const auto event = [&](const std::string& category, const std::string& name,
                           int at, int duration, const std::string& op) {
      runs += (runs.empty() ? "[" : ",\n") +
              nlohmann::json({{"cat", category},
                              {"name", name},
                              {"ts", start + at},
                              {"dur", duration},
                              {"args", {{"op_name", op}}}})
                  .dump();
    };
    event("Session", "model_run", 0, 12, "");
    event("Node", "/a/act/Relu_kernel_time", 1, 4 + start, "Relu");
    event("Node", "Reorder_kernel_time", 6, 3, "Reorder");
  }
  WriteText(Path("p.json"), runs + "]\n");
  for (const std::string skipped : {"0", "1"}) {
    const CliResult printed = RunCli({"profile", Path("m.onnx"), Path("p.json"),
                                      "--skip-runs", skipped, "--json"});
    ASSERT_EQ(printed.exit, 0) << printed.err;
    const nlohmann::json profile = nlohmann::json::parse(printed.out);
    ASSERT_EQ(RunCli({"report", Path("m.onnx"), "--profile", Path("p.json"),
                      "--skip-runs", skipped, "-o", Path("p.html")})
                  .exit,
              0);
    const nlohmann::json model = DataOf(FileText(Path("p.html")))["models"][0];
    EXPECT_EQ(model["profile_total"], profile["total_us"]);
    EXPECT_EQ(model["profile_runs"], profile["runs"]);
    EXPECT_EQ(model["profile_runs"], skipped == "0" ? 2 : 1);
  }
}

TEST_F(ReportTest, AGuessedClassIsDoubtfulInTheTableOfAFolder) {
  WriteText(Path("zoo/bert.onnx"),
            FileText(ONNX_TAG_TEST_MODELS "/bert_tiny/model.onnx"));
  ASSERT_EQ(RunCli({"report", Path("zoo"), "--out-dir", Path("pages")}).exit,
            0);
  EXPECT_EQ(DataOf(FileText(Path("pages/index.html")))["zoo"][0]["root_doubt"],
            true);
}

TEST_F(ReportTest, AReportIsReplacedAndAnotherFileIsNot) {
  WriteText(Path("m.onnx"), SmallModel("/a/Relu"));
  ASSERT_EQ(RunCli({"report", Path("m.onnx")}).exit, 0);
  EXPECT_THAT(RunCli({"report", Path("m.onnx")}).out, HasSubstr("unchanged"));
  WriteText(Path("m.onnx"), SmallModel("/b/Relu"));
  EXPECT_THAT(RunCli({"report", Path("m.onnx")}).out, HasSubstr("replaced"));
  WriteText(Path("mine.html"), "<html>mine</html>");
  const CliResult refused =
      RunCli({"report", Path("m.onnx"), "-o", Path("mine.html")});
  EXPECT_EQ(refused.exit, 4);
  EXPECT_THAT(refused.err, HasSubstr("was not written by onnx-tag"));
  EXPECT_EQ(FileText(Path("mine.html")), "<html>mine</html>");
  EXPECT_EQ(
      RunCli({"report", Path("m.onnx"), "-o", Path("mine.html"), "--force"})
          .exit,
      0);
}

TEST_F(ReportTest, TwoModelsAreCompared) {
  WriteText(Path("a.onnx"), SmallModel("/a/Relu"));
  WriteText(Path("b.onnx"), SmallModel("/b/Relu"));
  const CliResult result =
      RunCli({"report", Path("a.onnx"), Path("b.onnx"), "-o", Path("c.html")});
  ASSERT_EQ(result.exit, 0) << result.err;
  const nlohmann::json data = DataOf(FileText(Path("c.html")));
  EXPECT_EQ(data["kind"], "compare");
  EXPECT_EQ(data["models"].size(), 2u);
  EXPECT_FALSE(data["difference"]["modules"].empty());
}

// Weights are not read, so the page must not call the models equal.
TEST_F(ReportTest, AComparisonSaysThatWeightsWereNotCompared) {
  WriteText(Path("a.onnx"), SmallModel("/a/Relu"));
  ASSERT_EQ(
      RunCli({"report", Path("a.onnx"), Path("a.onnx"), "-o", Path("c.html")})
          .exit,
      0);
  const std::string page = FileText(Path("c.html"));
  const nlohmann::json difference = DataOf(page)["difference"];
  EXPECT_EQ(difference["weights_compared"], false);
  EXPECT_EQ(difference["altered"], 0);
  EXPECT_TRUE(difference["opsets"].empty());
  EXPECT_TRUE(difference["interface"].empty());
  EXPECT_THAT(page, HasSubstr("weights were not compared"));
}

TEST_F(ReportTest, AFolderHasAnIndexAndAPageForEachModel) {
  std::filesystem::create_directories(Path("zoo/sub"));
  WriteText(Path("zoo/one.onnx"), SmallModel("/a/Relu"));
  WriteText(Path("zoo/sub/two.onnx"), SmallModel("/a/Relu"));
  WriteText(Path("zoo/broken.onnx"), "no model");
  EXPECT_EQ(RunCli({"report", Path("zoo")}).exit, 2) << "needs --out-dir";
  const CliResult result =
      RunCli({"report", Path("zoo"), "--out-dir", Path("pages")});
  EXPECT_EQ(result.exit, 5) << result.err;
  EXPECT_TRUE(std::filesystem::exists(Path("pages/sub/two.report.html")));
  const nlohmann::json zoo = DataOf(FileText(Path("pages/index.html")))["zoo"];
  ASSERT_EQ(zoo.size(), 3u);
  EXPECT_EQ(zoo[0]["file"], "broken.onnx");
  EXPECT_THAT(zoo[0]["error"].get<std::string>(),
              HasSubstr("not an ONNX model"));
  EXPECT_EQ(zoo[1]["page"], "one.report.html");
  EXPECT_EQ(zoo[2]["page"], "sub/two.report.html");
  EXPECT_EQ(zoo[2]["parameters"], 6);
}

TEST_F(ReportTest, AModelThatLacksADimensionIsARowOfTheIndex) {
  std::filesystem::create_directories(Path("zoo"));
  WriteText(Path("zoo/a.onnx"), BytesFromText(FileText(ONNX_TAG_TEST_MODELS
                                                       "/nameless.textproto")));
  WriteText(Path("zoo/b.onnx"), SmallModel("/a/Relu"));
  const CliResult result = RunCli({"report", Path("zoo"), "--out-dir",
                                   Path("pages"), "--shape", "batch=2"});
  EXPECT_EQ(result.exit, 5) << result.err;
  const nlohmann::json zoo = DataOf(FileText(Path("pages/index.html")))["zoo"];
  ASSERT_EQ(zoo.size(), 2u);
  EXPECT_THAT(zoo[0]["error"].get<std::string>(), HasSubstr("batch"));
  EXPECT_EQ(zoo[1]["page"], "b.report.html");
}

TEST_F(ReportTest, HostileNamesAreEscapedAndCut) {
  WriteText(Path("m.onnx"), SmallModel("/</script><script>alert(1)</script>" +
                                       std::string(1'000'000, 'x') + "\xff"));
  ASSERT_EQ(RunCli({"report", Path("m.onnx")}).exit, 0);
  const std::string page = FileText(Path("m.report.html"));
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_LT(page.size(), 300'000u);
  const nlohmann::json names = DataOf(page)["models"][0]["strings"]["suffix"];
  EXPECT_THAT(names.dump(), HasSubstr("bytes)"));
}

TEST_F(ReportTest, WrongWordsAreRefused) {
  WriteText(Path("m.onnx"), SmallModel("/a/Relu"));
  const auto exit = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"report", Path("m.onnx")});
    return RunCli(words).exit;
  };
  EXPECT_EQ(exit({"--shape", "x"}), 2);
  EXPECT_EQ(exit({"--shape", "x=a,b"}), 2);
  EXPECT_EQ(exit({"--shape", "z=1"}), 2);
  EXPECT_EQ(exit({"--out-dir", Path("out")}), 2);
  EXPECT_EQ(exit({"b.onnx", "c.onnx"}), 2);
}

}  // namespace
}  // namespace onnx_tag::test
