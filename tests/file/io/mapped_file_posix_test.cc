// What POSIX alone lets happen to a file that is read: other kinds, missing
// permissions, pages that go away; and how much memory reading takes.
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

#include "file/io/mapped_file.h"
#include "file/io/read_error.h"
#include "onnx_tag/error.h"
#include "support/memory.h"
#include "support/temporary_folder.h"

namespace onnx_tag {
namespace {

using test::ErrorOf;
using test::OpenError;
using testing::HasSubstr;

// Reads every byte.
std::size_t Sum(Bytes bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), std::size_t{0},
                         [](std::size_t sum, char byte) {
                           return sum + static_cast<unsigned char>(byte);
                         });
}

TEST(MappedFileTest, TheModeIsThatOfTheFile) {
  const test::TemporaryFolder folder;
  const std::string path = folder.Write("file", "content");
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  EXPECT_EQ(MappedFile::Open(path).mode(), 0640u);
}

TEST(MappedFileTest, ASocketIsRefused) {
  const test::TemporaryFolder folder;
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

}  // namespace
}  // namespace onnx_tag
