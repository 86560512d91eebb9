#include "file/io/mapped_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "file/io/read_error.h"
#include "file/io/system_calls.h"
#include "onnx_tag/error.h"
#include "support/pipe.h"
#include "support/temporary_folder.h"

namespace onnx_tag {
namespace {

using test::ErrorOf;
using test::OpenError;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

TEST(MappedFileTest, BytesAreThoseOfTheFile) {
  const test::TemporaryFolder folder;
  const std::string path = folder.Write("file", "content");
  const MappedFile file = MappedFile::Open(path);
  EXPECT_EQ(file.bytes(), "content");
  EXPECT_EQ(file.path(), path);
  EXPECT_GT(file.modified(), 0);
  EXPECT_NO_THROW(file.CheckUnchanged());
}

TEST(MappedFileTest, AnEmptyFileHasNoBytes) {
  const test::TemporaryFolder folder;
  const MappedFile file = MappedFile::Open(folder.Write("empty", ""));
  EXPECT_EQ(file.bytes(), "");
  EXPECT_NO_THROW(file.CheckUnchanged());
}

TEST(MappedFileTest, AMovedFileKeepsItsBytes) {
  const test::TemporaryFolder folder;
  MappedFile first = MappedFile::Open(folder.Write("file", "content"));
  MappedFile second = std::move(first);
  EXPECT_EQ(second.bytes(), "content");
  second = MappedFile::Open(folder.Write("other", "other content"));
  EXPECT_EQ(second.bytes(), "other content");
}

TEST(MappedFileTest, WhatIsNoFileIsRefusedByName) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(OpenError(folder.path()),
            folder.path() + ": is a folder, not a file");
  EXPECT_EQ(OpenError(test::kNullDevice),
            std::string(test::kNullDevice) + ": is a device, not a file");
  EXPECT_THAT(OpenError(folder / "missing"),
              AllOf(StartsWith(folder / "missing"),
                    HasSubstr("No such file or directory")));
  // Nobody writes to it: an open that waits would wait for ever.
  if (!test::MakeNamedPipe(folder / "fifo")) return;
  EXPECT_THAT(OpenError(folder / "fifo"), HasSubstr("is a pipe"));
}

TEST(MappedFileTest, EveryChangeIsFound) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "file";
  const auto changed = [&](const std::function<void()>& change) {
    folder.Write("file", "content");
    const MappedFile file = MappedFile::Open(path);
    file.CheckUnchanged();
    change();
    return ErrorOf([&] { file.CheckUnchanged(); }) != "no error";
  };
  EXPECT_FALSE(changed([] {}));
  EXPECT_FALSE(changed([&] {
    std::filesystem::permissions(path, std::filesystem::perms::owner_read |
                                           std::filesystem::perms::owner_write);
  }));
  EXPECT_TRUE(changed([&] { std::ofstream(path, std::ios::app) << "more"; }));
  EXPECT_TRUE(changed([&] {
    std::filesystem::last_write_time(
        path, std::filesystem::last_write_time(path) - std::chrono::hours(1));
  }));
  EXPECT_TRUE(changed([&] {
    folder.Write("new", "content");
    EXPECT_EQ(io::kRealCalls.rename((folder / "new").c_str(), path.c_str()), 0);
  }));
  // Windows may keep the name of a mapped file until nobody has it open.
  bool removed = false;
  EXPECT_EQ(changed([&] {
              io::kRealCalls.unlink(path.c_str());
              removed = !std::filesystem::exists(path);
            }),
            removed);
}

TEST(MappedFileTest, APipeIsReadIntoMemory) {
  int ends[2];
  ASSERT_EQ(test::MakePipe(ends), 0);
  const std::string content(3'000'000, 'p');
  std::thread writer([&] {
    std::size_t done = 0;
    while (done < content.size()) {
      done += static_cast<std::size_t>(io::kRealCalls.write(
          ends[1], content.data() + done, content.size() - done));
    }
    close(ends[1]);
  });
  const MappedFile file = MappedFile::FromDescriptor(ends[0], "<stdin>");
  writer.join();
  close(ends[0]);
  EXPECT_EQ(file.bytes(), content);
  EXPECT_EQ(file.fd(), -1);
  // The only copy: releasing it must not lose it.
  file.Release(0, file.size());
  EXPECT_EQ(file.bytes(), content);
  EXPECT_NO_THROW(file.CheckUnchanged());
}

TEST(MappedFileTest, ARedirectedFileIsMapped) {
  const test::TemporaryFolder folder;
  const std::string path = folder.Write("file", "content");
  const int fd = io::OpenForReading(path.c_str());
  const MappedFile file = MappedFile::FromDescriptor(fd, "<stdin>");
  close(fd);
  EXPECT_EQ(file.bytes(), "content");
  EXPECT_GE(file.fd(), 0);
}

TEST(MappedFileTest, ARedirectedFileReadInPartGivesTheRest) {
  const test::TemporaryFolder folder;
  const int fd = io::OpenForReading(folder.Write("file", "content").c_str());
  ASSERT_EQ(lseek(fd, 3, SEEK_SET), 3);
  EXPECT_EQ(MappedFile::FromDescriptor(fd, "<stdin>").bytes(), "tent");
  close(fd);
}

TEST(MappedFileTest, BytesFromMemoryAreCopied) {
  std::string text = "content";
  const MappedFile file = MappedFile::FromBytes(text, "text");
  text[0] = 'X';
  EXPECT_EQ(file.bytes(), "content");
  EXPECT_EQ(MappedFile::FromBytes("", "none").bytes(), "");
}

}  // namespace
}  // namespace onnx_tag
