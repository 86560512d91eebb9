// What POSIX alone has: permissions, limits, and how much memory a process has.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "file/io/fault.h"
#include "file/io/output_file.h"
#include "file/io/system_calls.h"
#include "onnx_tag/error.h"
#include "support/memory.h"
#include "support/temporary_folder.h"

namespace onnx_tag {
namespace {

using test::TemporaryFolder;

mode_t ModeOf(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
}

TEST(OutputFilePosixTest, PermissionsAreTheGivenOnesOrThoseOfTheUmask) {
  for (const bool named : {false, true}) {
    const TemporaryFolder folder;
    test::fault = {};
    test::fault.no_unnamed_files = named;
    OutputOptions options;
    options.calls = &test::kFaultyCalls;
    const mode_t before = umask(027);
    OutputFile::Create(folder / "default", Inputs(), options).Commit();
    options.mode = 0604;
    OutputFile::Create(folder / "given", Inputs(), options).Commit();
    umask(before);
    EXPECT_EQ(ModeOf(folder / "default"), 0640u) << named;
    EXPECT_EQ(ModeOf(folder / "given"), 0604u) << named;
  }
}

void WriteBeyondTheLimit(const TemporaryFolder& folder) {
  signal(SIGXFSZ, SIG_IGN);
  const rlimit limit = {100'000, 100'000};
  setrlimit(RLIMIT_FSIZE, &limit);
  try {
    OutputFile file = OutputFile::Create(folder / "out", Inputs(), {});
    file.Write(std::string(1'000'000, 'x'));
    file.Commit();
  } catch (const Error& error) {
    fprintf(stderr, "%s", error.what());
    _exit(folder.Names().empty() ? 4 : 5);
  }
  _exit(0);
}

// A real limit, instead of a pretended one.
TEST(OutputFileDeathTest, AFileSizeLimitIsAnOutputErrorAndLeavesNothing) {
  const TemporaryFolder folder;
  EXPECT_EXIT(WriteBeyondTheLimit(folder), testing::ExitedWithCode(4),
              "could not write: File too large");
}

TEST(OutputFileMemoryTest, CopyingALargeFileTakesNoMemory) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("source", "");
  constexpr std::uint64_t kSize = 200 << 20;
  ASSERT_EQ(truncate(path.c_str(), kSize), 0);
  const MappedFile source = MappedFile::Open(path);
  // In one piece, and in as many as a graph of small nodes has.
  for (const std::uint64_t piece : {kSize, std::uint64_t{1000}}) {
    OutputFile file = OutputFile::Create(folder / "out", Inputs(), {});
    test::ResetPeak();
    const std::size_t before = test::ResidentBytes();
    for (std::uint64_t at = 0; at < kSize; at += piece) {
      file.CopyFrom(source, at, std::min(piece, kSize - at));
    }
    file.Commit();
    EXPECT_LT(test::PeakBytes(), before + (16 << 20)) << piece;
    EXPECT_EQ(std::filesystem::file_size(folder / "out"), kSize);
  }
}

// A file that is opened later would get the number of a closed stream, and what
// is printed would go into it.
TEST(StandardStreamsTest, ClosedOnesAreOpened) {
  const pid_t child = fork();
  if (child == 0) {
    for (const int fd : {0, 1, 2}) close(fd);
    io::PrepareStandardStreams();
    for (const int fd : {0, 1, 2}) {
      if (fcntl(fd, F_GETFD) < 0) _exit(fd + 1);
    }
    _exit(open("/dev/null", O_RDONLY) > 2 ? 0 : 4);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace onnx_tag
