// Tested by tests/file/io/terminal_test.cc, through pipes and a
// pseudo-terminal.
#include "file/io/terminal.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "base/text.h"
#include "file/io/paths.h"
#include "file/io/system_calls.h"

namespace onnx_tag {
namespace {

constexpr std::size_t kPendingLimit = 64 * 1024;
constexpr auto kRefresh = std::chrono::milliseconds(1000 / 6);
constexpr std::string_view kEraseLine = "\r\x1b[K";

bool WantsColor(ColorMode mode, bool is_terminal) {
  if (mode != ColorMode::kAuto) return mode == ColorMode::kAlways;
  const char* const no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  const char* const term = std::getenv("TERM");
  return is_terminal && (term == nullptr || std::string_view(term) != "dumb");
}

// The first `columns` characters of `text`, taking each as one column wide.
std::string_view FirstColumns(std::string_view text, std::size_t columns) {
  std::size_t at = 0;
  for (; columns > 0 && at < text.size(); --columns) {
    at += std::max<std::size_t>(1, Utf8Length(text.substr(at)));
  }
  return text.substr(0, at);
}

}  // namespace

BrokenPipe::BrokenPipe()
    : Error(ErrorKind::kOutput,
            "<stdout>: could not write: " + io::SystemMessage(EPIPE)) {}

Terminal::Terminal(const TerminalOptions& options)
    : Terminal(STDOUT_FILENO, STDERR_FILENO, options) {}

Terminal::Terminal(int out, int err, const TerminalOptions& options)
    : out_(out), err_(err), options_(options) {
  out_is_terminal_ = io::IsTerminal(out);
  err_is_terminal_ = io::IsTerminal(err);
  color_out_ = WantsColor(options.color, out_is_terminal_);
  shows_progress_ = !options.quiet && (err_is_terminal_ || options.progress);
  for (const int fd : {out, err}) {
    if (const std::size_t columns = io::ColumnsOf(fd); columns > 0) {
      width_ = columns;
      break;
    }
  }
}

Terminal::~Terminal() {
  EraseProgress();
  WriteOut();
}

void Terminal::Out(std::string_view text) {
  const std::lock_guard lock(mutex_);
  pending_.append(text);
  if (pending_.size() < kPendingLimit) return;
  EraseProgress();
  WriteOut();
}

void Terminal::Err(std::string_view text) {
  if (!options_.quiet) Complain(text);
}

void Terminal::Complain(std::string_view text) {
  const std::lock_guard lock(mutex_);
  EraseProgress();
  // On one screen, in the order in which they were said.
  if (out_is_terminal_) WriteOut();
  io::WriteAll(err_, text);
}

void Terminal::Progress(std::string_view line) {
  if (!shows_progress_) return;
  const std::lock_guard lock(mutex_);
  const auto now = options_.now();
  if (progress_ever_ && now - last_progress_ < kRefresh) return;
  progress_ever_ = true;
  last_progress_ = now;
  std::string drawn;
  if (err_is_terminal_) {
    // The last column stays free: some terminals wrap there.
    drawn.append(kEraseLine).append(FirstColumns(line, width_ - 1));
    progress_drawn_ = true;
  } else {
    drawn.append(line).append("\n");
  }
  io::WriteAll(err_, drawn);
}

void Terminal::EndProgress() {
  const std::lock_guard lock(mutex_);
  EraseProgress();
}

void Terminal::Flush() {
  const std::lock_guard lock(mutex_);
  if (!pending_.empty()) EraseProgress();
  WriteOut();
  if (error_ == EPIPE) throw BrokenPipe();
  if (error_ != 0) {
    Fail(ErrorKind::kOutput, "<stdout>: could not write: {}",
         io::SystemMessage(error_));
  }
}

void Terminal::WriteOut() {
  if (error_ == 0) error_ = io::WriteAll(out_, pending_);
  pending_.clear();
}

void Terminal::EraseProgress() {
  if (!progress_drawn_) return;
  io::WriteAll(err_, kEraseLine);
  progress_drawn_ = false;
}

}  // namespace onnx_tag
