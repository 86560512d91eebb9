// A process that dies in the middle, and two that write the same file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include "file/io/fault.h"
#include "file/io/output_file.h"
#include "onnx_tag/error.h"
#include "support/temporary_folder.h"

namespace onnx_tag {
namespace {

using test::fault;
using test::ReadFile;
using test::TemporaryFolder;
using testing::ElementsAre;

// Runs `action` in a process of its own; returns how it ended.
template <typename Action>
pid_t Fork(Action action) {
  const pid_t child = fork();
  if (child != 0) return child;
  action();
  _exit(0);
}

int Wait(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

void WriteOut(const std::string& path, const std::string& content) {
  OutputOptions options;
  options.fsync = true;
  options.mode = 0644;
  options.calls = &test::kFaultyCalls;
  OutputFile file = OutputFile::Create(path, Inputs(), options);
  file.Reserve(content.size());
  file.Write(content);
  file.Commit();
}

class OutputCrashTest : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Unnamed, OutputCrashTest, testing::Values(false));
INSTANTIATE_TEST_SUITE_P(Named, OutputCrashTest, testing::Values(true));

TEST_P(OutputCrashTest, AKillAtAnyStepLeavesTheOldFileOrTheNewOne) {
  const std::string content(500'000, 'n');
  bool finished = false;
  for (int step = 0; !finished; ++step) {
    SCOPED_TRACE(step);
    const TemporaryFolder folder;
    folder.Write("out", "old");
    fault = {};
    fault.no_unnamed_files = GetParam();
    fault.kill_at = step;
    fault.kill = [] { raise(SIGKILL); };
    const int status = Wait(Fork([&] { WriteOut(folder / "out", content); }));
    finished = !WIFSIGNALED(status);
    if (!finished) {
      EXPECT_EQ(WTERMSIG(status), SIGKILL);
    }

    const std::string left = ReadFile(folder / "out");
    EXPECT_TRUE(left == "old" || left == content) << left.size();
    if (finished) {
      EXPECT_EQ(left, content);
      EXPECT_GT(step, 7);
    }
    // The dead hold no locks.
    RemoveLeftovers(folder.path());
    EXPECT_THAT(folder.Names(), ElementsAre("out"));
  }
}

TEST_P(OutputCrashTest, ANewNameAppearsWholeOrNotAtAll) {
  const std::string content(500'000, 'n');
  bool finished = false;
  for (int step = 0; !finished; ++step) {
    const TemporaryFolder folder;
    fault = {};
    fault.no_unnamed_files = GetParam();
    fault.kill_at = step;
    fault.kill = [] { raise(SIGKILL); };
    finished =
        !WIFSIGNALED(Wait(Fork([&] { WriteOut(folder / "out", content); })));
    if (std::filesystem::exists(folder / "out")) {
      EXPECT_EQ(ReadFile(folder / "out"), content);
    }
  }
}

TEST_P(OutputCrashTest, OfTwoWritersOneWinsAndNoneIsMixed) {
  const TemporaryFolder folder;
  folder.Write("out", std::string(300'000, 'o'));
  fault = {};
  fault.no_unnamed_files = GetParam();
  std::vector<pid_t> children;
  for (const char letter : {'a', 'b'}) {
    children.push_back(Fork([&] {
      for (int i = 0; i < 40; ++i) {
        OutputOptions options;
        options.calls = &test::kFaultyCalls;
        OutputFile file = OutputFile::Create(folder / "out", Inputs(), options);
        file.Write(std::string(300'000, letter));
        file.Commit();
        // Each looks for leftovers all the time: the other's are none.
        RemoveLeftovers(folder.path());
      }
    }));
  }
  for (int i = 0; i < 200; ++i) {
    const std::string seen = ReadFile(folder / "out");
    ASSERT_EQ(seen.size(), 300'000u);
    ASSERT_EQ(seen, std::string(300'000, seen[0]));
  }
  for (const pid_t child : children) {
    const int status = Wait(child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  EXPECT_THAT(folder.Names(), ElementsAre("out"));
}

}  // namespace
}  // namespace onnx_tag
