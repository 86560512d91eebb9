// What Windows does in its own way: names, sharing, replacing, leftovers.
#include "file/io/win32/win32.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "file/io/folder.h"
#include "file/io/leftovers.h"
#include "file/io/mapped_file.h"
#include "file/io/output_file.h"
#include "file/io/paths.h"
#include "onnx_tag/error.h"
#include "support/temporary_folder.h"

namespace onnx_tag {
namespace {

using test::TemporaryFolder;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  for (const FolderEntry& entry : ReadFolder(folder)) {
    names.push_back(entry.name);
  }
  return names;
}

void WriteOutput(const std::string& path, const std::string& content,
                 OutputOptions options = {}) {
  OutputFile file = OutputFile::Create(path, Inputs(), options);
  file.Reserve(content.size());
  file.Write(content);
  file.Commit();
}

std::string ErrorOf(const std::string& path) {
  try {
    WriteOutput(path, "new");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string Content(const std::string& path) {
  return std::string(MappedFile::Open(path).bytes());
}

TEST(Win32Test, ANameInAnyScriptIsOneFile) {
  const TemporaryFolder folder;
  const std::string name = "модель-模型-😀.onnx";
  WriteOutput(folder / name, "x");
  EXPECT_THAT(NamesIn(folder.path()), ElementsAre(name));
  EXPECT_EQ(Content(folder / name), "x");
  EXPECT_EQ(ReadWholeFile(folder / name), "x");
  EXPECT_THAT(RealPath(folder / name).value_or(""),
              testing::EndsWith("/" + name));
}

TEST(Win32Test, APathOf300CharactersIsAPath) {
  const TemporaryFolder folder;
  std::string deep = folder.path();
  while (deep.size() < 300) deep += "/a-folder-of-forty-characters-or-so-----";
  MakeFolders(deep);
  EXPECT_TRUE(IsFolder(deep));
  WriteOutput(deep + "/x.onnx", "x");
  WriteOutput(deep + "/x.onnx", "y");
  EXPECT_EQ(Content(deep + "/x.onnx"), "y");
  EXPECT_THAT(NamesIn(deep), ElementsAre("x.onnx"));
  // std::filesystem cannot remove it.
  io::kRealCalls.unlink((deep + "/x.onnx").c_str());
  for (; deep != folder.path(); deep = ParentFolder(deep)) {
    EXPECT_NE(RemoveDirectoryW(io::WidePath(deep).c_str()), 0);
  }
}

TEST(Win32Test, BothSlashesSeparate) {
  EXPECT_EQ(ParentFolder("a\\b/x"), "a\\b");
  EXPECT_EQ(ParentFolder("C:\\models\\x"), "C:\\models");
  EXPECT_EQ(JoinPath("a\\", "x"), "a\\x");
}

TEST(Win32Test, NamesThatDifferInCaseAreOneOutput) {
  const TemporaryFolder folder;
  FileKeys keys;
  EXPECT_EQ(keys.Of(folder / "Модель.onnx"), keys.Of(folder / "мОДЕЛЬ.ONNX"));
  EXPECT_NE(keys.Of(folder / "a.onnx"), keys.Of(folder / "b.onnx"));
}

TEST(Win32Test, AMappedFileIsReplacedAndKeepsItsOldBytesForItsReader) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("m.onnx", "old");
  {
    const MappedFile old = MappedFile::Open(path);
    WriteOutput(path, "new bytes");
    EXPECT_EQ(old.bytes(), "old");
    EXPECT_EQ(Content(path), "new bytes");
  }
  // What was replaced has a temporary name at most, until the next run.
  RemoveLeftovers(folder.path());
  EXPECT_THAT(folder.Names(), ElementsAre("m.onnx"));
}

TEST(Win32Test, AFileThatAnotherProgramHasOpenIsAClearError) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("m.onnx", "old");
  {
    const io::Handle open(CreateFileW(io::WidePath(path).c_str(), GENERIC_READ,
                                      FILE_SHARE_READ, nullptr, OPEN_EXISTING,
                                      0, nullptr));
    ASSERT_TRUE(open.valid());
    EXPECT_EQ(ErrorOf(path), path +
                                 ": could not write: another program has the "
                                 "file open");
  }
  EXPECT_EQ(Content(path), "old");
  EXPECT_THAT(folder.Names(), ElementsAre("m.onnx"));
}

TEST(Win32Test, AReadOnlyFileIsNotReplaced) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("m.onnx", "old");
  SetFileAttributesW(io::WidePath(path).c_str(), FILE_ATTRIBUTE_READONLY);
  EXPECT_THAT(ErrorOf(path), HasSubstr("could not write: Permission denied"));
  EXPECT_EQ(Content(path), "old");
  EXPECT_EQ(MappedFile::Open(path).mode(), 0444u);
  EXPECT_THAT(folder.Names(), ElementsAre("m.onnx"));
  SetFileAttributesW(io::WidePath(path).c_str(), FILE_ATTRIBUTE_NORMAL);
}

TEST(Win32Test, AnOutputIsNoLeftoverUntilItsWriterIsGone) {
  const TemporaryFolder folder;
  folder.Write(".onnx-tag-abc123", "half a file");
  {
    const OutputFile file = OutputFile::Create(folder / "out", Inputs(), {});
    RemoveLeftovers(folder.path());
    EXPECT_EQ(folder.Names().size(), 1u);
    EXPECT_NE(folder.Names().front(), ".onnx-tag-abc123");
  }
  EXPECT_TRUE(folder.Names().empty());
}

TEST(Win32Test, WithoutReplaceAnExistingFileStays) {
  const TemporaryFolder folder;
  OutputOptions options;
  options.replace = false;
  OutputFile file = OutputFile::Create(folder / "out", Inputs(), options);
  folder.Write("out", "another's");
  EXPECT_FALSE(file.TryCommit());
  EXPECT_EQ(Content(folder / "out"), "another's");
}

TEST(Win32Test, AFileThatChangedWhileItWasReadIsAnError) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("m.onnx", "old");
  const MappedFile file = MappedFile::Open(path);
  file.CheckUnchanged();
  WriteOutput(path, "new");
  EXPECT_THROW(file.CheckUnchanged(), Error);
}

TEST(Win32Test, AFolderAndAMissingFileAreErrors) {
  const TemporaryFolder folder;
  const auto error = [](const std::string& path) -> std::string {
    try {
      MappedFile::Open(path);
    } catch (const Error& caught) {
      return caught.what();
    }
    return "";
  };
  EXPECT_THAT(error(folder.path()), HasSubstr("is a folder, not a file"));
  EXPECT_THAT(error(folder / "none"), HasSubstr("No such file or directory"));
  EXPECT_THAT(ErrorOf(folder / "none/x"), HasSubstr("does not exist"));
}

TEST(Win32Test, HardLinksAreOneFile) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("a", "x");
  std::filesystem::create_hard_link(ToPath(path), ToPath(folder / "b"));
  EXPECT_TRUE(SameFile(path, folder / "b"));
  EXPECT_FALSE(SameFile(path, folder.Write("c", "x")));
}

}  // namespace
}  // namespace onnx_tag
