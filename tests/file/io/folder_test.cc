#include "file/io/folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "onnx_tag/error.h"
#include "support/pipe.h"
#include "support/temporary_folder.h"

namespace onnx_tag {
namespace {

namespace fs = std::filesystem;
using test::TemporaryFolder;
using testing::ElementsAre;
using testing::Field;

testing::Matcher<FolderEntry> Is(const char* name, EntryKind kind) {
  return testing::AllOf(Field(&FolderEntry::name, name),
                        Field(&FolderEntry::kind, kind));
}

TEST(FolderTest, EntriesAreSorted) {
  const TemporaryFolder folder;
  folder.Write("b", "");
  fs::create_directory(folder / "c");
  folder.Write(".a", "");
  EXPECT_THAT(ReadFolder(folder.path()),
              ElementsAre(Is(".a", EntryKind::kFile), Is("b", EntryKind::kFile),
                          Is("c", EntryKind::kFolder)));
}

TEST(FolderTest, LinksAndPipesAreOfTheirKind) {
  if (!test::CanMakeLinks()) GTEST_SKIP() << "no symbolic links";
  const TemporaryFolder folder;
  folder.Write("b", "");
  fs::create_directory(folder / "d");
  fs::create_directory_symlink("d", folder / "c");
  fs::create_symlink("b", folder / "link");
  fs::create_symlink("nowhere", folder / "broken");
  if (!test::MakeNamedPipe(folder / "pipe")) GTEST_SKIP() << "no pipes";
  EXPECT_THAT(
      ReadFolder(folder.path()),
      ElementsAre(
          Is("b", EntryKind::kFile), Is("broken", EntryKind::kBrokenLink),
          Is("c", EntryKind::kLinkToFolder), Is("d", EntryKind::kFolder),
          Is("link", EntryKind::kFile), Is("pipe", EntryKind::kOther)));
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

}  // namespace
}  // namespace onnx_tag
