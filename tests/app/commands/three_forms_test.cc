// Commands answer alike from a model that is mapped, from the tagged model, and
// from the sidecar. tools/checks/check_three_forms.py does the same on many
// models.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>

#include "support/onnx_models.h"
#include "support/run_cli.h"
#include "support/temporary_folder.h"

namespace onnx_tag::test {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

void Erase(std::string& text, std::string_view part) {
  for (std::size_t at = 0; (at = text.find(part, at)) != text.npos;) {
    text.erase(at, part.size());
  }
}

// Without the names of the files in `folder`, the words for where the tags are
// from, and what `diff` says about sizes.
std::string Plain(std::string text, const std::string& folder) {
  Erase(text, folder);
  for (const char* part :
       {"mapped/", "tagged/", "sidecar/", ".onnx", ".tags.json",
        "\"tags_from\": \"tags in the file\", ", "\"tags_from\": \"sidecar\", ",
        "\"tags_from\": \"mapped\", ", "(tags in the file)", "(sidecar)",
        "(mapped)", ", tags in the file", ", sidecar", ", mapped"}) {
    Erase(text, part);
  }
  std::string plain;
  for (const std::string& line : Lines(text)) {
    const bool counts =
        line.find("; FLOPs ") != line.npos || line.ends_with(" parameters");
    plain += line.substr(0, counts ? line.find(" parameter") : line.npos);
    plain += '\n';
  }
  return plain;
}

// Without what follows from shapes, and the size of the file.
Json WithoutSizes(const Json& value) {
  static const std::regex sizes("bytes|flops|dimensions|activation|sizes_for");
  if (value.is_array()) {
    Json list = Json::array();
    for (const Json& item : value) list.push_back(WithoutSizes(item));
    return list;
  }
  if (!value.is_object()) return value;
  Json object = Json::object();
  for (const auto& [key, member] : value.items()) {
    if (key != "tags_from" && key != "file" && key != "sidecar" &&
        !std::regex_search(key, sizes)) {
      object[key] = WithoutSizes(member);
    }
  }
  return object;
}

class ThreeFormsTest : public testing::TestWithParam<std::string> {
 protected:
  // Each form is alone in a folder.
  void SetUp() override {
    const std::string model =
        std::string(ONNX_TAG_TEST_FOLDER) + "/" + GetParam() + ".onnx";
    for (const char* form : {"mapped", "tagged", "sidecar"}) {
      std::filesystem::create_directory(folder_ / form);
    }
    std::filesystem::copy_file(model, Path("mapped"));
    const CliResult tagged =
        RunCli({"tag", Path("mapped"), "-o", Path("tagged"), "--sidecar",
                Path("sidecar")});
    ASSERT_EQ(tagged.exit, 0) << tagged.err;
  }

  std::string Path(const std::string& form) const {
    return folder_ / (form + (form == "sidecar" ? "/m.tags.json" : "/m.onnx"));
  }

  std::string Answer(const std::string& form, std::vector<std::string> words) {
    words.insert(words.begin() + 1, Path(form));
    const CliResult result = RunCli(words);
    return std::to_string(result.exit) + "\n" + Plain(result.out, folder_ / "");
  }

  void ExpectAlike(const std::vector<std::string>& words) {
    const std::string expected = Answer("mapped", words);
    for (const char* form : {"tagged", "sidecar"}) {
      EXPECT_EQ(Answer(form, words), expected)
          << form << ": " << testing::PrintToString(words);
    }
  }

  // A sidecar holds no shapes.
  void ExpectAlikeWithoutSizes(const std::vector<std::string>& words) {
    EXPECT_EQ(Answer("tagged", words), Answer("mapped", words));
    const auto value = [&](const char* form) {
      return WithoutSizes(Json::parse(Answer(form, words).substr(2)));
    };
    EXPECT_EQ(value("sidecar"), value("mapped"));
  }

  TemporaryFolder folder_;
};

TEST_P(ThreeFormsTest, QueriesFindTheSameNodes) {
  for (const char* query :
       {"layer=0", "within=*Layer", "class_confidence>=high",
        "type_confidence<high", "tag=/*/*/**", "role=/Model/**", "origin=**"}) {
    ExpectAlike({"query", query, "--json"});
  }
  ExpectAlike({"select", "type!=other", "--for", "olive"});
}

TEST_P(ThreeFormsTest, TreesAndTablesAreEqual) {
  ExpectAlikeWithoutSizes({"show", "--json"});
  ExpectAlike({"export", "--to", "tsv"});
  ExpectAlike({"export", "--to", "graphml"});
  ExpectAlike({"check", "--min-coverage", "100", "--max-untagged", "0"});
  EXPECT_EQ(Answer("tagged", {"show"}), Answer("mapped", {"show"}));
}

TEST_P(ThreeFormsTest, NothingDiffers) {
  for (const char* form : {"mapped", "tagged", "sidecar"}) {
    ExpectAlike({"diff", Path(form)});
    EXPECT_THAT(Answer("mapped", {"diff", Path(form)}),
                HasSubstr("no difference"));
  }
}

TEST_P(ThreeFormsTest, ProfilesAreRolledUpAlike) {
  const Json nodes = Json::parse(ReadFile(Path("sidecar"))).at("nodes");
  std::string table;
  for (const Json& node : nodes) {
    table += node.at("outputs").at(0).get<std::string>() + "\t2.5\n";
  }
  const std::string profile = folder_.Write("numbers.tsv", table);
  for (const char* by : {"module", "class"}) {
    ExpectAlike({"profile", profile, "--by", by, "--top", "0"});
  }
}

TEST_P(ThreeFormsTest, TransfersGiveTheSameSidecar) {
  const std::string out = folder_ / "out.tags.json";
  std::string expected;
  for (const char* form : {"mapped", "tagged", "sidecar"}) {
    RunCli({"transfer", Path(form), Path("mapped"), "--sidecar-only",
            "--sidecar", out, "--force"});
    const std::string written = ReadFile(out);
    if (expected.empty()) expected = written;
    EXPECT_EQ(written, expected) << form;
  }
}

TEST_P(ThreeFormsTest, NodesAreExplainedAlike) {
  for (const char* node : {"#0", "#7"}) {
    const std::string expected = Answer("mapped", {"explain", node});
    EXPECT_EQ(Answer("tagged", {"explain", node}), expected);
    EXPECT_EQ(Answer("mapped", {"explain", node, "--sidecar", Path("sidecar")}),
              expected);
  }
}

TEST_P(ThreeFormsTest, TheTaggedModelHasTheSidecarsModules) {
  const std::string again = folder_ / "again.tags.json";
  EXPECT_EQ(
      RunCli({"export", Path("tagged"), "--to", "sidecar", "-o", again}).exit,
      0);
  EXPECT_EQ(WithoutSizes(Json::parse(ReadFile(again))),
            WithoutSizes(Json::parse(ReadFile(Path("sidecar")))));
}

INSTANTIATE_TEST_SUITE_P(Models, ThreeFormsTest,
                         testing::Values("models/bert_tiny/model",
                                         "truth/bert/ts-ortext",
                                         "truth/own_gnn/dyn-qdyn-anon"),
                         [](const auto& parameter) {
                           return std::regex_replace(parameter.param,
                                                     std::regex("\\W"), "_");
                         });

TEST(ThreeFormsOfBertTest, ModulesAroundNodesAreFoundByClass) {
  const TemporaryFolder folder;
  const std::string model =
      std::string(ONNX_TAG_TEST_FOLDER) + "/models/bert_tiny/model.onnx";
  const std::string tagged = folder / "t.onnx";
  const std::string sidecar = folder / "s.tags.json";
  RunCli({"tag", model, "-o", tagged, "--sidecar", sidecar});
  for (const std::string& form : {model, tagged, sidecar}) {
    EXPECT_EQ(Lines(RunCli({"query", form, "within=BertLayer"}).out).size(),
              136u)
        << form;
  }
}

// A tagged model whose list of modules is `change`d.
class ListOfModulesTest : public testing::Test {
 protected:
  std::string Changed(const std::string& value) {
    const std::string tagged = folder_ / "t.onnx";
    RunCli({"tag",
            std::string(ONNX_TAG_TEST_FOLDER) + "/truth/bert/ts-ortext.onnx",
            "-o", tagged, "--no-sidecar", "--force"});
    schema::ModelProto proto;
    EXPECT_TRUE(proto.ParseFromString(ReadFile(tagged)));
    for (auto& entry : *proto.mutable_metadata_props()) {
      if (entry.key() == "pkg.onnx_tag.modules") entry.set_value(value);
    }
    return folder_.Write("c.onnx", proto.SerializeAsString());
  }

  TemporaryFolder folder_;
};

TEST_F(ListOfModulesTest, GarbageIsAWarningAndAFinding) {
  for (const std::string& value :
       {std::string("garbage"), std::string("{\"modules\": [[0, 9]]}"),
        std::string(100000, '[')}) {
    const std::string changed = Changed(value);
    const CliResult show = RunCli({"show", changed});
    EXPECT_EQ(show.exit, 0);
    EXPECT_THAT(show.err, HasSubstr("'pkg.onnx_tag.modules' cannot be read"));
    const CliResult check = RunCli({"check", changed});
    EXPECT_EQ(check.exit, 1);
    EXPECT_THAT(check.out, HasSubstr("[bad-value]"));
    EXPECT_THAT(check.out, HasSubstr("pkg.onnx_tag.modules"));
  }
}

TEST_F(ListOfModulesTest, OneOfAnotherModelIsAFinding) {
  const std::string changed =
      Changed(R"({"root":["Net",3,[]],"classes":["Net"],)"
              R"("modules":[[1,3],[0,"bert",1,3],[1,"embeddings",1,3]]})");
  const CliResult check = RunCli({"check", changed});
  EXPECT_EQ(check.exit, 1);
  EXPECT_THAT(check.out, HasSubstr("[missing-module]"));
  EXPECT_THAT(check.out, HasSubstr("[module-conflict]"));
  EXPECT_EQ(RunCli({"show", changed}).exit, 0);
}

}  // namespace
}  // namespace onnx_tag::test
