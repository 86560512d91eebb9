#include "file/io/inputs.h"

#include <unistd.h>

#include "base/text.h"
#include "onnx_tag/error.h"

namespace onnx_tag {

void Inputs::Add(const std::string& path, std::string_view what) {
  if (const auto status = io::StatusOf(path)) files_.emplace(status->id, what);
}

void Inputs::Add(const MappedFile& file, std::string_view what) {
  if (file.fd() < 0) return;
  if (const auto status = io::StatusOf(file.fd())) {
    files_.emplace(status->id, what);
  }
}

void Inputs::Add(const Inputs& others) {
  files_.insert(others.files_.begin(), others.files_.end());
}

std::string_view Inputs::Find(const std::string& path) const {
  const auto status = io::StatusOf(path);
  if (!status) return {};
  const auto found = files_.find(status->id);
  return found == files_.end() ? std::string_view() : found->second;
}

std::string_view Inputs::FindDescriptor(int fd) const {
  const auto status = io::StatusOf(fd);
  // Two programs that share a terminal do not share a file.
  if (!status || !status->regular()) return {};
  const auto found = files_.find(status->id);
  return found == files_.end() ? std::string_view() : found->second;
}

void Inputs::Refuse(const std::string& path) const {
  const std::string_view what = Find(path);
  if (what.empty()) return;
  Fail(ErrorKind::kOutput, "{}: is an input of this command ({})", path, what);
}

namespace io {

void RefuseAsStandardOutput(const std::optional<FileStatus>& file,
                            const std::string& name) {
  if (!file || !file->regular() || file->size == 0) return;
  const std::optional<FileStatus> out = StatusOf(STDOUT_FILENO);
  if (!out || out->id != file->id) return;
  Fail(ErrorKind::kOutput,
       "{}: is an input of this command, and standard output writes to it\n  "
       "redirect standard output to another file",
       name);
}

}  // namespace io
}  // namespace onnx_tag
