// The program in a process of its own, to be limited, stopped and killed.
#ifndef ONNX_TAG_TESTS_SUPPORT_PROCESS_H_
#define ONNX_TAG_TESTS_SUPPORT_PROCESS_H_

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/temporary_folder.h"

namespace onnx_tag::test {

struct Streams {
  int in = -1;   // -1: /dev/null
  int out = -1;  // -1: kept, see Process::out()
};

class Process {
 public:
  // `prepare` runs in the new process, before the program: limits, users.
  explicit Process(const std::vector<std::string>& args, Streams streams = {},
                   const std::function<void()>& prepare = {}) {
    std::vector<char*> argv = {const_cast<char*>(ONNX_TAG_PROGRAM)};
    for (const std::string& arg : args) {
      argv.push_back(const_cast<char*>(arg.c_str()));
    }
    argv.push_back(nullptr);
    // Opened here: `prepare` may give up the right to enter its folder.
    const int program = open(ONNX_TAG_PROGRAM, O_RDONLY | O_CLOEXEC);
    const std::string out = said_ / "out";
    const std::string err = said_ / "err";
    pid_ = fork();
    if (pid_ != 0) {
      close(program);
      if (pid_ < 0) throw std::runtime_error("fork");
      return;
    }
    Redirect(streams.in, "/dev/null", O_RDONLY, STDIN_FILENO);
    Redirect(streams.out, out.c_str(), O_WRONLY | O_CREAT, STDOUT_FILENO);
    Redirect(-1, err.c_str(), O_WRONLY | O_CREAT, STDERR_FILENO);
    if (prepare) prepare();
    execv(argv[0], argv.data());
    fexecve(program, argv.data(), environ);
    _exit(126);
  }
  ~Process() {
    if (pid_ <= 0) return;
    Kill(SIGKILL);
    Wait();
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  void Kill(int signal) const { kill(pid_, signal); }

  // The exit code, or minus the signal that ended it.
  int Wait() {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  // Stops it, wherever it is. False where it has ended before; then it is
  // still to be waited for.
  bool Stop() const {
    Kill(SIGSTOP);
    siginfo_t info = {};
    while (waitid(P_PID, static_cast<id_t>(pid_), &info,
                  WSTOPPED | WEXITED | WNOWAIT) < 0 &&
           errno == EINTR) {
    }
    return info.si_code == CLD_STOPPED;
  }

  std::string out() const { return ReadFile(said_ / "out"); }
  std::string err() const { return ReadFile(said_ / "err"); }

 private:
  static void Redirect(int fd, const char* path, int flags, int to) {
    if (fd < 0) fd = open(path, flags, 0600);
    dup2(fd, to);
  }

  TemporaryFolder said_;
  pid_t pid_;
};

}  // namespace onnx_tag::test

#endif  // ONNX_TAG_TESTS_SUPPORT_PROCESS_H_
