// What can go wrong around a run: other programs that read and write the same.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "faults/zoo.h"
#include "file/io/system_calls.h"
#include "support/pipe.h"
#include "support/process.h"

namespace onnx_tag::test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

using FaultsTest = Zoo;

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
                                            HasSubstr("the file is cut off"),
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
      if (exit == 5) {
        EXPECT_THAT(run->err(),
                    testing::AnyOf(HasSubstr("changed while"),
                                   HasSubstr("another program has the file")));
      }
    }
    for (int i = 0; i < 10; ++i) {
      EXPECT_EQ(ReadFile(zoo() + "/" + std::to_string(i) + ".onnx"), tagged);
    }
  }
}

TEST_F(FaultsTest, ALivingRunsFileIsNoLeftover) {
  const std::string model = Add("m.onnx");
  folder_.Write("zoo/.onnx-tag-dead00", "x");
  const int fd =
      io::kRealCalls.open_new((folder_ / "zoo/.onnx-tag-living").c_str(), 0600);
  ASSERT_EQ(io::kRealCalls.lock(fd), 0);
  Process run({model, "--in-place", "--no-sidecar"});
  EXPECT_EQ(run.Wait(), 0);
  EXPECT_THAT(ZooNames(), ElementsAre(".onnx-tag-living", "m.onnx"));
  close(fd);
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
      ASSERT_EQ(MakePipe(ends), 0);
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
    ASSERT_EQ(MakePipe(ends), 0);
    Process run({"-", "-o", folder_ / "out.onnx"}, {.in = ends[0]});
    close(ends[0]);
    ASSERT_EQ(io::kRealCalls.write(ends[1], model.data(), size),
              static_cast<std::ptrdiff_t>(size));
    close(ends[1]);
    EXPECT_EQ(run.Wait(), 3);
    EXPECT_THAT(run.err(),
                testing::AnyOf(HasSubstr("<stdin>: not an ONNX model"),
                               HasSubstr("<stdin>: the file is cut off")));
  }
  EXPECT_FALSE(fs::exists(folder_ / "out.onnx"));
}

// It would read what it writes until the disk is full.
TEST_F(FaultsTest, ATextIsNotExplainedIntoItself) {
  const std::string text = "at /m/Relu_0\n";
  const std::string log = folder_.Write("log", text);
  for (const int flags : {O_WRONLY | O_APPEND, O_RDWR}) {
    const int in = open(log.c_str(), O_RDONLY);
    const int out = open(log.c_str(), flags);
    Process run({"filt", Add("m.onnx", 3)}, {.in = in, .out = out});
    EXPECT_EQ(run.Wait(), 4);
    EXPECT_THAT(run.err(), HasSubstr("standard output writes to it"));
    EXPECT_EQ(ReadFile(log), text);
    close(in);
    close(out);
  }
}

// A pipe that gives a byte at a time is as slow as a file system gets.
TEST_F(FaultsTest, ASlowInputIsWaitedFor) {
  const std::string bytes = Bytes(3);
  int ends[2];
  // The program must not hold the end that it reads to.
  ASSERT_EQ(MakePipe(ends), 0);
  Process run({"-", "-o", folder_ / "out.onnx", "--no-sidecar"},
              {.in = ends[0]});
  close(ends[0]);
  for (const char byte : bytes) {
    ASSERT_EQ(io::kRealCalls.write(ends[1], &byte, 1), 1);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  close(ends[1]);
  EXPECT_EQ(run.Wait(), 0) << run.err();
  EXPECT_TRUE(fs::exists(folder_ / "out.onnx"));
}

// Others cut the model, write it again and make it longer, while we replace
// it. Whatever they see is theirs or whole and tagged.
TEST_F(FaultsTest, ModelsThatShrinkAndGrowInPlaceAreRefusedOrWhole) {
  const std::string path = folder_.Write("m.onnx", Bytes(3000));
  const std::string model = ReadFile(path);
  {
    Process run({path, "-o", folder_ / "whole.onnx", "--no-sidecar"});
    ASSERT_EQ(run.Wait(), 0);
  }
  const std::string tagged = ReadFile(folder_ / "whole.onnx");
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (unsigned round = 0; !done; ++round) {
      std::error_code ignored;
      fs::resize_file(path, round % 3 == 0 ? model.size() / 2 : 0, ignored);
      std::ofstream file(path, std::ios::binary | std::ios::trunc);
      for (std::size_t at = 0; at < model.size(); at += 16 * 1024) {
        file << model.substr(at, 16 * 1024) << std::flush;
      }
      if (round % 2 == 0) file << std::string(4096, '\0') << std::flush;
    }
  });
  for (int i = 0; i < 60; ++i) {
    Process run({path, "--in-place", "--no-sidecar"});
    const int exit = run.Wait();
    // Windows replaces no file that another program has open.
    if (exit == 4) {
      EXPECT_THAT(run.err(), HasSubstr("another program has the file open"));
      continue;
    }
    ASSERT_TRUE(exit == 0 || exit == 3) << exit << run.err();
    if (exit == 3) {
      EXPECT_THAT(run.err(), testing::AnyOf(HasSubstr("not an ONNX model"),
                                            HasSubstr("the file is cut off"),
                                            HasSubstr("changed while it was")));
    }
  }
  done = true;
  writer.join();
  folder_.Write("m.onnx", model);
  Process last({path, "--in-place", "--no-sidecar"});
  EXPECT_EQ(last.Wait(), 0) << last.err();
  EXPECT_EQ(ReadFile(path), tagged);
  EXPECT_THAT(folder_.Names(), ElementsAre("m.onnx", "whole.onnx", "zoo"));
}

}  // namespace
}  // namespace onnx_tag::test
