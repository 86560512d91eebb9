#include "file/io/output_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <random>

#include "file/io/fault.h"
#include "onnx_tag/error.h"
#include "support/temporary_folder.h"

namespace onnx_tag {
namespace {

using test::fault;
using test::ReadFile;
using test::TemporaryFolder;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Each test runs twice: with files that have no name until they are done, and
// as on a file system that has no such files.
class OutputFileTest : public testing::TestWithParam<bool> {
 protected:
  OutputFileTest() {
    fault = {};
    fault.no_unnamed_files = GetParam();
    options.calls = &test::kFaultyCalls;
  }

  OutputFile Create(const std::string& path) {
    return OutputFile::Create(path, Inputs(), options);
  }

  // The message of what goes wrong while `content` is written to `path`.
  std::string ErrorOf(const std::string& path, Bytes content) {
    try {
      OutputFile file = Create(path);
      file.Reserve(content.size());
      file.Write(content);
      file.Commit();
      return "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kOutput);
      return error.what();
    }
  }

  TemporaryFolder folder;
  OutputOptions options;
};

// None where the system has no such files.
std::vector<bool> Unnamed() {
  const TemporaryFolder folder;
  const int fd = io::kRealCalls.open_unnamed(folder.path().c_str(), 0600);
  if (fd < 0) return {};
  close(fd);
  return {false};
}
INSTANTIATE_TEST_SUITE_P(Unnamed, OutputFileTest, testing::ValuesIn(Unnamed()));
INSTANTIATE_TEST_SUITE_P(Named, OutputFileTest, testing::Values(true));

TEST_P(OutputFileTest, AppearsWithCommitAndNotBefore) {
  {
    OutputFile file = Create(folder / "out");
    file.Write("con");
    file.Write("tent");
    EXPECT_EQ(file.size(), 7u);
    EXPECT_FALSE(std::filesystem::exists(folder / "out"));
    EXPECT_EQ(folder.Names().size(), GetParam() ? 1u : 0u);
    file.Commit();
  }
  EXPECT_THAT(folder.Names(), ElementsAre("out"));
  EXPECT_EQ(ReadFile(folder / "out"), "content");
}

TEST_P(OutputFileTest, WithoutCommitNothingWasEverThere) {
  folder.Write("out", "old");
  {
    OutputFile file = Create(folder / "out");
    file.Write(std::string(1'000'000, 'x'));
  }
  EXPECT_THAT(folder.Names(), ElementsAre("out"));
  EXPECT_EQ(ReadFile(folder / "out"), "old");
}

TEST_P(OutputFileTest, ReplacesTheNameAndNotTheFile) {
  folder.Write("out", "old");
  std::filesystem::create_hard_link(folder / "out", folder / "other");
  EXPECT_EQ(ErrorOf(folder / "out", "new"), "no error");
  EXPECT_EQ(ReadFile(folder / "out"), "new");
  EXPECT_EQ(ReadFile(folder / "other"), "old");
  EXPECT_THAT(folder.Names(), ElementsAre("other", "out"));
}

TEST_P(OutputFileTest, ReplacesALinkAndNotWhatItLeadsTo) {
  if (!test::CanMakeLinks()) GTEST_SKIP() << "no symbolic links";
  folder.Write("real", "old");
  std::filesystem::create_symlink("real", folder / "out");
  EXPECT_EQ(ErrorOf(folder / "out", "new"), "no error");
  EXPECT_FALSE(std::filesystem::is_symlink(folder / "out"));
  EXPECT_EQ(ReadFile(folder / "out"), "new");
  EXPECT_EQ(ReadFile(folder / "real"), "old");
}

TEST_P(OutputFileTest, DoesNotReplaceWhenItMayNot) {
  options.replace = false;
  folder.Write("out", "old");
  EXPECT_EQ(ErrorOf(folder / "out", "new"),
            folder / "out" + ": could not write: File exists");
  EXPECT_EQ(ReadFile(folder / "out"), "old");
  EXPECT_EQ(ErrorOf(folder / "new", "new"), "no error");
  EXPECT_THAT(folder.Names(), ElementsAre("new", "out"));
}

TEST_P(OutputFileTest, ARelativeNameIsWrittenInTheCurrentFolder) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  EXPECT_EQ(ErrorOf("out", "content"), "no error");
  std::filesystem::current_path(before);
  EXPECT_EQ(ReadFile(folder / "out"), "content");
}

TEST_P(OutputFileTest, ImpossiblePlacesAreOutputErrors) {
  EXPECT_THAT(
      ErrorOf(folder / "no/out", "x"),
      HasSubstr("could not write: the folder " + folder.path() + "/no"));
  std::filesystem::create_directory(folder / "taken");
  EXPECT_THAT(ErrorOf(folder / "taken", "x"), HasSubstr("could not write"));
  folder.Write("file", "x");
  EXPECT_THAT(ErrorOf(folder / "file/out", "x"), HasSubstr("Not a directory"));
  EXPECT_THAT(folder.Names(), ElementsAre("file", "taken"));
}

TEST_P(OutputFileTest, AReadOnlyFolderIsAnOutputError) {
  if (test::WritesEverywhere()) GTEST_SKIP() << "root writes everywhere";
  std::filesystem::permissions(
      folder.path(),
      std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  EXPECT_EQ(ErrorOf(folder / "out", "x"),
            folder / "out" + ": could not write: Permission denied");
}

TEST_P(OutputFileTest, ShortAndInterruptedCallsLoseNothing) {
  std::string content;
  for (int i = 0; i < 60'000; ++i) content += std::to_string(i);
  const MappedFile source = MappedFile::Open(folder.Write("source", content));
  fault.interrupt = true;
  fault.longest_write = 4999;
  options.fsync = true;
  OutputFile file = Create(folder / "out");
  file.Reserve(2 * content.size());
  file.Write(content);
  file.CopyFrom(source, 0, source.size());
  file.Commit();
  EXPECT_EQ(ReadFile(folder / "out"), content + content);
}

// Each call that can fail, failing for ever.
TEST_P(OutputFileTest, WhateverFailsLeavesTheOldFileAndNothingElse) {
  options.fsync = true;
  options.mode = 0600;
  folder.Write("out", "old");
  const std::string start = folder / "out" + ": could not write: ";
  for (const char* const call : {"open", "write", "fchmod", "fsync"}) {
    fault.errors = {{call, ENOSPC}};
    EXPECT_EQ(ErrorOf(folder / "out", "new"), start + "No space left on device")
        << call;
    EXPECT_EQ(ReadFile(folder / "out"), "old") << call;
    EXPECT_THAT(folder.Names(), ElementsAre("out")) << call;
  }
  fault.errors = {{"copy_range", ENOSPC}};
  {
    const MappedFile source =
        MappedFile::Open(folder.Write("source", std::string(1 << 20, 'x')));
    EXPECT_THROW(Create(folder / "out").CopyFrom(source, 0, source.size()),
                 Error);
  }
  std::filesystem::remove(folder / "source");
  fault.errors = {{GetParam() ? "rename" : "link", EROFS}};
  EXPECT_EQ(ErrorOf(folder / "out", "new"), start + "Read-only file system");
  fault.errors = {{"rename", EACCES}};
  EXPECT_EQ(ErrorOf(folder / "out", "new"), start + "Permission denied");
  EXPECT_EQ(ReadFile(folder / "out"), "old");
  EXPECT_THAT(folder.Names(), ElementsAre("out"));
}

TEST_P(OutputFileTest, AFullDiskIsFoundBeforeAnythingIsWritten) {
  fault.errors = {{"fallocate", ENOSPC}};
  EXPECT_EQ(ErrorOf(folder / "out", "content"),
            folder / "out" + ": could not write: No space left on device");
  EXPECT_THAT(fault.log, testing::Not(testing::Contains("write")));
  EXPECT_THAT(folder.Names(), IsEmpty());
}

TEST_P(OutputFileTest, AFileSystemThatCannotReserveIsWrittenToAllTheSame) {
  fault.errors = {{"fallocate", EOPNOTSUPP}};
  EXPECT_EQ(ErrorOf(folder / "out", "content"), "no error");
  EXPECT_EQ(ReadFile(folder / "out"), "content");
}

TEST_P(OutputFileTest, WhatIsReservedAndNotWrittenIsNotInTheFile) {
  OutputFile file = Create(folder / "out");
  file.Reserve(100'000);
  file.Write("content");
  file.Commit();
  EXPECT_EQ(ReadFile(folder / "out"), "content");
}

TEST_P(OutputFileTest, AFileSystemWithoutLocksIsWrittenToAllTheSame) {
  fault.errors = {{"flock", ENOLCK}};
  EXPECT_EQ(ErrorOf(folder / "out", "content"), "no error");
}

TEST_P(OutputFileTest, TheDiskHasTheBytesBeforeTheNameAndTheNameBeforeReturn) {
  options.fsync = true;
  folder.Write("out", "old");
  EXPECT_EQ(ErrorOf(folder / "out", "new"), "no error");
  std::vector<std::string> log = fault.log;
  std::erase_if(log, [](const std::string& call) {
    return call != "write" && call != "fsync" && call != "rename";
  });
  std::vector<std::string> expected = {"write", "fsync", "rename"};
  const int fd = io::OpenFolder(folder.path().c_str());
  if (fd >= 0) {
    expected.push_back("fsync");
    close(fd);
  }
  EXPECT_EQ(log, expected);
}

TEST_P(OutputFileTest, SpansOfAnySizeAreCopiedAsTheyAre) {
  std::mt19937 random(3);
  std::string content(3'000'000, '\0');
  for (char& byte : content) byte = static_cast<char>(random());
  const MappedFile mapped = MappedFile::Open(folder.Write("source", content));
  const MappedFile in_memory = MappedFile::FromBytes(content, "memory");
  // A file, a file the kernel will not copy for us, and no file.
  for (const int run : {0, 1, 2}) {
    const MappedFile* const source = run == 2 ? &in_memory : &mapped;
    if (run == 1) fault.errors = {{"copy_range", EXDEV}};
    std::string expected;
    OutputFile file = Create(folder / "out");
    for (int i = 0; i < 100; ++i) {
      const std::size_t offset = random() % content.size();
      const std::size_t longest = i % 2 == 0 ? 300 : 1'000'000;
      const std::size_t size =
          std::min<std::size_t>(random() % longest, content.size() - offset);
      file.CopyFrom(*source, offset, size);
      file.Write("between");
      expected += content.substr(offset, size) + "between";
    }
    EXPECT_EQ(file.size(), expected.size());
    file.Commit();
    EXPECT_EQ(ReadFile(folder / "out"), expected);
  }
}

TEST_P(OutputFileTest, AnInputThatShrinksWhileItIsCopiedIsAnInputError) {
  const std::string path = folder.Write("source", std::string(1 << 20, 'x'));
  const MappedFile source = MappedFile::Open(path);
  std::error_code refused;
  std::filesystem::resize_file(path, 1000, refused);
  if (refused) GTEST_SKIP() << "a mapped file cannot shrink here";
  OutputFile file = Create(folder / "out");
  try {
    file.CopyFrom(source, 0, source.size());
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.what(), HasSubstr("changed while it was read"));
  }
  // Short spans come from the mapping: those are CheckUnchanged()'s to find.
  file.CopyFrom(source, 500'000, 1000);
  EXPECT_THROW(source.CheckUnchanged(), Error);
}

}  // namespace
}  // namespace onnx_tag
