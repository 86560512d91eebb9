// File systems that are read-only, ignore case or are slow, long paths, full
// folders, and models that others write while they are tagged in place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "support/onnx_models.h"
#include "support/process.h"
#include "support/sanitized.h"
#include "support/temporary_folder.h"

namespace onnx_tag::test {
namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string ModelBytes(int nodes) {
  schema::ModelProto model;
  model.set_ir_version(8);
  for (int i = 0; i < nodes; ++i) {
    AddNode(*model.mutable_graph(), "Relu", "/m/Relu_" + std::to_string(i),
            {"v" + std::to_string(i)}, {"v" + std::to_string(i + 1)});
  }
  return model.SerializeAsString();
}

class FileSystemsTest : public testing::Test {
 protected:
  ~FileSystemsTest() override {
    if (!mounted_.empty()) umount(mounted_.c_str());
  }

  // A file system of its own at `disk`; false where that is not allowed.
  bool Mount(const std::string& type, const std::string& options) {
    fs::create_directories(disk());
    if (mount(type.c_str(), disk().c_str(), type.c_str(), 0, options.c_str()) !=
        0) {
      return false;
    }
    mounted_ = disk();
    return true;
  }
  std::string disk() const { return folder_ / "disk"; }

  TemporaryFolder folder_;
  std::string mounted_;
};

TEST_F(FileSystemsTest, AReadOnlyFileSystemIsReadAndNeverWritten) {
  if (!Mount("tmpfs", "size=4m")) {
    GTEST_SKIP() << "only root can mount a file system";
  }
  folder_.Write("disk/m.onnx", ModelBytes(3));
  ASSERT_EQ(mount("", disk().c_str(), "", MS_REMOUNT | MS_RDONLY, ""), 0);
  for (const std::string option : {"--in-place", "--no-sidecar"}) {
    Process run({folder_ / "disk/m.onnx", option});
    EXPECT_EQ(run.Wait(), 4);
    EXPECT_THAT(run.err(), HasSubstr("Read-only file system"));
  }
  Process elsewhere({folder_ / "disk/m.onnx", "-o", folder_ / "out.onnx"});
  EXPECT_EQ(elsewhere.Wait(), 0) << elsewhere.err();
}

// Names that differ in case alone are one file there: an input by another
// spelling.
TEST_F(FileSystemsTest, CaseIsNoWayAroundTheGate) {
  if (!Mount("tmpfs", "size=4m,casefold")) {
    GTEST_SKIP() << "this kernel has no tmpfs that ignores case, or only root "
                    "can mount one";
  }
  fs::create_directory(folder_ / "disk/zoo");
  const std::string command =
      "chattr +F '" + (folder_ / "disk/zoo'") + " 2> /dev/null";
  if (std::system(command.c_str()) != 0) {
    GTEST_SKIP() << "chattr cannot make a folder that ignores case";
  }
  const std::string bytes = ModelBytes(3);
  folder_.Write("disk/zoo/m.onnx", bytes);
  Process run({folder_ / "disk/zoo/m.onnx", "-o", folder_ / "disk/zoo/M.onnx",
               "--force"});
  EXPECT_EQ(run.Wait(), 4);
  EXPECT_EQ(ReadFile(folder_ / "disk/zoo/m.onnx"), bytes);
}

// A pipe that gives a byte at a time is as slow as a file system gets.
TEST_F(FileSystemsTest, ASlowInputIsWaitedFor) {
  const std::string bytes = ModelBytes(3);
  int ends[2];
  // The program must not hold the end that it reads to.
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  Process run({"-", "-o", folder_ / "out.onnx", "--no-sidecar"},
              {.in = ends[0], .out = -1});
  close(ends[0]);
  for (const char byte : bytes) {
    ASSERT_EQ(write(ends[1], &byte, 1), 1);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  close(ends[1]);
  EXPECT_EQ(run.Wait(), 0) << run.err();
  EXPECT_TRUE(fs::exists(folder_ / "out.onnx"));
}

TEST_F(FileSystemsTest, PathsMayBeAsLongAsTheSystemAllows) {
  // Components of 200 bytes, from inside, since no call takes the whole path.
  const fs::path home = fs::current_path();
  fs::current_path(folder_.path());
  const std::string part(200, 'p');
  std::size_t length = folder_.path().size();
  while (length + 201 < 4096 - 20) {
    fs::create_directory(part);
    fs::current_path(part);
    length += 201;
  }
  std::ofstream("m.onnx", std::ios::binary) << ModelBytes(3);
  const std::string deep = fs::current_path().string();
  fs::current_path(home);
  ASSERT_LT(deep.size() + 20, 4096u);
  Process fits({deep + "/m.onnx", "--no-sidecar"});
  EXPECT_EQ(fits.Wait(), 0) << fits.err();
  EXPECT_TRUE(fs::exists(deep + "/m.tagged.onnx"));

  const std::string longer = deep + "/" + std::string(4096, 'x') + ".onnx";
  Process too_long({longer});
  EXPECT_EQ(too_long.Wait(), 3);
  EXPECT_THAT(too_long.err(), HasSubstr("File name too long"));
  Process out_too_long({deep + "/m.onnx", "-o", longer});
  EXPECT_EQ(out_too_long.Wait(), 4);
  EXPECT_THAT(out_too_long.err(), HasSubstr("File name too long"));
}

TEST_F(FileSystemsTest, AFolderOf100000FilesIsSearchedAndWrittenTo) {
  constexpr int kFiles = kSanitized ? 10'000 : 100'000;
  fs::create_directory(folder_ / "zoo");
  const std::string first = folder_.Write("zoo/f", "");
  for (int i = 0; i < kFiles; ++i) {
    // Links: a file system may have few inodes.
    if (link(first.c_str(),
             (folder_ / ("zoo/f" + std::to_string(i))).c_str()) != 0) {
      folder_.Write("zoo/f" + std::to_string(i), "");
    }
  }
  folder_.Write("zoo/m.onnx", ModelBytes(3));
  folder_.Write("zoo/n.onnx", ModelBytes(4));
  Process run({"-r", folder_ / "zoo", "--in-place", "--no-sidecar", "--json"});
  EXPECT_EQ(run.Wait(), 0) << run.err();
  EXPECT_THAT(run.out(), HasSubstr("\"ok\": 2"));
}

// Others cut the model, write it again and make it longer, while we replace
// it. Whatever they see is theirs or whole and tagged.
TEST_F(FileSystemsTest, ModelsThatShrinkAndGrowInPlaceAreRefusedOrWhole) {
  const std::string path = folder_.Write("m.onnx", ModelBytes(3000));
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
    ASSERT_TRUE(exit == 0 || exit == 3) << exit << run.err();
    if (exit == 3) {
      EXPECT_THAT(run.err(), AnyOf(HasSubstr("not an ONNX model"),
                                   HasSubstr("changed while it was")));
    }
  }
  done = true;
  writer.join();
  folder_.Write("m.onnx", model);
  Process last({path, "--in-place", "--no-sidecar"});
  EXPECT_EQ(last.Wait(), 0) << last.err();
  EXPECT_EQ(ReadFile(path), tagged);
  EXPECT_THAT(folder_.Names(), ElementsAre("m.onnx", "whole.onnx"));
}

}  // namespace
}  // namespace onnx_tag::test
