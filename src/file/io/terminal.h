// Standard output and standard error: results on one, everything else on the
// other.
//
// Output is collected and written in large pieces; a failure (a closed pipe, a
// full disk) is kept and thrown by Flush(), so that printing code needs no
// error handling. May be used by several threads.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "onnx_tag/error.h"

namespace onnx_tag {

// Nobody reads standard output any more: the end of `... | head`, and no
// error.
class BrokenPipe : public Error {
 public:
  BrokenPipe();
};

enum class ColorMode { kAuto, kAlways, kNever };

struct TerminalOptions {
  // kAuto: on a terminal, unless NO_COLOR is set or TERM is "dumb".
  ColorMode color = ColorMode::kAuto;
  // Progress also where standard error is no terminal: as lines, not redrawn.
  bool progress = false;
  // No progress and no Err(); Complain() still speaks.
  bool quiet = false;
  std::function<std::chrono::steady_clock::time_point()> now =
      std::chrono::steady_clock::now;
};

class Terminal {
 public:
  // On standard output and standard error.
  explicit Terminal(const TerminalOptions& options = {});
  // The descriptors stay open.
  Terminal(int out, int err, const TerminalOptions& options);
  // Writes what is left, and forgets what fails: call Flush().
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  bool out_is_terminal() const { return out_is_terminal_; }
  bool color_out() const { return color_out_; }
  // Columns of the terminal; 80 where there is none to ask.
  std::size_t width() const { return width_; }
  bool shows_progress() const { return shows_progress_; }
  bool quiet() const { return options_.quiet; }

  // Results. Whole lines stay together when several threads print.
  void Out(std::string_view text);

  // Whole lines on standard error, at once. A progress line is erased first.
  void Err(std::string_view text);
  // The same, also where the user asked for quiet.
  void Complain(std::string_view text);

  // "onnx-tag: " and a message (see base/text.h): a note or a warning, ...
  template <typename... Args>
  void Note(message::Format<std::type_identity_t<Args>...> format,
            const Args&... args) {
    Err("onnx-tag: " + Message(format, args...) + "\n");
  }
  // ... and what the user must hear: an error or a finding.
  template <typename... Args>
  void Report(message::Format<std::type_identity_t<Args>...> format,
              const Args&... args) {
    Complain("onnx-tag: " + Message(format, args...) + "\n");
  }

  // One line that replaces the one before, at most six times a second.
  void Progress(std::string_view line);

  // Erases the progress line.
  void EndProgress();

  // Throws Error(kOutput) if standard output could not be written, and
  // BrokenPipe if nobody reads it.
  void Flush();

 private:
  void WriteOut();
  void EraseProgress();

  const int out_;
  const int err_;
  const TerminalOptions options_;
  bool out_is_terminal_ = false;
  bool err_is_terminal_ = false;
  bool color_out_ = false;
  bool shows_progress_ = false;
  std::size_t width_ = 80;

  std::mutex mutex_;
  std::string pending_;
  int error_ = 0;  // errno of the first failed write to standard output
  bool progress_drawn_ = false;
  bool progress_ever_ = false;
  std::chrono::steady_clock::time_point last_progress_;
};

}  // namespace onnx_tag
