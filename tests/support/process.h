// The program in a process of its own, to be limited, stopped and killed.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "support/temporary_folder.h"

namespace onnx_tag::test {

struct Streams {
  int in = -1;   // -1: nothing to read
  int out = -1;  // -1: kept, see Process::out()
};

class Process {
 public:
  // `prepare` runs in the new process, before the program: limits, users.
  // Windows has no moment for it.
  explicit Process(const std::vector<std::string>& args, Streams streams = {},
                   const std::function<void()>& prepare = {});
  // Kills it, unless it was waited for.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // On Windows a handle.
  pid_t pid() const { return pid_; }

  // The exit code, or minus the signal that ended it.
  int Wait();

  // POSIX alone.
  void Kill(int signal) const;
  // Stops it, wherever it is. False where it has ended before; then it is
  // still to be waited for.
  bool Stop() const;

  std::string out() const { return ReadFile(said_ / "out"); }
  std::string err() const { return ReadFile(said_ / "err"); }

 private:
  TemporaryFolder said_;
  pid_t pid_;
};

}  // namespace onnx_tag::test
