#include "app/commands/read/find_models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "onnx_tag/error.h"
#include "support/temporary_folder.h"

namespace onnx_tag::test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FindModelsTest : public testing::Test {
 protected:
  FindModelsTest() {
    options_.models = {folder_.path()};
    options_.inputs.recursive = true;
  }
  void Touch(const std::string& name) {
    fs::create_directories(fs::path(folder_ / name).parent_path());
    folder_.Write(name, "x");
  }
  // Paths from the folder, and where they go below --out-dir.
  std::vector<std::string> Found() {
    std::vector<std::string> found;
    folders_.clear();
    for (const FoundModel& model : FindModels(options_)) {
      found.push_back(model.path.starts_with(folder_.path())
                          ? model.path.substr(folder_.path().size() + 1)
                          : model.path);
      folders_.push_back(model.folder);
    }
    return found;
  }

  TemporaryFolder folder_;
  TagOptions options_;
  std::vector<std::string> folders_;
};

TEST_F(FindModelsTest, TakesModelsAndNotWhatWeWroteOrWhatIsHidden) {
  for (const char* const name :
       {"b.onnx", "a/x.onnx", "a/x.tagged.onnx", "a/y.stripped.onnx",
        "a/x.tags.json", ".hidden.onnx", ".git/z.onnx", "c.ONNX", "a/c/d.onnx",
        "b.onnx.data"}) {
    Touch(name);
  }
  EXPECT_THAT(Found(), ElementsAre("b.onnx", "a/x.onnx", "a/c/d.onnx"));
  EXPECT_THAT(folders_, ElementsAre("", "a", "a/c"));
}

TEST_F(FindModelsTest, GlobsAreAboutNamesOrPaths) {
  for (const char* const name :
       {"a/x.onnx", "a/y.onnx", "old/x.onnx", "old/deep/x.onnx", "z.pb"}) {
    Touch(name);
  }
  options_.inputs.exclude = {"y*"};
  EXPECT_THAT(Found(),
              ElementsAre("a/x.onnx", "old/x.onnx", "old/deep/x.onnx"));
  options_.inputs.exclude = {"old"};
  EXPECT_THAT(Found(), ElementsAre("a/x.onnx", "a/y.onnx"));
  options_.inputs.exclude = {"old/**"};
  EXPECT_THAT(Found(), ElementsAre("a/x.onnx", "a/y.onnx"));
  options_.inputs.exclude = {"*/x.onnx"};
  EXPECT_THAT(Found(), ElementsAre("a/y.onnx", "old/deep/x.onnx"));
  options_.inputs.exclude = {};
  options_.inputs.include = {"*.pb", "old/*.onnx"};
  EXPECT_THAT(Found(), ElementsAre("z.pb", "old/x.onnx"));
}

TEST_F(FindModelsTest, LinkedFoldersAreFollowedOnRequestAndOnce) {
  if (!CanMakeLinks()) GTEST_SKIP() << "no symbolic links";
  Touch("a/x.onnx");
  fs::create_directory_symlink("..", folder_ / "a/loop");
  fs::create_directory_symlink("a", folder_ / "b");
  fs::create_symlink("a/x.onnx", folder_ / "link.onnx");
  EXPECT_THAT(Found(), ElementsAre("link.onnx", "a/x.onnx"));
  options_.write.follow = true;
  EXPECT_THAT(Found(), ElementsAre("link.onnx", "a/x.onnx"));
  fs::create_directory(folder_ / "c");
  fs::create_directory_symlink(folder_ / "c", folder_ / "a/zoo");
  Touch("c/y.onnx");
  EXPECT_THAT(Found(), ElementsAre("link.onnx", "a/x.onnx", "a/zoo/y.onnx"));
}

TEST_F(FindModelsTest, WithoutAModelItSaysWhatItLookedFor) {
  try {
    FindModels(options_);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.what(), HasSubstr("searched for *.onnx"));
  }
}

TEST_F(FindModelsTest, ListsAreByLinesOrByNul) {
  EXPECT_THAT(SplitFileList("a\nb\r\n\nc"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(SplitFileList(std::string_view("a\nb\0c\r\0\0", 9)),
              ElementsAre("a\nb", "c\r"));
  EXPECT_THAT(SplitFileList(""), IsEmpty());
}

TEST_F(FindModelsTest, ListsAreMirroredFromWhereWeStand) {
  options_.models = {"named/z.onnx"};
  options_.inputs.files_from =
      folder_.Write("list", "a/x.onnx\n./a/x.onnx\n/b/y.onnx\n../c/z.onnx\n");
  EXPECT_THAT(Found(), ElementsAre("named/z.onnx", "a/x.onnx", "/b/y.onnx",
                                   "../c/z.onnx"));
  EXPECT_THAT(folders_, ElementsAre("", "a", "b", "c"));
}

TEST_F(FindModelsTest, ADeepTreeIsWalkedWithoutRecursion) {
  std::string path;
  for (int i = 0; i < 300; ++i) path += "d/";
  Touch(path + "x.onnx");
  EXPECT_THAT(Found(), ElementsAre(path + "x.onnx"));
}

}  // namespace
}  // namespace onnx_tag::test
