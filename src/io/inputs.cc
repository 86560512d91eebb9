#include "io/inputs.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "onnx_tag/error.h"

namespace onnx_tag {

void Inputs::Add(const std::string& path, std::string_view what) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return;
  files_.emplace(std::pair(status.st_dev, status.st_ino), what);
}

void Inputs::Add(const MappedFile& file, std::string_view what) {
  struct stat status;
  if (file.fd() < 0 || fstat(file.fd(), &status) != 0) return;
  files_.emplace(std::pair(status.st_dev, status.st_ino), what);
}

void Inputs::Add(const Inputs& others) {
  files_.insert(others.files_.begin(), others.files_.end());
}

std::string_view Inputs::Find(const std::string& path) const {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return {};
  const auto found = files_.find({status.st_dev, status.st_ino});
  return found == files_.end() ? std::string_view() : found->second;
}

std::string_view Inputs::FindDescriptor(int fd) const {
  struct stat status;
  // Two programs that share a terminal do not share a file.
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return {};
  const auto found = files_.find({status.st_dev, status.st_ino});
  return found == files_.end() ? std::string_view() : found->second;
}

void Inputs::Refuse(const std::string& path) const {
  const std::string_view what = Find(path);
  if (what.empty()) return;
  Fail(ErrorKind::kOutput, "{}: is an input of this command ({})", path, what);
}

namespace io {
namespace {

void RefuseAsStandardOutput(const struct stat& file, const std::string& name) {
  struct stat out;
  if (!S_ISREG(file.st_mode) || file.st_size == 0 ||
      fstat(STDOUT_FILENO, &out) != 0 || out.st_dev != file.st_dev ||
      out.st_ino != file.st_ino) {
    return;
  }
  Fail(ErrorKind::kOutput,
       "{}: is an input of this command, and standard output writes to it\n  "
       "redirect standard output to another file",
       name);
}

}  // namespace

void RefuseAsStandardOutput(const std::string& path) {
  struct stat file;
  if (stat(path.c_str(), &file) == 0) RefuseAsStandardOutput(file, path);
}

void RefuseAsStandardOutput(int fd, const std::string& name) {
  struct stat file;
  if (fstat(fd, &file) == 0) RefuseAsStandardOutput(file, name);
}

}  // namespace io
}  // namespace onnx_tag
