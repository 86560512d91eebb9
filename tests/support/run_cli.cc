#include "support/run_cli.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "cli/run.h"

namespace onnx_tag::test {
namespace {

// A file in memory that closes itself.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& content = "")
      : fd_(memfd_create("test", MFD_CLOEXEC)) {
    if (fd_ < 0) throw std::runtime_error("memfd_create");
    for (std::size_t done = 0; done < content.size();) {
      const ssize_t count =
          write(fd_, content.data() + done, content.size() - done);
      if (count <= 0) throw std::runtime_error("write");
      done += static_cast<std::size_t>(count);
    }
    lseek(fd_, 0, SEEK_SET);
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int fd() const { return fd_; }
  std::string Content() const {
    std::string content(static_cast<std::size_t>(lseek(fd_, 0, SEEK_END)), 0);
    const ssize_t count = pread(fd_, content.data(), content.size(), 0);
    content.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
    return content;
  }

 private:
  int fd_;
};

// Standard input is another file as long as this lives.
class StandardInput {
 public:
  explicit StandardInput(int fd) : before_(dup(STDIN_FILENO)) {
    dup2(fd, STDIN_FILENO);
  }
  ~StandardInput() {
    dup2(before_, STDIN_FILENO);
    close(before_);
  }
  StandardInput(const StandardInput&) = delete;
  StandardInput& operator=(const StandardInput&) = delete;

 private:
  int before_;
};

}  // namespace

CliResult RunCli(const std::vector<std::string>& args, const std::string& input,
                 bool piped) {
  const MemoryFile out;
  const MemoryFile err;
  CliResult result;
  if (piped) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("pipe");
    std::thread writer([&] {
      for (std::size_t done = 0; done < input.size();) {
        const ssize_t count =
            write(ends[1], input.data() + done, input.size() - done);
        if (count <= 0) break;
        done += static_cast<std::size_t>(count);
      }
      close(ends[1]);
    });
    {
      const StandardInput replaced(ends[0]);
      result.exit = cli::Run(args, out.fd(), err.fd());
    }
    close(ends[0]);
    writer.join();
  } else {
    const MemoryFile in(input);
    const StandardInput replaced(in.fd());
    result.exit = cli::Run(args, out.fd(), err.fd());
  }
  result.out = out.Content();
  result.err = err.Content();
  return result;
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

bool IsWellFormed(const std::string& xml) {
  std::vector<std::string> open;
  for (std::size_t at = 0; at < xml.size();) {
    if (xml[at] == '&') {
      const std::string entity = xml.substr(at, xml.find(';', at) - at + 1);
      if (entity != "&lt;" && entity != "&gt;" && entity != "&amp;" &&
          entity != "&quot;" && entity != "&apos;") {
        return false;
      }
    }
    if (static_cast<unsigned char>(xml[at]) < 0x20 && xml[at] != '\n') {
      return false;
    }
    if (xml[at] != '<') {
      ++at;
      continue;
    }
    const std::size_t end = xml.find('>', at);
    const std::string tag = xml.substr(at + 1, end - at - 1);
    if (end == std::string::npos || tag.find('<') != std::string::npos ||
        std::count(tag.begin(), tag.end(), '"') % 2 != 0) {
      return false;
    }
    if (tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return false;
      open.pop_back();
    } else if (tag[0] != '?' && tag.back() != '/') {
      open.push_back(tag.substr(0, tag.find(' ')));
    }
    at = end + 1;
  }
  return open.empty();
}

}  // namespace onnx_tag::test
