#include "file/io/leftovers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "file/io/fault.h"
#include "file/io/output_file.h"
#include "file/io/system_calls.h"
#include "support/temporary_folder.h"

namespace onnx_tag {
namespace {

using test::TemporaryFolder;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(LeftoversTest, WhatNobodyHasLockedIsRemoved) {
  const TemporaryFolder folder;
  folder.Write(".onnx-tag-abc123", "half a file");
  folder.Write(".onnx-tag-ABCdef", "");
  RemoveLeftovers(folder.path());
  EXPECT_THAT(folder.Names(), IsEmpty());
}

TEST(LeftoversTest, WhatIsLockedStaysUntilTheLockIsGone) {
  const TemporaryFolder folder;
  const std::string path = folder / ".onnx-tag-abc123";
  const int fd = io::kRealCalls.open_new(path.c_str(), 0600);
  ASSERT_EQ(io::kRealCalls.lock(fd), 0);
  RemoveLeftovers(folder.path());
  EXPECT_THAT(folder.Names(), ElementsAre(".onnx-tag-abc123"));
  close(fd);
  RemoveLeftovers(folder.path());
  EXPECT_THAT(folder.Names(), IsEmpty());
}

TEST(LeftoversTest, AnUnfinishedOutputIsNoLeftover) {
  const TemporaryFolder folder;
  test::fault = {};
  test::fault.no_unnamed_files = true;
  OutputOptions options;
  options.calls = &test::kFaultyCalls;
  OutputFile file = OutputFile::Create(folder / "out", Inputs(), options);
  RemoveLeftovers(folder.path());
  EXPECT_EQ(folder.Names().size(), 1u);
  file.Write("content");
  file.Commit();
  EXPECT_EQ(test::ReadFile(folder / "out"), "content");
}

TEST(LeftoversTest, OtherNamesAndOtherKindsStay) {
  const TemporaryFolder folder;
  folder.Write(".onnx-tag-abc1234", "a letter more");
  folder.Write(".onnx-tag-abc12", "a letter less");
  folder.Write("onnx-tag-abc123", "no dot");
  folder.Write("model.onnx", "x");
  std::filesystem::create_directory(folder / ".onnx-tag-folder");
  if (test::CanMakeLinks()) {
    std::filesystem::create_symlink("model.onnx", folder / ".onnx-tag-linked");
  }
  const std::vector<std::string> before = folder.Names();
  RemoveLeftovers(folder.path());
  EXPECT_EQ(folder.Names(), before);
  EXPECT_EQ(test::ReadFile(folder / "model.onnx"), "x");
}

TEST(LeftoversTest, AMissingFolderHasNone) {
  RemoveLeftovers("/nonexistent/folder");
  io::RemoveLeftoversOnce("/nonexistent/folder");
}

TEST(LeftoversTest, ANewFileRemovesThemToo) {
  const TemporaryFolder folder;
  folder.Write(".onnx-tag-abc123", "");
  OutputOptions options;
  options.replace = false;
  OutputFile::Create(folder / "new", {}, options).Commit();
  EXPECT_THAT(folder.Names(), ElementsAre("new"));
}

TEST(LeftoversTest, AFolderIsSearchedOnceByAProcess) {
  const TemporaryFolder folder;
  folder.Write(".onnx-tag-abc123", "");
  io::RemoveLeftoversOnce(folder.path());
  EXPECT_THAT(folder.Names(), IsEmpty());
  folder.Write(".onnx-tag-abc123", "");
  io::RemoveLeftoversOnce(folder.path());
  EXPECT_THAT(folder.Names(), ElementsAre(".onnx-tag-abc123"));
}

}  // namespace
}  // namespace onnx_tag
