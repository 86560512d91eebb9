#include "io/terminal.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

using std::chrono::milliseconds;

// Two ends: what is written to one is read from the other.
class Ends {
 public:
  static Ends Pipe() {
    Ends ends;
    EXPECT_EQ(pipe(ends.fd_), 0);
    return ends;
  }
  static Ends Pty(unsigned short columns) {
    Ends ends;
    const winsize size = {24, columns, 0, 0};
    EXPECT_EQ(openpty(&ends.fd_[0], &ends.fd_[1], nullptr, nullptr, &size), 0);
    return ends;
  }
  ~Ends() {
    close(fd_[0]);
    close(fd_[1]);
  }
  int to() const { return fd_[1]; }
  void CloseReader() { close(std::exchange(fd_[0], -1)); }

  // What has arrived since the last call. A pseudo-terminal takes its time, so
  // the end is where nothing comes any more.
  std::string Read() const {
    std::string text;
    for (pollfd wait = {fd_[0], POLLIN, 0}; poll(&wait, 1, 50) == 1;) {
      char bytes[4096];
      const ssize_t count = read(fd_[0], bytes, sizeof bytes);
      if (count <= 0) break;
      text.append(bytes, static_cast<std::size_t>(count));
    }
    return text;
  }

 private:
  Ends() = default;
  int fd_[2] = {-1, -1};
};

class TerminalTest : public testing::Test {
 protected:
  TerminalTest() {
    unsetenv("NO_COLOR");
    setenv("TERM", "xterm", 1);
    options.now = [this] { return std::chrono::steady_clock::time_point(now); };
  }
  milliseconds now{0};
  TerminalOptions options;
};

// On a pseudo-terminal, which some containers do not have.
class ScreenTest : public TerminalTest {
 protected:
  void SetUp() override {
    const int fd = posix_openpt(O_RDWR | O_NOCTTY);
    if (fd < 0 || unlockpt(fd) != 0) {
      GTEST_SKIP() << "this system has no pseudo-terminals";
    }
    close(fd);
  }
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

TEST_F(ScreenTest, OnOneScreenTheOrderIsThatOfTheCalls) {
  const Ends screen = Ends::Pty(100);
  Terminal terminal(screen.to(), screen.to(), options);
  terminal.Out("first\n");
  terminal.Err("second\n");
  EXPECT_EQ(screen.Read(), "first\r\nsecond\r\n");
}

TEST_F(TerminalTest, AClosedPipeIsAnOutputError) {
  signal(SIGPIPE, SIG_IGN);
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

TEST_F(TerminalTest, ASlowNonBlockingReaderGetsEverything) {
  const Ends out = Ends::Pipe(), err = Ends::Pipe();
  fcntl(out.to(), F_SETFL, O_NONBLOCK);
  std::size_t read = 0;
  std::thread reader([&] {
    while (read < 1'000'000) read += out.Read().size();
  });
  Terminal terminal(out.to(), err.to(), options);
  terminal.Out(std::string(1'000'000, 'x'));
  terminal.Flush();
  reader.join();
  EXPECT_EQ(read, 1'000'000u);
}

TEST_F(ScreenTest, ColorIsForTerminalsUnlessSomebodySaysOtherwise) {
  const Ends screen = Ends::Pty(100), file = Ends::Pipe();
  const auto color = [&](const Ends& ends) {
    return Terminal(ends.to(), ends.to(), options).color_out();
  };
  EXPECT_TRUE(color(screen));
  EXPECT_FALSE(color(file));
  setenv("NO_COLOR", "", 1);  // empty counts as not set: no-color.org
  EXPECT_TRUE(color(screen));
  setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(color(screen));
  options.color = ColorMode::kAlways;
  EXPECT_TRUE(color(screen));
  EXPECT_TRUE(color(file));
  unsetenv("NO_COLOR");
  options.color = ColorMode::kNever;
  EXPECT_FALSE(color(screen));
  options.color = ColorMode::kAuto;
  setenv("TERM", "dumb", 1);
  EXPECT_FALSE(color(screen));
}

TEST_F(ScreenTest, WidthIsThatOfTheTerminalOr80) {
  const Ends screen = Ends::Pty(123), file = Ends::Pipe(), none = Ends::Pty(0);
  EXPECT_EQ(Terminal(screen.to(), file.to(), options).width(), 123u);
  EXPECT_EQ(Terminal(file.to(), screen.to(), options).width(), 123u);
  EXPECT_EQ(Terminal(file.to(), file.to(), options).width(), 80u);
  EXPECT_EQ(Terminal(none.to(), none.to(), options).width(), 80u);
}

TEST_F(ScreenTest, ProgressIsDrawnAtMostSixTimesASecond) {
  const Ends out = Ends::Pipe(), screen = Ends::Pty(40);
  Terminal terminal(out.to(), screen.to(), options);
  for (; now < milliseconds(10'000); now += milliseconds(1)) {
    terminal.Progress("w");
  }
  const std::string text = screen.Read();
  const auto drawn = std::count(text.begin(), text.end(), 'w');
  EXPECT_GE(drawn, 55);
  EXPECT_LE(drawn, 61);
}

TEST_F(ScreenTest, ProgressIsErasedBeforeOtherOutput) {
  const Ends screen = Ends::Pty(40);
  Terminal terminal(screen.to(), screen.to(), options);
  terminal.Progress("working");
  EXPECT_EQ(screen.Read(), "\r\x1b[Kworking");
  terminal.Err("note\n");
  EXPECT_EQ(screen.Read(), "\r\x1b[Knote\r\n");
  now += milliseconds(1000);
  terminal.Progress("still working");
  screen.Read();
  terminal.Out("result\n");
  terminal.Flush();
  EXPECT_EQ(screen.Read(), "\r\x1b[Kresult\r\n");
  terminal.EndProgress();
  EXPECT_EQ(screen.Read(), "");
}

TEST_F(ScreenTest, AProgressLineStaysOnItsLine) {
  const Ends screen = Ends::Pty(10);
  Terminal terminal(screen.to(), screen.to(), options);
  terminal.Progress("äöü 4567890");
  EXPECT_EQ(screen.Read(), "\r\x1b[Käöü 45678");
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
