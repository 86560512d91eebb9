// Runs commands in turn and prints, for each, the median of its times and the
// most memory it had: `seconds cpu_seconds kilobytes`, a line per command.
//
//   measure RUNS OUTPUT -- COMMAND... [-- COMMAND...]...
//
// In turn, so that whatever else the machine does falls on all of them. OUTPUT
// is removed before each run, which also drops what is not yet on the disk.
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

struct Run {
  double seconds = 0;
  double cpu = 0;
  long kilobytes = 0;
};

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) +
         static_cast<double>(time.tv_usec) * 1e-6;
}

bool RunOnce(char** command, Run& run) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  const auto start = std::chrono::steady_clock::now();
  pid_t child = 0;
  int status = 0;
  rusage usage{};
  const bool started = posix_spawnp(&child, command[0], &actions, nullptr,
                                    command, environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  if (!started || wait4(child, &status, 0, &usage) != child) return false;
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - start;
  run = {took.count(), Seconds(usage.ru_utime) + Seconds(usage.ru_stime),
         usage.ru_maxrss};
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

template <typename Key>
double Median(std::vector<Run> runs, Key key) {
  std::sort(runs.begin(), runs.end(),
            [&](const Run& a, const Run& b) { return key(a) < key(b); });
  return key(runs[runs.size() / 2]);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<char**> commands;
  for (int i = 3; i < argc; ++i) {
    if (std::strcmp(argv[i], "--") == 0) {
      argv[i] = nullptr;  // ends the command before it
      commands.push_back(argv + i + 1);
    }
  }
  const int count = argc > 1 ? std::atoi(argv[1]) : 0;
  if (commands.empty() || count < 1) {
    std::fprintf(stderr, "usage: measure RUNS OUTPUT -- COMMAND... [-- ...]\n");
    return 2;
  }
  std::vector<std::vector<Run>> runs(commands.size());
  for (int round = 0; round < count; ++round) {
    for (std::size_t i = 0; i < commands.size(); ++i) {
      unlink(argv[2]);
      Run run;
      if (!RunOnce(commands[i], run)) {
        std::fprintf(stderr, "measure: %s failed\n", commands[i][0]);
        return 1;
      }
      runs[i].push_back(run);
    }
  }
  unlink(argv[2]);
  for (const std::vector<Run>& of_one : runs) {
    long most = 0;
    for (const Run& run : of_one) most = std::max(most, run.kilobytes);
    std::printf("%.6f %.6f %ld\n",
                Median(of_one, [](const Run& run) { return run.seconds; }),
                Median(of_one, [](const Run& run) { return run.cpu; }), most);
  }
  return 0;
}
