#include "file/io/paths.h"

#include <gtest/gtest.h>

#include <thread>

#include "onnx_tag/error.h"
#include "support/pipe.h"
#include "support/temporary_folder.h"

namespace onnx_tag {
namespace {

TEST(PathsTest, JoinsAndTakesApart) {
  EXPECT_EQ(JoinPath("a", "b"), "a/b");
  EXPECT_EQ(JoinPath("a/", "b"), "a/b");
  EXPECT_EQ(JoinPath("", "b"), "b");
  EXPECT_EQ(JoinPath("/", "b"), "/b");
  EXPECT_EQ(FileName("dir/bert.onnx"), "bert.onnx");
  EXPECT_EQ(WithoutOnnx("dir/bert.onnx"), "dir/bert");
  EXPECT_EQ(WithoutOnnx("dir/.onnx"), "dir/.onnx");
}

TEST(PathsTest, ParentFolderIsWhereTheNameStands) {
  EXPECT_EQ(ParentFolder("x"), ".");
  EXPECT_EQ(ParentFolder(""), ".");
  EXPECT_EQ(ParentFolder("/x"), "/");
  EXPECT_EQ(ParentFolder("a/b/x"), "a/b");
  EXPECT_EQ(ParentFolder("a/"), "a");
}

TEST(PathsTest, LinksAreTheSameFileAndCopiesAreNot) {
  const test::TemporaryFolder folder;
  const std::string file = folder.Write("file", "x");
  const std::string copy = folder.Write("copy", "x");
  std::filesystem::create_hard_link(file, folder / "hard");
  if (test::CanMakeLinks()) {
    std::filesystem::create_symlink("file", folder / "soft");
    EXPECT_TRUE(SameFile(file, folder / "soft"));
  }
  EXPECT_TRUE(SameFile(file, folder / "hard"));
  EXPECT_TRUE(SameFile(file, folder.path() + "/./file"));
  EXPECT_FALSE(SameFile(file, copy));
  EXPECT_FALSE(SameFile(file, folder / "missing"));
}

TEST(PathsTest, AWholeFileIsReadWhateverItsSize) {
  const test::TemporaryFolder folder;
  for (const std::size_t size : {0u, 1u, 65535u, 65536u, 65537u, 1000000u}) {
    const std::string content(size, 'x');
    EXPECT_EQ(ReadWholeFile(folder.Write("file", content)), content);
  }
}

TEST(PathsTest, APipeIsReadToItsEnd) {
  const test::TemporaryFolder folder;
  const std::string fifo = folder / "fifo";
  if (!test::MakeNamedPipe(fifo)) GTEST_SKIP() << "no pipes among files";
  std::thread writer([&] { folder.Write("fifo", std::string(200000, 'p')); });
  EXPECT_EQ(ReadWholeFile(fifo).size(), 200000u);
  writer.join();
}

TEST(PathsTest, WhatCannotBeReadIsAnInputError) {
  const test::TemporaryFolder folder;
  for (const std::string& path : {folder / "missing", folder.path()}) {
    try {
      ReadWholeFile(path);
      ADD_FAILURE() << path;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
    }
  }
  EXPECT_THROW(ReadWholeFile(folder.Write("big", "12345"), 4), Error);
}

}  // namespace
}  // namespace onnx_tag
