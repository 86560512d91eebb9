// File systems that are read-only or ignore case, long paths, full folders.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>

#include "support/onnx_models.h"
#include "support/process.h"
#include "support/sanitized.h"
#include "support/temporary_folder.h"

namespace onnx_tag::test {
namespace {

namespace fs = std::filesystem;
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

}  // namespace
}  // namespace onnx_tag::test
