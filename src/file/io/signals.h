// Ctrl-C and its like: leave nothing behind, and exit with 130 or 143.
#pragma once

#include <string>

namespace onnx_tag {

// SIGINT, SIGTERM and SIGHUP remove temporary files and end the program with
// 128 + the signal's number, unless they were ignored when it started (nohup, a
// job in the background). SIGPIPE and SIGXFSZ are ignored: a closed pipe and a
// file past the user's limit are failed writes. On Windows Ctrl-C and
// Ctrl-Break end it with 130, a closed window and the end of the session with
// 143.
void InstallSignalHandlers();

namespace io {

// While it lives, the handlers remove the file of this name. There is room for
// 256 names; one too many, or of 4096 bytes, is not removed by a signal but
// later, as a leftover (output_file.h).
class TemporaryName {
 public:
  TemporaryName() = default;
  explicit TemporaryName(const std::string& path);
  TemporaryName(TemporaryName&& other) noexcept;
  TemporaryName& operator=(TemporaryName&& other) noexcept;
  ~TemporaryName();

  const std::string& path() const { return path_; }
  bool empty() const { return path_.empty(); }
  // Forgets the name; the file stays.
  void Forget();

 private:
  std::string path_;
  int slot_ = -1;
};

// Lives while a file gets a temporary name. The handlers wait for it: without
// that, one thread could make a file while another one's handler, which has
// looked for files already, ends the program. Once a handler runs, a thread
// that wants one waits for the end.
class NamingScope {
 public:
  NamingScope();
  ~NamingScope();
  NamingScope(const NamingScope&) = delete;
  NamingScope& operator=(const NamingScope&) = delete;
};

// The files of all temporary names; for handlers.
void RemoveTemporaryFiles();

}  // namespace io
}  // namespace onnx_tag
