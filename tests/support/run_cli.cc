#include "support/run_cli.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "app/cli/app.h"
#include "file/io/system_calls.h"
#include "support/pipe.h"

namespace onnx_tag::test {
namespace {

// False if nobody reads any more.
bool WriteWhole(int fd, std::string_view content) {
  while (!content.empty()) {
    const std::ptrdiff_t count =
        io::kRealCalls.write(fd, content.data(), content.size());
    if (count <= 0) return false;
    content.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

// A file without a name that goes when it is closed.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& content = "")
      : file_(std::tmpfile()) {
    if (file_ == nullptr) throw std::runtime_error("tmpfile");
    if (!WriteWhole(fd(), content)) throw std::runtime_error("write");
    lseek(fd(), 0, SEEK_SET);
  }
  ~ScratchFile() { std::fclose(file_); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  int fd() const { return fileno(file_); }
  std::string Content() const {
    std::string content;
    char piece[4096];
    for (;;) {
      const std::ptrdiff_t count = io::kRealCalls.pread(
          fd(), piece, sizeof piece, static_cast<std::int64_t>(content.size()));
      if (count <= 0) return content;
      content.append(piece, static_cast<std::size_t>(count));
    }
  }

 private:
  std::FILE* file_;
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
  const ScratchFile out;
  const ScratchFile err;
  CliResult result;
  if (piped) {
    int ends[2];
    if (MakePipe(ends) != 0) throw std::runtime_error("pipe");
    std::thread writer([&] {
      WriteWhole(ends[1], input);
      close(ends[1]);
    });
    {
      const StandardInput replaced(ends[0]);
      result.exit = cli::Run(args, out.fd(), err.fd());
    }
    close(ends[0]);
    writer.join();
  } else {
    const ScratchFile in(input);
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
