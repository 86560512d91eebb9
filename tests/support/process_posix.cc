#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>

#include "support/process.h"

namespace onnx_tag::test {
namespace {

void Redirect(int fd, const char* path, int flags, int to) {
  if (fd < 0) fd = open(path, flags, 0600);
  dup2(fd, to);
}

}  // namespace

Process::Process(const std::vector<std::string>& args, Streams streams,
                 const std::function<void()>& prepare) {
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

Process::~Process() {
  if (pid_ <= 0) return;
  Kill(SIGKILL);
  Wait();
}

void Process::Kill(int signal) const { kill(pid_, signal); }

int Process::Wait() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

bool Process::Stop() const {
  Kill(SIGSTOP);
  siginfo_t info = {};
  while (waitid(P_PID, static_cast<id_t>(pid_), &info,
                WSTOPPED | WEXITED | WNOWAIT) < 0 &&
         errno == EINTR) {
  }
  return info.si_code == CLD_STOPPED;
}

}  // namespace onnx_tag::test
