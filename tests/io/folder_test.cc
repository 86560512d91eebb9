#include "io/folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "onnx_tag/error.h"
#include "support/temporary_folder.h"

namespace onnx_tag {
namespace {

namespace fs = std::filesystem;
using test::TemporaryFolder;
using testing::ElementsAre;
using testing::Field;

TEST(FolderTest, EntriesAreSortedAndOfTheirKind) {
  const TemporaryFolder folder;
  folder.Write("b", "");
  folder.Write(".a", "");
  fs::create_directory(folder / "d");
  fs::create_directory_symlink("d", folder / "c");
  fs::create_symlink("b", folder / "link");
  fs::create_symlink("nowhere", folder / "broken");
  mkfifo((folder / "pipe").c_str(), 0600);
  const auto is = [](const char* name, EntryKind kind) {
    return testing::AllOf(Field(&FolderEntry::name, name),
                          Field(&FolderEntry::kind, kind));
  };
  EXPECT_THAT(
      ReadFolder(folder.path()),
      ElementsAre(is(".a", EntryKind::kFile), is("b", EntryKind::kFile),
                  is("broken", EntryKind::kBrokenLink),
                  is("c", EntryKind::kLinkToFolder),
                  is("d", EntryKind::kFolder), is("link", EntryKind::kFile),
                  is("pipe", EntryKind::kOther)));
}

TEST(FolderTest, AFolderThatIsNotThereIsAnInputError) {
  const TemporaryFolder folder;
  try {
    ReadFolder(folder / "missing");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.what(), testing::HasSubstr("could not read the folder"));
  }
}

TEST(FolderTest, Joins) {
  EXPECT_EQ(JoinPath("a", "b"), "a/b");
  EXPECT_EQ(JoinPath("a/", "b"), "a/b");
  EXPECT_EQ(JoinPath("", "b"), "b");
  EXPECT_EQ(JoinPath("/", "b"), "/b");
}

}  // namespace
}  // namespace onnx_tag
