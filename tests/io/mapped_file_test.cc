#include "io/mapped_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstring>
#include <numeric>
#include <thread>

#include "onnx_tag/error.h"
#include "support/memory.h"
#include "support/temporary_folder.h"

namespace onnx_tag {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::string ErrorOf(const std::function<void()>& action) {
  try {
    action();
    return "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    return error.what();
  }
}

std::string OpenError(const std::string& path) {
  return ErrorOf([&] { MappedFile::Open(path); });
}

// Reads every byte.
std::size_t Sum(Bytes bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), std::size_t{0},
                         [](std::size_t sum, char byte) {
                           return sum + static_cast<unsigned char>(byte);
                         });
}

TEST(MappedFileTest, BytesAreThoseOfTheFile) {
  const test::TemporaryFolder folder;
  const std::string path = folder.Write("file", "content");
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  const MappedFile file = MappedFile::Open(path);
  EXPECT_EQ(file.bytes(), "content");
  EXPECT_EQ(file.path(), path);
  EXPECT_EQ(file.mode(), 0640u);
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
  EXPECT_EQ(OpenError("/dev/null"), "/dev/null: is a device, not a file");
  EXPECT_THAT(OpenError(folder / "missing"),
              AllOf(StartsWith(folder / "missing"),
                    HasSubstr("No such file or directory")));

  // Nobody writes to it: an open that waits would wait for ever.
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  EXPECT_THAT(OpenError(folder / "fifo"), HasSubstr("is a pipe"));

  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, (folder / "socket").c_str(),
               sizeof address.sun_path - 1);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_THAT(OpenError(folder / "socket"), HasSubstr("socket"));
  close(fd);
}

TEST(MappedFileTest, AnUnreadableFileIsRefused) {
  if (geteuid() == 0) GTEST_SKIP() << "root reads everything";
  const test::TemporaryFolder folder;
  const std::string path = folder.Write("secret", "x");
  ASSERT_EQ(chmod(path.c_str(), 0), 0);
  EXPECT_EQ(OpenError(path), path + ": could not read: Permission denied");
}

TEST(MappedFileTest, AFileThatShrinksIsAnErrorAndNotASignal) {
  const test::TemporaryFolder folder;
  const std::string path = folder.Write("file", std::string(1 << 20, 'x'));
  const MappedFile file = MappedFile::Open(path);
  ASSERT_EQ(truncate(path.c_str(), 5000), 0);
  // What is left of the last page is there, the rest reads as zeros.
  EXPECT_EQ(Sum(file.bytes()), std::size_t{'x'} * 5000);
  EXPECT_EQ(ErrorOf([&] { file.CheckUnchanged(); }),
            path +
                ": the file changed while it was read\n"
                "  try again when no program writes to it");
}

// Size and time are as before: only the missing page tells.
TEST(MappedFileTest, AFileThatShrankForAMomentIsStillAnError) {
  const test::TemporaryFolder folder;
  const std::string path = folder.Write("file", std::string(1 << 20, 'x'));
  struct stat before;
  ASSERT_EQ(stat(path.c_str(), &before), 0);
  const MappedFile file = MappedFile::Open(path);
  ASSERT_EQ(truncate(path.c_str(), 0), 0);
  EXPECT_EQ(file.bytes()[100'000], '\0');
  ASSERT_EQ(truncate(path.c_str(), 1 << 20), 0);
  const timespec times[2] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  EXPECT_THROW(file.CheckUnchanged(), Error);
}

TEST(MappedFileTest, FilesShrinkingUnderSeveralThreadsAreKeptApart) {
  const test::TemporaryFolder folder;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&folder, i] {
      for (int run = 0; run < 20; ++run) {
        const std::string path =
            folder.Write("file" + std::to_string(i), std::string(200'000, 'x'));
        const MappedFile file = MappedFile::Open(path);
        const bool shrinks = (i + run) % 2 == 0;
        if (shrinks) {
          EXPECT_EQ(truncate(path.c_str(), 0), 0);
        }
        EXPECT_EQ(Sum(file.bytes()) == 0, shrinks);
        if (shrinks) {
          EXPECT_THROW(file.CheckUnchanged(), Error);
        } else {
          EXPECT_NO_THROW(file.CheckUnchanged());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// A file without a name: the processes below die and could not remove one.
int UnnamedFile() {
  const int fd = memfd_create("test", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, 8192) != 0) std::abort();
  return fd;
}

// Reads a page that is not there, of a mapping that is not ours.
void ReadForeignMissingPage() {
  const MappedFile guarded = MappedFile::FromDescriptor(UnnamedFile(), "file");
  const int fd = UnnamedFile();
  void* const memory = mmap(nullptr, 8192, PROT_READ, MAP_SHARED, fd, 0);
  if (ftruncate(fd, 0) != 0) std::abort();
  const volatile char* const byte = static_cast<const char*>(memory);
  static_cast<void>(byte[5000]);
}

TEST(MappedFileDeathTest, ABusErrorElsewhereStillEndsTheProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        // A sanitizer's own handler would report instead.
        signal(SIGBUS, SIG_DFL);
        ReadForeignMissingPage();
      },
      testing::KilledBySignal(SIGBUS), "");
}

TEST(MappedFileDeathTest, ABusErrorElsewhereReachesTheHandlerBefore) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        signal(SIGBUS, [](int) { _exit(7); });
        ReadForeignMissingPage();
      },
      testing::ExitedWithCode(7), "");
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
  EXPECT_FALSE(changed([&] { chmod(path.c_str(), 0600); }));
  EXPECT_TRUE(changed([&] { std::ofstream(path, std::ios::app) << "more"; }));
  EXPECT_TRUE(changed([&] {
    const timespec times[2] = {{1, 0}, {1, 0}};
    utimensat(AT_FDCWD, path.c_str(), times, 0);
  }));
  EXPECT_TRUE(changed([&] {
    folder.Write("new", "content");
    rename((folder / "new").c_str(), path.c_str());
  }));
  EXPECT_TRUE(changed([&] { unlink(path.c_str()); }));
}

TEST(MappedFileTest, ReleasedPagesCostNoMemoryAndCanBeReadAgain) {
  const test::TemporaryFolder folder;
  constexpr std::size_t kSize = 64 << 20;
  const std::string path = folder.Write("file", "");
  ASSERT_EQ(truncate(path.c_str(), kSize), 0);
  const MappedFile file = MappedFile::Open(path);
  const std::size_t before = test::ResidentBytes();
  EXPECT_EQ(Sum(file.bytes()), 0u);
  EXPECT_GT(test::ResidentBytes(), before + kSize / 2);
  file.Release(100, kSize - 100);
  EXPECT_LT(test::ResidentBytes(), before + kSize / 8);
  EXPECT_EQ(Sum(file.bytes()), 0u);
  // Nonsense is not advice.
  file.Release(0, kSize * 10);
  file.Release(kSize, 0);
}

// Small steps, large ones, and both: the memory is that of a few megabytes.
TEST(FileWalkTest, AWalkOverALargeFileTakesNoMemory) {
  const test::TemporaryFolder folder;
  constexpr std::size_t kSize = 128 << 20;
  const std::string path = folder.Write("file", "");
  ASSERT_EQ(truncate(path.c_str(), kSize), 0);
  const MappedFile file = MappedFile::Open(path);
  for (const std::size_t small : {std::size_t{500}, std::size_t{500'000}}) {
    test::ResetPeak();
    const std::size_t before = test::ResidentBytes();
    FileWalk walk(file);
    std::size_t sum = 0;
    for (std::size_t at = 0; at < kSize;
         at += at % (16 << 20) < (8 << 20) ? small : 100'000) {
      walk.At(at);
      sum += static_cast<unsigned char>(file.bytes()[at]);
    }
    EXPECT_EQ(sum, 0u);
    EXPECT_LT(test::PeakBytes(), before + (12 << 20)) << small;
  }
}

TEST(FileWalkTest, BytesInMemoryAreWalkedToo) {
  const MappedFile file = MappedFile::FromBytes(std::string(1 << 20, 'x'), "");
  FileWalk walk(file);
  for (std::size_t at = 0; at < file.size(); at += 999) walk.At(at);
  EXPECT_EQ(file.bytes(), std::string(1 << 20, 'x'));
}

TEST(MappedFileTest, APipeIsReadIntoMemory) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const std::string content(3'000'000, 'p');
  std::thread writer([&] {
    std::size_t done = 0;
    while (done < content.size()) {
      done += static_cast<std::size_t>(
          write(ends[1], content.data() + done, content.size() - done));
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
  const int fd = open(path.c_str(), O_RDONLY);
  const MappedFile file = MappedFile::FromDescriptor(fd, "<stdin>");
  close(fd);
  EXPECT_EQ(file.bytes(), "content");
  EXPECT_GE(file.fd(), 0);
}

TEST(MappedFileTest, ARedirectedFileReadInPartGivesTheRest) {
  const test::TemporaryFolder folder;
  const int fd = open(folder.Write("file", "content").c_str(), O_RDONLY);
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
