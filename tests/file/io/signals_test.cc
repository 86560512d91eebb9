#include "file/io/signals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "file/io/fault.h"
#include "file/io/output_file.h"
#include "support/temporary_folder.h"

namespace onnx_tag {
namespace {

using test::TemporaryFolder;
using testing::ElementsAre;
using testing::ExitedWithCode;
using testing::IsEmpty;

// Writes half a file under a temporary name, and is sent `signal`.
void StopHalfway(const TemporaryFolder& folder, int signal) {
  test::fault = {};
  test::fault.no_unnamed_files = true;
  OutputOptions options;
  options.calls = &test::kFaultyCalls;
  OutputFile file = OutputFile::Create(folder / "out", Inputs(), options);
  file.Write(std::string(1'000'000, 'x'));
  if (folder.Names().size() != 1) _exit(1);
  InstallSignalHandlers();
  raise(signal);
  _exit(0);
}

// A shell that starts the tests in the background ignores Ctrl-C for them.
void TakeInterrupts() { signal(SIGINT, SIG_DFL); }

TEST(SignalsDeathTest, CtrlCLeavesNothingAndExitsWith130) {
  const TemporaryFolder folder;
  EXPECT_EXIT(
      {
        TakeInterrupts();
        StopHalfway(folder, SIGINT);
      },
      ExitedWithCode(130), "");
  EXPECT_THAT(folder.Names(), IsEmpty());
}

TEST(SignalsDeathTest, TerminationLeavesNothingAndExitsWith143) {
  const TemporaryFolder folder;
  EXPECT_EXIT(StopHalfway(folder, SIGTERM), ExitedWithCode(143), "");
  EXPECT_THAT(folder.Names(), IsEmpty());
}

// A thread is making a file when another one's handler wants to end the
// program.
void StopWhileNaming(const TemporaryFolder& folder) {
  TakeInterrupts();
  InstallSignalHandlers();
  std::atomic<bool> naming = false;
  std::thread maker([&] {
    const io::TemporaryName name(folder / "half");
    {
      const io::NamingScope scope;
      naming = true;
      // Long enough for a handler that does not wait to be done.
      poll(nullptr, 0, 100);
      folder.Write("half", "");
      folder.Write("waited for", "");
    }
    const io::NamingScope late;
    folder.Write("late", "");
  });
  while (!naming) std::this_thread::yield();
  raise(SIGINT);
  maker.join();
  _exit(0);
}

TEST(SignalsDeathTest, AFileThatIsBeingMadeIsWaitedForAndNoMoreAreMade) {
  const TemporaryFolder folder;
  EXPECT_EXIT(StopWhileNaming(folder), ExitedWithCode(130), "");
  EXPECT_THAT(folder.Names(), ElementsAre("waited for"));
}

TEST(SignalsDeathTest, ASignalThatWasIgnoredStaysIgnored) {
  const TemporaryFolder folder;
  EXPECT_EXIT(
      {
        signal(SIGINT, SIG_IGN);
        StopHalfway(folder, SIGINT);
      },
      ExitedWithCode(0), "");
}

TEST(SignalsDeathTest, AClosedPipeIsAFailedWrite) {
  EXPECT_EXIT(
      {
        InstallSignalHandlers();
        int ends[2];
        if (pipe(ends) != 0) _exit(1);
        close(ends[0]);
        _exit(write(ends[1], "x", 1) == -1 && errno == EPIPE ? 3 : 4);
      },
      ExitedWithCode(3), "");
}

TEST(SignalsDeathTest, AForgottenNameIsNotRemoved) {
  const TemporaryFolder folder;
  folder.Write("kept", "");
  folder.Write("removed", "");
  EXPECT_EXIT(
      {
        io::TemporaryName kept(folder / "kept");
        const io::TemporaryName removed(folder / "removed");
        io::TemporaryName moved = std::move(kept);
        moved.Forget();
        InstallSignalHandlers();
        raise(SIGTERM);
      },
      ExitedWithCode(143), "");
  EXPECT_THAT(folder.Names(), ElementsAre("kept"));
}

TEST(SignalsTest, MoreNamesThanThereIsRoomForAreNoError) {
  std::vector<io::TemporaryName> names;
  for (int i = 0; i < 1000; ++i) names.emplace_back(std::to_string(i));
  EXPECT_EQ(names.back().path(), "999");
  EXPECT_EQ(io::TemporaryName(std::string(10'000, 'x')).path().size(), 10'000u);
}

}  // namespace
}  // namespace onnx_tag
