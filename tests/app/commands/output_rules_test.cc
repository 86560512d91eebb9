// What may be written where, and what stands there afterwards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "file/io/file_status.h"
#include "support/onnx_models.h"
#include "support/pipe.h"
#include "support/run_cli.h"
#include "support/temporary_folder.h"

namespace onnx_tag::test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class OutputRulesTest : public testing::Test {
 protected:
  OutputRulesTest()
      : bytes_(BytesFromText(
            "graph { node { op_type: 'Relu' name: '/a/Relu' } }")),
        model_(folder_.Write("m.onnx", bytes_)),
        tagged_(folder_ / "m.tagged.onnx"),
        sidecar_(folder_ / "m.tags.json") {}

  // Runs `tag` and gives its exit code.
  int Tag(std::vector<std::string> args) {
    args.insert(args.begin(), "tag");
    last_ = RunCli(args);
    return last_.exit;
  }

  std::string Tagged() { return RunCli({"tag", model_, "-o", "-", "-q"}).out; }

  TemporaryFolder folder_;
  const std::string bytes_;
  const std::string model_;
  const std::string tagged_;
  const std::string sidecar_;
  CliResult last_;
};

TEST_F(OutputRulesTest, WritesBesideTheInput) {
  EXPECT_EQ(Tag({model_}), 0) << last_.err;
  EXPECT_THAT(folder_.Names(),
              ElementsAre("m.onnx", "m.tagged.onnx", "m.tags.json"));
  EXPECT_EQ(ReadFile(model_), bytes_);
  EXPECT_EQ(ReadFile(tagged_), Tagged());
}

TEST_F(OutputRulesTest, TheSidecarFollowsTheOutputsName) {
  EXPECT_EQ(Tag({model_, "-o", folder_ / "X.onnx"}), 0);
  EXPECT_THAT(folder_.Names(), ElementsAre("X.onnx", "X.tags.json", "m.onnx"));
}

TEST_F(OutputRulesTest, ChosenParts) {
  EXPECT_EQ(Tag({model_, "--no-sidecar"}), 0);
  EXPECT_THAT(folder_.Names(), ElementsAre("m.onnx", "m.tagged.onnx"));
  fs::remove(tagged_);
  EXPECT_EQ(Tag({model_, "--sidecar-only"}), 0);
  EXPECT_THAT(folder_.Names(), ElementsAre("m.onnx", "m.tags.json"));
  fs::remove(sidecar_);
  EXPECT_EQ(Tag({model_, "--dry-run"}), 0);
  EXPECT_THAT(folder_.Names(), ElementsAre("m.onnx"));
}

TEST_F(OutputRulesTest, EqualBytesAreLeftAlone) {
  ASSERT_EQ(Tag({model_}), 0);
  const auto before = io::StatusOf(tagged_);
  EXPECT_EQ(Tag({model_}), 0);
  EXPECT_THAT(last_.out, HasSubstr("unchanged"));
  const auto after = io::StatusOf(tagged_);
  ASSERT_TRUE(before && after);
  EXPECT_EQ(before->id, after->id);
  EXPECT_EQ(before->modified, after->modified);
}

TEST_F(OutputRulesTest, EqualBytesAreLeftAloneInAFolderThatCannotBeWritten) {
  if (WritesEverywhere()) GTEST_SKIP() << "nothing stops root";
  ASSERT_EQ(Tag({model_}), 0);
  fs::permissions(folder_.path(),
                  fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_EQ(Tag({model_}), 0) << last_.err;
}

TEST_F(OutputRulesTest, OursIsReplacedAndOthersAreRefused) {
  ASSERT_EQ(Tag({model_}), 0);
  // Tags of another strategy: still ours.
  schema::ModelProto other = ModelFromText("graph { node { op_type: 'B' } }");
  AddMetadata(other, "pkg.onnx_tag.version", "0.0.1");
  folder_.Write("m.tagged.onnx", other.SerializeAsString());
  EXPECT_EQ(Tag({model_}), 0) << last_.err;
  EXPECT_EQ(ReadFile(tagged_), Tagged());

  for (const std::string& foreign :
       {std::string("somebody's notes"), std::string(), bytes_}) {
    folder_.Write("m.tagged.onnx", foreign);
    EXPECT_EQ(Tag({model_}), 4);
    EXPECT_THAT(last_.err, HasSubstr("was not written by onnx-tag"));
    EXPECT_EQ(ReadFile(tagged_), foreign);
  }
  EXPECT_EQ(Tag({model_, "--force"}), 0);
  EXPECT_EQ(ReadFile(tagged_), Tagged());
}

TEST_F(OutputRulesTest, NothingIsWrittenWhereOneOutputIsRefused) {
  folder_.Write("m.tags.json", "{}");
  EXPECT_EQ(Tag({model_}), 4);
  EXPECT_THAT(folder_.Names(), ElementsAre("m.onnx", "m.tags.json"));
  EXPECT_EQ(ReadFile(sidecar_), "{}");
}

TEST_F(OutputRulesTest, ATaggedModelIsNoSidecar) {
  ASSERT_EQ(Tag({model_}), 0);
  EXPECT_EQ(Tag({model_, "--sidecar-only", "--sidecar", tagged_}), 4);
  EXPECT_EQ(ReadFile(tagged_), Tagged());
}

TEST_F(OutputRulesTest, TheOutputIsNotTheInput) {
  EXPECT_EQ(Tag({model_, "-o", model_}), 4);
  EXPECT_THAT(last_.err, HasSubstr("is an input of this command (the model)"));
  fs::create_hard_link(model_, folder_ / "same.onnx");
  EXPECT_EQ(Tag({model_, "-o", folder_ / "same.onnx", "--force"}), 4);
  EXPECT_EQ(Tag({model_, "--sidecar", model_, "--force"}), 4);
  EXPECT_EQ(Tag({model_, "-o", sidecar_, "--sidecar", sidecar_}), 4);
  EXPECT_EQ(ReadFile(model_), bytes_);
}

TEST_F(OutputRulesTest, InPlaceReplacesTheInput) {
  const std::string tagged = Tagged();
  EXPECT_EQ(Tag({model_, "--in-place"}), 0) << last_.err;
  EXPECT_EQ(ReadFile(model_), tagged);
  EXPECT_EQ(Tag({model_, "--in-place"}), 0);
  EXPECT_THAT(last_.out, HasSubstr("unchanged"));
  EXPECT_EQ(RunCli({"strip", model_, "--in-place"}).exit, 0);
  EXPECT_EQ(ReadFile(model_), bytes_);
}

TEST_F(OutputRulesTest, InPlaceThroughALinkNeedsFollow) {
  if (!CanMakeLinks()) GTEST_SKIP() << "no symbolic links";
  const std::string link = folder_ / "link.onnx";
  fs::create_symlink(model_, link);
  const std::string tagged = Tagged();
  EXPECT_EQ(Tag({link, "--in-place"}), 4);
  EXPECT_THAT(last_.err, HasSubstr("--follow"));
  EXPECT_EQ(ReadFile(model_), bytes_);
  EXPECT_EQ(Tag({link, "--in-place", "--follow"}), 0) << last_.err;
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(ReadFile(model_), tagged);
}

TEST_F(OutputRulesTest, ALinkedOutputStaysALink) {
  if (!CanMakeLinks()) GTEST_SKIP() << "no symbolic links";
  const std::string target = folder_.Write("target", "");
  const std::string link = folder_ / "out.onnx";
  fs::create_symlink(target, link);
  EXPECT_EQ(Tag({model_, "-o", link, "--no-sidecar"}), 4);
  EXPECT_EQ(Tag({model_, "-o", link, "--no-sidecar", "--force"}), 0);
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(ReadFile(target), Tagged());
}

TEST_F(OutputRulesTest, PermissionsAreKept) {
  fs::permissions(model_, fs::perms::owner_read | fs::perms::group_read);
  ASSERT_EQ(Tag({model_}), 0);
  const fs::perms kept = fs::status(model_).permissions();
  EXPECT_EQ(kept & fs::perms::owner_all,
            fs::perms::owner_read | (kept & fs::perms::owner_exec));
  for (const std::string& output : {tagged_, sidecar_}) {
    EXPECT_EQ(fs::status(output).permissions(), kept);
  }
}

TEST_F(OutputRulesTest, FoldersAndDevicesAreNeverReplaced) {
  EXPECT_EQ(Tag({model_, "-o", folder_.path(), "--force"}), 4);
  EXPECT_THAT(last_.err, HasSubstr("is a folder"));
  EXPECT_EQ(Tag({model_, "-o", kNullDevice, "--no-sidecar", "--force"}), 4);
  EXPECT_THAT(last_.err, HasSubstr("is a device or a pipe"));
  if (!MakeNamedPipe(folder_ / "pipe")) return;
  EXPECT_EQ(Tag({model_, "-o", folder_ / "pipe", "--force"}), 4);
  EXPECT_EQ(Tag({folder_ / "pipe"}), 3);
}

TEST_F(OutputRulesTest, OutDirIsMadeAndAMisspelledFolderIsNot) {
  EXPECT_EQ(Tag({model_, "--out-dir", folder_ / "new/deep"}), 0) << last_.err;
  EXPECT_TRUE(fs::exists(folder_ / "new/deep/m.tagged.onnx"));
  EXPECT_TRUE(fs::exists(folder_ / "new/deep/m.tags.json"));
  EXPECT_EQ(Tag({model_, "-o", folder_ / "typo/x.onnx"}), 4);
  EXPECT_THAT(last_.err, HasSubstr("does not exist"));
  EXPECT_FALSE(fs::exists(folder_ / "typo"));
}

TEST_F(OutputRulesTest, StandardInputAndOutput) {
  const std::string tagged = Tagged();
  for (const bool piped : {false, true}) {
    const CliResult result = RunCli({"-"}, bytes_, piped);
    EXPECT_EQ(result.exit, 0);
    EXPECT_EQ(result.out, tagged);
    EXPECT_THAT(result.err, StartsWith("standard input: 1 node"));
  }
  EXPECT_THAT(folder_.Names(), ElementsAre("m.onnx")) << "and no sidecar";
  const CliResult result =
      RunCli({"-", "-o", folder_ / "X.onnx"}, bytes_, true);
  EXPECT_THAT(result.out, StartsWith("standard input: 1 node"));
  EXPECT_THAT(folder_.Names(), ElementsAre("X.onnx", "X.tags.json", "m.onnx"));
  EXPECT_EQ(RunCli({"-"}, "no model", true).exit, 3);
}

TEST_F(OutputRulesTest, NamesInMessagesAreHarmless) {
  const std::string path = folder_ / "a\x1b[2J\nonnx-tag: fine.onnx";
  EXPECT_EQ(Tag({path}), 3);
  EXPECT_THAT(last_.err, HasSubstr("a\\x1b[2J\\x0aonnx-tag: fine.onnx"));
  std::error_code refused;
  if (!fs::copy_file(model_, path, refused)) {
    GTEST_SKIP() << "no file can have such a name here";
  }
  EXPECT_EQ(Tag({path}), 0);
  EXPECT_EQ(last_.out.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace onnx_tag::test
