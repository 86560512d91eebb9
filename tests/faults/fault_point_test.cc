// The program is killed before and after each system call that touches a file
// it writes: once at each, in every way of writing. Nothing is lost, nothing is
// half-written, and the next run removes what is left over.
//
// A tracer (ptrace) counts the calls and kills at the n-th. Each way runs
// twice: as it is, and with O_TMPFILE refused, as on file systems without it.
// A run of all tests takes a sample; ONNX_TAG_ALL_FAULT_POINTS=1 takes every
// point, thousands of them (scripts/release-check.sh).
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <set>

#include "support/onnx_models.h"
#include "support/process.h"
#include "support/sanitized.h"
#include "support/temporary_folder.h"

namespace onnx_tag::test {
namespace {

namespace fs = std::filesystem;

using Contents = std::map<std::string, std::string>;

bool TouchesFiles(std::uint64_t call) {
  static const std::set<std::uint64_t> calls = {
      SYS_openat,    SYS_write,     SYS_pwrite64,  SYS_copy_file_range,
      SYS_fallocate, SYS_ftruncate, SYS_fchmod,    SYS_fsync,
      SYS_flock,     SYS_linkat,    SYS_renameat2, SYS_unlinkat,
      SYS_mkdirat,   SYS_symlinkat, SYS_close,     SYS_ioctl,
#ifdef SYS_rename
      SYS_rename,    SYS_link,      SYS_unlink,    SYS_mkdir,
      SYS_symlink,   SYS_open,
#endif
#ifdef SYS_renameat
      SYS_renameat,
#endif
  };
  return calls.contains(call);
}

// Makes the call at whose entry the process stands fail with EOPNOTSUPP.
class Refusal {
 public:
  void Enter(pid_t pid) {
    pending_ = true;
#if defined(__aarch64__)
    int none = -1;
    iovec data = {&none, sizeof none};
    ptrace(PTRACE_SETREGSET, pid, 0x404 /* NT_ARM_SYSTEM_CALL */, &data);
#else
    ptrace(PTRACE_POKEUSER, pid, 8 * 15 /* orig_rax */, -1L);
#endif
  }
  void Exit(pid_t pid) {
    if (!std::exchange(pending_, false)) return;
#if defined(__aarch64__)
    struct {
      std::uint64_t regs[31], sp, pc, pstate;
    } registers;
    iovec data = {&registers, sizeof registers};
    ptrace(PTRACE_GETREGSET, pid, 1 /* NT_PRSTATUS */, &data);
    registers.regs[0] = static_cast<std::uint64_t>(-EOPNOTSUPP);
    ptrace(PTRACE_SETREGSET, pid, 1, &data);
#else
    ptrace(PTRACE_POKEUSER, pid, 8 * 10 /* rax */,
           static_cast<long>(-EOPNOTSUPP));
#endif
  }

 private:
  bool pending_ = false;
};

enum class Ended { kKilled, kByItself, kNotTraced };

// Runs the program and kills it at the `point`-th stop.
Ended RunUntil(const std::vector<std::string>& args, int point,
               bool no_unnamed_files) {
  Process process(args, {}, [] { ptrace(PTRACE_TRACEME, 0, 0, 0); });
  const pid_t pid = process.pid();
  int status = 0;
  if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) ||
      ptrace(PTRACE_SETOPTIONS, pid, 0,
             PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) != 0) {
    return Ended::kNotTraced;
  }
  Refusal refusal;
  int signal = 0;
  for (int stops = 0;;) {
    if (ptrace(PTRACE_SYSCALL, pid, 0, signal) != 0) return Ended::kNotTraced;
    signal = 0;
    waitpid(pid, &status, 0);
    if (WIFEXITED(status) || WIFSIGNALED(status)) return Ended::kByItself;
    if (WSTOPSIG(status) != (SIGTRAP | 0x80)) {
      signal = WSTOPSIG(status);
      continue;
    }
    __ptrace_syscall_info info = {};
    ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info);
    static std::uint64_t call = 0;
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
      call = info.entry.nr;
      if (no_unnamed_files && call == SYS_openat &&
          (info.entry.args[2] & O_TMPFILE) == O_TMPFILE) {
        refusal.Enter(pid);
      }
    } else {
      refusal.Exit(pid);
    }
    if (TouchesFiles(call) && stops++ == point) {
      process.Kill(SIGKILL);
      process.Wait();
      return Ended::kKilled;
    }
  }
}

struct Way {
  std::string_view name;
  std::vector<std::string> args;  // "@x" is the file x of the folder
};

const std::vector<Way>& Ways() {
  static const std::vector<Way> ways = {
      {"new files", {"tag", "@m.onnx", "-o", "@new.onnx"}},
      {"replaced files", {"tag", "@m.onnx", "-o", "@old.onnx"}},
      {"replaced with fsync", {"tag", "@m.onnx", "-o", "@old.onnx", "--fsync"}},
      {"in place", {"tag", "@m.onnx", "--in-place", "--sidecar", "@old.json"}},
      {"strip in place", {"strip", "@tagged.onnx", "--in-place"}},
      {"strip", {"strip", "@tagged.onnx", "-o", "@new.onnx"}},
      {"transfer", {"transfer", "@tagged.onnx", "@n.onnx", "-o", "@old.onnx"}},
      {"export",
       {"export", "@m.onnx", "--to", "graphml", "-o", "@new.graphml"}},
      {"copied weights",
       {"tag", "@e/x.onnx", "--out-dir", "@out", "--data", "copy"}},
      {"packed weights",
       {"extract", "@e/x.onnx", "--module", "", "-o", "@out/y.onnx", "--data",
        "copy", "--force"}},
      {"shared weights",
       {"tag", "@e/x.onnx", "--out-dir", "@out", "--data", "link"}},
      {"private", {"strip", "@m.onnx", "--private", "-o", "@new.onnx"}},
      {"private in place", {"strip", "@m.onnx", "--private", "--in-place"}},
      {"tap", {"tap", "@m.onnx", "--module", "**", "-o", "@new.onnx"}},
      {"tap, copied weights",
       {"tap", "@e/x.onnx", "--module", "**", "-o", "@out/y.onnx", "--data",
        "copy"}},
      {"extract", {"extract", "@m.onnx", "--module", "n", "-o", "@new.onnx"}},
      {"split",
       {"split", "@m.onnx", "--at", "n", "--out-dir", "@out", "--force"}},
      {"split, packed weights",
       {"split", "@e/x.onnx", "--at", "n", "--out-dir", "@out", "--data",
        "copy"}},
      {"strip, copied weights",
       {"strip", "@e/x.onnx", "-o", "@out/y.onnx", "--data", "copy"}},
      {"report", {"report", "@m.onnx", "-o", "@new.html"}},
      {"reports of a folder", {"report", "@e", "--out-dir", "@out"}},
      {"batch", {"tag", "@m.onnx", "@n.onnx", "-j", "1", "--format", "junit"}},
  };
  return ways;
}

class FaultPointTest : public testing::Test {
 protected:
  std::string Model(int nodes, std::size_t weight, bool external) const {
    schema::ModelProto model;
    model.set_ir_version(8);
    model.set_doc_string("made in /home/jane/models");
    schema::GraphProto& graph = *model.mutable_graph();
    const auto value = [](int i) { return "v" + std::to_string(i); };
    for (int i = 0; i < nodes; ++i) {
      AddNode(graph, "Relu",
              (i < nodes / 2 ? "/m/Relu_" : "/n/Relu_") + std::to_string(i),
              {value(i)}, {value(i + 1)});
    }
    graph.mutable_node(nodes - 1)->add_input("w");
    graph.add_input()->set_name(value(0));
    graph.add_output()->set_name(value(nodes));
    schema::TensorProto* tensor = graph.add_initializer();
    tensor->set_name("w");
    if (external) {
      tensor->set_data_location(1);
      schema::StringStringEntryProto& entry = *tensor->add_external_data();
      entry.set_key("location");
      entry.set_value("w.bin");
    } else {
      tensor->set_raw_data(std::string(weight, 'w'));
    }
    return model.SerializeAsString();
  }

  // The folder as it is before a run; a second model gives the old outputs.
  void Fill(std::size_t weight) {
    fs::create_directories(folder_ / "e");
    fs::create_directories(folder_ / "out");
    folder_.Write("m.onnx", Model(300, weight, false));
    folder_.Write("n.onnx", Model(310, weight, false));
    folder_.Write("e/x.onnx", Model(50, 0, true));
    folder_.Write("e/w.bin", std::string(300'000, 'x'));
    folder_.Write("out/w.bin", "older weights");
    Run({"tag", "@m.onnx", "-o", "@tagged.onnx", "--no-sidecar"});
    Run({"tag", "@n.onnx", "-o", "@old.onnx", "--sidecar", "@old.tags.json"});
    Run({"tag", "@n.onnx", "--sidecar-only", "--sidecar", "@old.json"});
    fs::remove(folder_ / "out/w.bin");
    before_ = Read();
  }

  std::vector<std::string> Expand(std::vector<std::string> args) const {
    for (std::string& arg : args) {
      if (arg.starts_with("@")) arg = folder_ / arg.substr(1);
    }
    return args;
  }
  void Run(const std::vector<std::string>& args) const {
    Process process(Expand(args));
    EXPECT_EQ(process.Wait(), 0) << process.err();
  }

  // Few file systems share bytes between files (btrfs, xfs).
  static bool CanShare(const std::vector<std::string>& args) {
    Process process(args);
    return process.Wait() == 0;
  }

  Contents Read() const {
    Contents contents;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
      if (!entry.is_directory()) {
        contents[fs::relative(entry.path(), folder_.path()).string()] =
            ReadFile(entry.path().string());
      }
    }
    return contents;
  }
  void Restore() const {
    for (const auto& [name, content] : Read()) {
      const auto was = before_.find(name);
      if (was == before_.end()) {
        fs::remove(folder_ / name);
      } else if (was->second != content) {
        folder_.Write(name, was->second);
      }
    }
    for (const auto& [name, content] : before_) {
      if (!fs::exists(folder_ / name)) folder_.Write(name, content);
    }
  }

  static bool IsLeftover(const std::string& name) {
    return fs::path(name).filename().string().starts_with(".onnx-tag-");
  }

  // Every file is what it was or what it becomes; `after` is a whole run's.
  void Check(const Contents& after) const {
    const Contents now = Read();
    for (const auto& [name, content] : now) {
      if (IsLeftover(name)) continue;
      const auto was = before_.find(name);
      const auto will = after.find(name);
      EXPECT_TRUE((was != before_.end() && was->second == content) ||
                  (will != after.end() && will->second == content))
          << name << " has " << content.size() << " bytes";
    }
    for (const auto& [name, content] : before_) {
      EXPECT_TRUE(now.contains(name)) << name << " is gone";
    }
  }

  // Kills at every point of every way; returns how often.
  int KillEverywhere(bool no_unnamed_files) {
    int kills = 0;
    for (const Way& way : Ways()) {
      SCOPED_TRACE(way.name);
      const std::vector<std::string> args = Expand(way.args);
      if (way.name == "shared weights" && !CanShare(args)) continue;
      Run(way.args);
      const Contents after = Read();
      Restore();
      for (int point = 7 * kills % stride_;; point += stride_) {
        const Ended ended = RunUntil(args, point, no_unnamed_files);
        if (ended == Ended::kNotTraced) return -1;
        Check(after);
        if (HasFailure()) {
          ADD_FAILURE() << "killed at point " << point;
          return kills;
        }
        if (ended == Ended::kByItself) {
          EXPECT_EQ(Read(), after);
          Restore();
          break;
        }
        ++kills;
        // A whole run now gives what it gives without a kill, and removes what
        // is left over.
        if (kills % 8 == 0) {
          // On the same file system: with O_TMPFILE nothing is left over.
          EXPECT_EQ(
              RunUntil(args, std::numeric_limits<int>::max(), no_unnamed_files),
              Ended::kByItself);
          for (const auto& [name, content] : Read()) {
            EXPECT_FALSE(IsLeftover(name)) << name << ", point " << point;
          }
        }
        Restore();
      }
    }
    return kills;
  }

  TemporaryFolder folder_;
  Contents before_;
  // Each point takes a process. A prime: every way of writing is left at other
  // points.
  const bool all_ = std::getenv("ONNX_TAG_ALL_FAULT_POINTS") != nullptr;
  const int stride_ = all_ ? 1 : 97;
};

TEST_F(FaultPointTest, AKillAtAnyPointLosesNothing) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer's own calls are no use here";
  int kills = 0;
  // Copied through a buffer, and by the kernel.
  for (const std::size_t weight : {std::size_t{1000}, std::size_t{600'000}}) {
    if (!all_ && weight > 1000) break;
    Fill(weight);
    for (const bool no_unnamed_files : {false, true}) {
      const int more = KillEverywhere(no_unnamed_files);
      if (more < 0) GTEST_SKIP() << "ptrace is not allowed here";
      kills += more;
      ASSERT_FALSE(HasFailure());
    }
  }
  std::printf("%d kills at fault points\n", kills);
  EXPECT_GE(kills, all_ ? 2000 : 15);
}

}  // namespace
}  // namespace onnx_tag::test
