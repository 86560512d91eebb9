// What a terminal shows, on a pseudo-terminal.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "file/io/ends.h"
#include "file/io/terminal.h"

namespace onnx_tag {
namespace {

using std::chrono::milliseconds;
using test::Ends;

Ends Pty(unsigned short columns) {
  int fds[2] = {-1, -1};
  const winsize size = {24, columns, 0, 0};
  EXPECT_EQ(openpty(&fds[0], &fds[1], nullptr, nullptr, &size), 0);
  return Ends(fds[0], fds[1]);
}

// Some containers have no pseudo-terminal.
class ScreenTest : public testing::Test {
 protected:
  ScreenTest() {
    unsetenv("NO_COLOR");
    setenv("TERM", "xterm", 1);
    options.now = [this] { return std::chrono::steady_clock::time_point(now); };
  }
  void SetUp() override {
    const int fd = posix_openpt(O_RDWR | O_NOCTTY);
    if (fd < 0 || unlockpt(fd) != 0) {
      GTEST_SKIP() << "this system has no pseudo-terminals";
    }
    close(fd);
  }
  milliseconds now{0};
  TerminalOptions options;
};

TEST_F(ScreenTest, OnOneScreenTheOrderIsThatOfTheCalls) {
  const Ends screen = Pty(100);
  Terminal terminal(screen.to(), screen.to(), options);
  terminal.Out("first\n");
  terminal.Err("second\n");
  EXPECT_EQ(screen.Read(), "first\r\nsecond\r\n");
}

TEST_F(ScreenTest, ASlowNonBlockingReaderGetsEverything) {
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
  const Ends screen = Pty(100), file = Ends::Pipe();
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
  const Ends screen = Pty(123), file = Ends::Pipe(), none = Pty(0);
  EXPECT_EQ(Terminal(screen.to(), file.to(), options).width(), 123u);
  EXPECT_EQ(Terminal(file.to(), screen.to(), options).width(), 123u);
  EXPECT_EQ(Terminal(file.to(), file.to(), options).width(), 80u);
  EXPECT_EQ(Terminal(none.to(), none.to(), options).width(), 80u);
}

TEST_F(ScreenTest, ProgressIsDrawnAtMostSixTimesASecond) {
  const Ends out = Ends::Pipe(), screen = Pty(40);
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
  const Ends screen = Pty(40);
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
  const Ends screen = Pty(10);
  Terminal terminal(screen.to(), screen.to(), options);
  terminal.Progress("äöü 4567890");
  EXPECT_EQ(screen.Read(), "\r\x1b[Käöü 45678");
}

}  // namespace
}  // namespace onnx_tag
