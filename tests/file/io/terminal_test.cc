#include "file/io/terminal.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "file/io/ends.h"
#include "file/io/signals.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

using test::Ends;

class TerminalTest : public testing::Test {
 protected:
  TerminalOptions options;
};

TEST_F(TerminalTest, OutputGoesOutWithFlush) {
  const Ends out = Ends::Pipe(), err = Ends::Pipe();
  Terminal terminal(out.to(), err.to(), options);
  terminal.Out("result\n");
  terminal.Err("note\n");
  EXPECT_EQ(out.Read(), "");
  EXPECT_EQ(err.Read(), "note\n");
  terminal.Flush();
  EXPECT_EQ(out.Read(), "result\n");
}

TEST_F(TerminalTest, WhatIsLeftGoesOutAtTheEnd) {
  const Ends out = Ends::Pipe(), err = Ends::Pipe();
  { Terminal(out.to(), err.to(), options).Out("result\n"); }
  EXPECT_EQ(out.Read(), "result\n");
}

TEST_F(TerminalTest, AClosedPipeIsAnOutputError) {
  InstallSignalHandlers();
  Ends out = Ends::Pipe();
  const Ends err = Ends::Pipe();
  out.CloseReader();
  Terminal terminal(out.to(), err.to(), options);
  terminal.Out(std::string(1'000'000, 'x'));
  terminal.Out("more");
  try {
    terminal.Flush();
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kOutput);
    EXPECT_STREQ(error.what(), "<stdout>: could not write: Broken pipe");
  }
}

TEST_F(TerminalTest, AFullDiskIsAnOutputError) {
  const int full = open("/dev/full", O_WRONLY);
  if (full < 0) GTEST_SKIP() << "no /dev/full";
  const Ends err = Ends::Pipe();
  Terminal terminal(full, err.to(), options);
  terminal.Out("x");
  EXPECT_THROW(terminal.Flush(), Error);
  close(full);
}

TEST_F(TerminalTest, ProgressInALogIsOnlyOnRequestAndInLines) {
  const Ends out = Ends::Pipe(), err = Ends::Pipe();
  Terminal(out.to(), err.to(), options).Progress("working");
  EXPECT_EQ(err.Read(), "");
  options.progress = true;
  Terminal(out.to(), err.to(), options).Progress("working");
  EXPECT_EQ(err.Read(), "working\n");
  options.quiet = true;
  Terminal terminal(out.to(), err.to(), options);
  terminal.Progress("working");
  terminal.Err("note");
  EXPECT_EQ(err.Read(), "");
}

TEST_F(TerminalTest, LinesOfSeveralThreadsAreNotMixed) {
  const Ends out = Ends::Pipe(), err = Ends::Pipe();
  Terminal terminal(out.to(), err.to(), options);
  std::vector<std::thread> threads;
  for (const char letter : {'a', 'b', 'c', 'd'}) {
    threads.emplace_back([&terminal, letter] {
      for (int i = 0; i < 100; ++i) {
        terminal.Out(std::string(30, letter) + "\n");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  terminal.Flush();
  const std::string text = out.Read();
  ASSERT_EQ(text.size(), 400u * 31);
  for (std::size_t at = 0; at < text.size(); at += 31) {
    EXPECT_EQ(text.substr(at, 31), std::string(30, text[at]) + "\n");
  }
}

}  // namespace
}  // namespace onnx_tag
