// What can go wrong around a run: disks, permissions, limits, signals, links.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "faults/zoo.h"
#include "support/process.h"
#include "support/sanitized.h"

namespace onnx_tag::test {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class PosixFaultsTest : public Zoo {
 protected:
  static std::function<void()> Limit(int resource, rlim_t limit) {
    return [=] {
      const rlimit both = {limit, limit};
      setrlimit(static_cast<__rlimit_resource>(resource), &both);
    };
  }
  // A user who may do little. Only root can become one.
  static void BecomeNobody() {
    if (setgid(65534) != 0 || setuid(65534) != 0) _exit(125);
  }
};

TEST_F(PosixFaultsTest, AFileLimitIsAFullDisk) {
  const std::string big = Add("big.onnx", 3, 300'000);
  Add("small.onnx");
  for (const std::string mode : {"--no-sidecar", "--in-place"}) {
    SCOPED_TRACE(mode);
    Process run({"-r", zoo(), mode, "--json"}, {},
                Limit(RLIMIT_FSIZE, 200'000));
    EXPECT_EQ(run.Wait(), 5);
    EXPECT_THAT(run.out(), HasSubstr("could not write: File too large"));
    EXPECT_THAT(run.out(), HasSubstr("\"ok\": 1"));
    EXPECT_EQ(ReadFile(big), Bytes(3, 300'000));
    EXPECT_THAT(ZooNames(), Not(Contains("big.tagged.onnx")));
    EXPECT_THAT(ZooNames(), Not(Contains(testing::StartsWith(".onnx-tag-"))));
  }
}

TEST_F(PosixFaultsTest, ACommandOfThePackageRunsWhereItIsInstalled) {
  const std::string python = folder_ / "python3";
  folder_.Write("python3", "#!/bin/sh\nshift 3; echo \"$@\"; exit 7\n");
  fs::permissions(python, fs::perms::owner_all);
  const std::string found = folder_.path() + ":/bin:/usr/bin";
  Process run({"compare", "a.onnx", "--top=3"}, {},
              [&] { setenv("PATH", found.c_str(), 1); });
  EXPECT_EQ(run.Wait(), 7);
  EXPECT_EQ(run.out(), "compare a.onnx --top 3\n");
  Process without({"compare", "a.onnx"}, {},
                  [&] { setenv("PATH", "/no/such/folder", 1); });
  EXPECT_EQ(without.Wait(), 2);
  EXPECT_THAT(without.err(), HasSubstr("run: python3 -m onnx_tag compare"));
}

TEST_F(PosixFaultsTest, AFullDiskLeavesNothingHalfWritten) {
  const std::string disk = folder_ / "disk";
  fs::create_directory(disk);
  if (mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=400k") != 0) {
    GTEST_SKIP() << "a small file system can be made by root alone";
  }
  const std::string model = Bytes(3, 250'000);
  std::ofstream(disk + "/m.onnx", std::ios::binary) << model;
  Process run({disk + "/m.onnx"});
  EXPECT_EQ(run.Wait(), 4);
  EXPECT_THAT(run.err(), HasSubstr("No space left on device"));
  Process in_place({disk + "/m.onnx", "--in-place"});
  EXPECT_EQ(in_place.Wait(), 4);
  EXPECT_EQ(ReadFile(disk + "/m.onnx"), model);
  int entries = 0;
  for (const auto& entry : fs::directory_iterator(disk)) {
    entries += entry.exists() ? 1 : 0;
  }
  EXPECT_EQ(entries, 1);
  umount(disk.c_str());
}

TEST_F(PosixFaultsTest, WhatMayNotBeReadOrWrittenFailsAndTheRestIsDone) {
  if (geteuid() != 0) GTEST_SKIP() << "another user can be had by root alone";
  const std::string secret = Add("secret.onnx");
  Add("open.onnx");
  fs::create_directory(folder_ / "zoo/locked");
  chmod(folder_.path().c_str(), 0755);
  chmod(zoo().c_str(), 0777);
  chmod(secret.c_str(), 0600);
  chmod((zoo() + "/locked").c_str(), 0700);
  Process run({"-r", zoo(), "--json"}, {}, BecomeNobody);
  EXPECT_EQ(run.Wait(), 5);
  EXPECT_THAT(run.out(), HasSubstr("secret.onnx: could not read: Permission"));
  EXPECT_THAT(run.out(), HasSubstr("could not read the folder: Permission"));
  EXPECT_THAT(run.out(), HasSubstr("\"ok\": 1"));
  EXPECT_THAT(ZooNames(), ElementsAre("locked", "open.onnx", "open.tagged.onnx",
                                      "open.tags.json", "secret.onnx"));

  // A folder that may be read and not written to.
  chmod(zoo().c_str(), 0755);
  chmod(secret.c_str(), 0644);
  for (const std::string mode : {"--no-sidecar", "--in-place"}) {
    Process read_only({secret, mode}, {}, BecomeNobody);
    EXPECT_EQ(read_only.Wait(), 4);
    EXPECT_THAT(read_only.err(), HasSubstr("could not write: Permission"));
  }
  EXPECT_EQ(ReadFile(secret), Bytes(3));
}

TEST_F(PosixFaultsTest, FewDescriptorsAreEnoughForManyThreads) {
  for (int i = 0; i < 40; ++i) Add(std::to_string(i) + ".onnx");
  for (const rlim_t limit : {16, 24, 40}) {
    Process run({"-r", zoo(), "-j", "64", "-q", "--force"}, {},
                Limit(RLIMIT_NOFILE, limit));
    EXPECT_EQ(run.Wait(), 0) << run.err();
  }
  if (kSanitized) GTEST_SKIP() << "a sanitizer needs descriptors itself";
  // With one for the model and none for what is to be written: a clear word,
  // and no crash.
  Process none({"-r", zoo(), "-j", "64", "--json", "--no-sidecar", "--out-dir",
                folder_ / "new"},
               {}, [] {
                 // The descriptor below it is the program's own, and free
                 // once the program runs.
                 const int lowest = dup(STDIN_FILENO);
                 close(lowest);
                 Limit(RLIMIT_NOFILE, static_cast<rlim_t>(lowest))();
               });
  EXPECT_EQ(none.Wait(), 5) << none.err();
  EXPECT_THAT(none.out(), HasSubstr("Too many open files"));
}

TEST_F(PosixFaultsTest, SignalsEndARunWithTheirCodeAndLeaveNothing) {
  for (int i = 0; i < 200; ++i) Add(std::to_string(i) + ".onnx", 2000);
  for (const auto& [signal, code] :
       {std::pair(SIGINT, 130), {SIGTERM, 143}, {SIGHUP, 129}}) {
    for (const int wait : {2, 10, 40}) {
      Process run({"-r", zoo(), "--in-place", "--no-sidecar", "-j", "2"});
      std::this_thread::sleep_for(std::chrono::milliseconds(wait));
      run.Kill(signal);
      const int exit = run.Wait();
      // Too early for the handlers, or too late for the run.
      EXPECT_TRUE(exit == code || exit == -signal || exit == 0) << exit;
      EXPECT_THAT(ZooNames(), Not(Contains(testing::StartsWith(".onnx-tag-"))));
    }
  }
  // As nohup has it: inherited, so that no signal can come before it.
  const auto before = signal(SIGHUP, SIG_IGN);
  Process ignored({"-r", zoo(), "-q", "--dry-run"});
  signal(SIGHUP, before);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ignored.Kill(SIGHUP);
  EXPECT_EQ(ignored.Wait(), 0);
}

// Somebody puts a link where an output is about to be: what it leads to is
// never written to, only what is ours is replaced.
TEST_F(PosixFaultsTest, ALinkSwappedIntoTheOutputFolderLeadsNowhere) {
  const std::string victim = folder_.Write("victim", "precious");
  for (int i = 0; i < 20; ++i) Add(std::to_string(i) + ".onnx", 300);
  std::atomic<bool> done{false};
  const std::string out = folder_ / "out";
  fs::create_directory(out);
  std::thread swapper([&] {
    while (!done) {
      for (int i = 0; i < 20; ++i) {
        const std::string path = out + "/" + std::to_string(i) + ".tagged.onnx";
        if (symlink(victim.c_str(), path.c_str()) == 0) unlink(path.c_str());
      }
    }
  });
  for (int round = 0; round < 5; ++round) {
    Process run({"-r", zoo(), "--out-dir", out, "--no-sidecar", "-q"});
    const int exit = run.Wait();
    EXPECT_TRUE(exit == 0 || exit == 5) << exit << run.err();
    EXPECT_EQ(ReadFile(victim), "precious");
  }
  done = true;
  swapper.join();
  EXPECT_EQ(ReadFile(victim), "precious");
}

}  // namespace
}  // namespace onnx_tag::test
