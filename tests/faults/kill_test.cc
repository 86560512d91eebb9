// 500 times SIGKILL (100 with sanitizers, ONNX_TAG_KILLS if it is set) in
// `--in-place` runs over a folder: nothing is lost, nothing is half-written,
// and at least a fifth of the kills fall between the making of the temporary
// file and its rename.
//
// The moments are random, from a seed; every second one is put off, in small
// steps, until there is a temporary file. Where a kill fell is not guessed: the
// process is stopped first, its descriptors are looked at, and then it is
// killed as it stands. A temporary file is one without a name (O_TMPFILE), or
// one called .onnx-tag-XXXXXX.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <thread>

#include "support/onnx_models.h"
#include "support/process.h"
#include "support/run_cli.h"
#include "support/sanitized.h"
#include "support/temporary_folder.h"

namespace onnx_tag::test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

// Sanitizers start six times as slowly, and what is on disk is the same.
int Kills() {
  const char* const asked = std::getenv("ONNX_TAG_KILLS");
  if (asked != nullptr) return std::atoi(asked);
  return kSanitized ? 100 : 500;
}

constexpr int kMostSteps = 2000;
constexpr int kModels = 6;

std::string SlowModel(int number) {
  schema::ModelProto model;
  model.set_ir_version(8);
  for (int i = 0; i < 400; ++i) {
    AddNode(*model.mutable_graph(), "Relu",
            "/m" + std::to_string(number) + "/Relu_" + std::to_string(i),
            {"v" + std::to_string(i)}, {"v" + std::to_string(i + 1)});
  }
  // Writing takes its time.
  schema::TensorProto* const weight = model.mutable_graph()->add_initializer();
  weight->set_name("w");
  weight->set_raw_data(std::string(200'000, static_cast<char>('a' + number)));
  return model.SerializeAsString();
}

class KillTest : public testing::Test {
 protected:
  KillTest() {
    for (int i = 0; i < kModels; ++i) {
      names_.push_back(std::to_string(i) + ".onnx");
      untagged_.push_back(SlowModel(i));
      folder_.Write(names_.back(), untagged_.back());
    }
    EXPECT_EQ(Process(Args()).Wait(), 0);
    for (const std::string& name : names_) {
      tagged_.push_back(ReadFile(folder_ / name));
    }
  }

  std::vector<std::string> Args() const {
    return {"-r", folder_.path(), "--in-place", "--no-sidecar", "-j", "2"};
  }

  void Reset() {
    for (int i = 0; i < kModels; ++i) {
      folder_.Write(names_[static_cast<std::size_t>(i)],
                    untagged_[static_cast<std::size_t>(i)]);
    }
  }

  // How long a whole run takes now, on a machine with other work.
  microseconds RunTime() {
    Reset();
    const Clock::time_point start = Clock::now();
    EXPECT_EQ(Process(Args()).Wait(), 0);
    return std::chrono::duration_cast<microseconds>(Clock::now() - start);
  }

  // Whether a stopped process has a temporary file open in our folder.
  bool HasTemporaryFile(pid_t pid) const {
    const std::string here = fs::canonical(folder_.path()).string() + "/";
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(
             "/proc/" + std::to_string(pid) + "/fd", error)) {
      const std::string target = fs::read_symlink(entry.path(), error).string();
      if (!target.starts_with(here)) continue;
      const std::string name = target.substr(here.size());
      if (name.starts_with("#") || name.starts_with(".onnx-tag-")) return true;
    }
    return false;
  }

  std::vector<std::string> Leftovers() const {
    std::vector<std::string> found;
    for (const std::string& name : folder_.Names()) {
      if (name.starts_with(".onnx-tag-")) found.push_back(name);
    }
    return found;
  }

  // Every model is as it was or wholly tagged; returns how many are tagged.
  int CheckModels() const {
    int tagged = 0;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const std::string now = ReadFile(folder_ / names_[i]);
      const bool is_tagged = now == tagged_[i];
      EXPECT_TRUE(is_tagged || now == untagged_[i])
          << names_[i] << " has " << now.size() << " bytes";
      tagged += is_tagged ? 1 : 0;
    }
    return tagged;
  }

  TemporaryFolder folder_;
  std::vector<std::string> names_;
  std::vector<std::string> untagged_;
  std::vector<std::string> tagged_;
};

TEST_F(KillTest, KillsLoseNothing) {
  if (!fs::exists("/proc/self/fd")) {
    GTEST_SKIP() << "without /proc nobody sees which files are open";
  }
  std::mt19937 random(20260815);
  const int kills = Kills();
  int killed = 0;
  int in_the_window = 0;
  int left_over = 0;
  microseconds run_time = RunTime();
  Reset();
  while (killed < kills && !HasFailure()) {
    Process process(Args());
    std::this_thread::sleep_for(
        microseconds(random() % static_cast<unsigned>(run_time.count())));
    bool stopped = process.Stop();
    // Half of the kills wait for a temporary file, however slow the machine is
    // in getting there.
    for (int step = 0; stopped && killed % 2 == 0 && step < kMostSteps &&
                       !HasTemporaryFile(process.pid());
         ++step) {
      process.Kill(SIGCONT);
      std::this_thread::sleep_for(microseconds(random() % 200));
      stopped = process.Stop();
    }
    if (!stopped) {
      // It was quicker; all is tagged.
      EXPECT_EQ(process.Wait(), 0) << process.err();
      run_time = std::min(run_time, RunTime());
      Reset();
      continue;
    }
    const bool temporary = HasTemporaryFile(process.pid());
    process.Kill(SIGKILL);
    EXPECT_EQ(process.Wait(), -SIGKILL);
    ++killed;
    in_the_window += temporary ? 1 : 0;
    left_over += Leftovers().empty() ? 0 : 1;
    if (CheckModels() == kModels) Reset();
  }
  // What the dead left is removed by a run that writes there.
  Reset();
  const std::string dead = folder_.Write(".onnx-tag-dead01", "half a model");
  EXPECT_EQ(Process(Args()).Wait(), 0);
  EXPECT_FALSE(fs::exists(dead));
  EXPECT_TRUE(Leftovers().empty());
  EXPECT_EQ(CheckModels(), kModels);
  std::printf("%d kills, %d with a temporary file, %d left one behind\n",
              killed, in_the_window, left_over);
  EXPECT_GE(in_the_window * 100, 20 * kills);
}

}  // namespace
}  // namespace onnx_tag::test
