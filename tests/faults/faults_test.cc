// What can go wrong around a run: disks, permissions, limits, signals, others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "support/onnx_models.h"
#include "support/process.h"
#include "support/sanitized.h"
#include "support/temporary_folder.h"

namespace onnx_tag::test {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class FaultsTest : public testing::Test {
 protected:
  // In a folder of their own: what else a test needs stays beside it.
  FaultsTest() { fs::create_directory(folder_ / "zoo"); }

  static std::string Bytes(int nodes, std::size_t weight = 0) {
    schema::ModelProto model;
    model.set_ir_version(8);
    for (int i = 0; i < nodes; ++i) {
      AddNode(*model.mutable_graph(), "Relu", "/m/Relu_" + std::to_string(i),
              {"v" + std::to_string(i)}, {"v" + std::to_string(i + 1)});
    }
    if (weight > 0) {
      schema::TensorProto* const tensor =
          model.mutable_graph()->add_initializer();
      tensor->set_name("w");
      tensor->set_raw_data(std::string(weight, 'w'));
    }
    return model.SerializeAsString();
  }
  std::string Add(const std::string& name, int nodes = 3,
                  std::size_t weight = 0) {
    return folder_.Write("zoo/" + name, Bytes(nodes, weight));
  }
  std::vector<std::string> ZooNames() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(zoo())) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  std::string zoo() const { return folder_ / "zoo"; }

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

  TemporaryFolder folder_;
};

TEST_F(FaultsTest, AFileLimitIsAFullDisk) {
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

TEST_F(FaultsTest, AFullDiskLeavesNothingHalfWritten) {
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

TEST_F(FaultsTest, WhatMayNotBeReadOrWrittenFailsAndTheRestIsDone) {
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

TEST_F(FaultsTest, FewDescriptorsAreEnoughForManyThreads) {
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

TEST_F(FaultsTest, AVanishedModelFailsAlone) {
  const std::string list = folder_ / "list";
  Add("a.onnx");
  folder_.Write("list", zoo() + "/a.onnx\n" + zoo() + "/gone.onnx\n");
  Process run({"--files-from", list, "--json"});
  EXPECT_EQ(run.Wait(), 5);
  EXPECT_THAT(run.out(), HasSubstr("gone.onnx: could not read: No such file"));
  EXPECT_THAT(run.out(), HasSubstr("\"ok\": 1"));
}

TEST_F(FaultsTest, AModelThatGrowsIsRefusedOrWhole) {
  const std::string path = Add("m.onnx", 3000);
  const std::string model = ReadFile(path);
  std::atomic<bool> done{false};
  std::thread writer([&] {
    // Written again and again, from nothing to whole, under the same name.
    while (!done) {
      std::ofstream file(path, std::ios::binary | std::ios::trunc);
      for (std::size_t at = 0; at < model.size(); at += 16 * 1024) {
        file << model.substr(at, 16 * 1024) << std::flush;
      }
    }
  });
  for (int i = 0; i < 60; ++i) {
    Process run({path, "-o", folder_ / "out.onnx", "--no-sidecar", "--force"});
    const int exit = run.Wait();
    ASSERT_TRUE(exit == 0 || exit == 3) << exit << run.err();
    if (exit == 3) {
      EXPECT_THAT(run.err(), testing::AnyOf(HasSubstr("not an ONNX model"),
                                            HasSubstr("changed while it was")));
    }
  }
  done = true;
  writer.join();
}

TEST_F(FaultsTest, TwoRunsInOneFolderDoTheWorkOnce) {
  for (int i = 0; i < 30; ++i) Add(std::to_string(i) + ".onnx", 200);
  for (int round = 0; round < 5; ++round) {
    Process a({"-r", zoo(), "-j", "2", "-q"});
    Process b({"-r", zoo(), "-j", "2", "-q"});
    EXPECT_EQ(a.Wait(), 0) << a.err();
    EXPECT_EQ(b.Wait(), 0) << b.err();
    for (const std::string& name : ZooNames()) {
      EXPECT_FALSE(name.starts_with(".onnx-tag-")) << name;
      if (name.ends_with(".tagged.onnx") || name.ends_with(".tags.json")) {
        fs::remove(zoo() + "/" + name);
      }
    }
  }
}

TEST_F(FaultsTest, TwoRunsInPlaceLeaveEveryModelWhole) {
  for (int i = 0; i < 10; ++i) Add(std::to_string(i) + ".onnx", 200);
  Process first({"-r", zoo(), "--in-place", "--no-sidecar", "-q"});
  EXPECT_EQ(first.Wait(), 0);
  const std::string tagged = ReadFile(zoo() + "/0.onnx");
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 10; ++i) Add(std::to_string(i) + ".onnx", 200);
    Process a({"-r", zoo(), "--in-place", "--no-sidecar", "-q"});
    Process b({"-r", zoo(), "--in-place", "--no-sidecar", "-q"});
    // One may find that the other has replaced what it had read: exit 5.
    for (Process* const run : {&a, &b}) {
      const int exit = run->Wait();
      EXPECT_TRUE(exit == 0 || exit == 5) << exit;
      if (exit == 5) EXPECT_THAT(run->err(), HasSubstr("changed while"));
    }
    for (int i = 0; i < 10; ++i) {
      EXPECT_EQ(ReadFile(zoo() + "/" + std::to_string(i) + ".onnx"), tagged);
    }
  }
}

TEST_F(FaultsTest, ALivingRunsFileIsNoLeftover) {
  const std::string model = Add("m.onnx");
  folder_.Write("zoo/.onnx-tag-dead00", "x");
  const std::string living = folder_.Write("zoo/.onnx-tag-living", "x");
  const int fd = open(living.c_str(), O_RDONLY);
  ASSERT_EQ(flock(fd, LOCK_EX), 0);
  Process run({model, "--in-place", "--no-sidecar"});
  EXPECT_EQ(run.Wait(), 0);
  EXPECT_THAT(ZooNames(), ElementsAre(".onnx-tag-living", "m.onnx"));
  close(fd);
}

TEST_F(FaultsTest, SignalsEndARunWithTheirCodeAndLeaveNothing) {
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

// The reading end is closed after the first line, or before.
TEST_F(FaultsTest, AReaderWhoLeavesIsNoError) {
  for (int i = 0; i < 300; ++i) Add(std::to_string(i) + ".onnx", 50);
  const std::vector<std::vector<std::string>> commands = {
      {"-r", zoo(), "--json", "--dry-run"},
      {"-r", zoo(), "--json-nodes", "--dry-run", "-q"},
      {"-r", zoo(), "--dry-run"},
      {"show", zoo() + "/0.onnx", "--nodes"},
      {"--help"}};
  for (const auto& command : commands) {
    for (const bool at_once : {false, true}) {
      int ends[2];
      ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
      if (at_once) close(ends[0]);
      Process run(command, {.out = ends[1]});
      close(ends[1]);
      char byte;
      if (!at_once) {
        EXPECT_EQ(read(ends[0], &byte, 1), 1);
        close(ends[0]);
      }
      const int exit = run.Wait();
      EXPECT_TRUE(exit == 141 || (!at_once && exit == 0))
          << command[0] << " " << exit;
      EXPECT_THAT(run.err(), Not(HasSubstr("could not write")));
    }
  }
}

TEST_F(FaultsTest, AStandardInputThatEndsEarlyIsNoModel) {
  const std::string model = Bytes(50);
  for (const std::size_t size : {std::size_t{0}, model.size() / 2}) {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    Process run({"-", "-o", folder_ / "out.onnx"}, {.in = ends[0]});
    close(ends[0]);
    ASSERT_EQ(write(ends[1], model.data(), size), static_cast<ssize_t>(size));
    close(ends[1]);
    EXPECT_EQ(run.Wait(), 3);
    EXPECT_THAT(run.err(), HasSubstr("<stdin>: not an ONNX model"));
  }
  EXPECT_FALSE(fs::exists(folder_ / "out.onnx"));
}

// It would read what it writes until the disk is full.
TEST_F(FaultsTest, ATextIsNotExplainedIntoItself) {
  const std::string text = "at /m/Relu_0\n";
  const std::string log = folder_.Write("log", text);
  for (const int flags : {O_WRONLY | O_APPEND, O_RDWR}) {
    const int in = open(log.c_str(), O_RDONLY | O_CLOEXEC);
    const int out = open(log.c_str(), flags | O_CLOEXEC);
    Process run({"filt", Add("m.onnx", 3)}, {.in = in, .out = out});
    EXPECT_EQ(run.Wait(), 4);
    EXPECT_THAT(run.err(), HasSubstr("standard output writes to it"));
    EXPECT_EQ(ReadFile(log), text);
    close(in);
    close(out);
  }
}

// Somebody puts a link where an output is about to be: what it leads to is
// never written to, only what is ours is replaced.
TEST_F(FaultsTest, ALinkSwappedIntoTheOutputFolderLeadsNowhere) {
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
