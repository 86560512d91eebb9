#include "io/paths.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "io/descriptor.h"
#include "io/inputs.h"
#include "onnx_tag/error.h"

namespace onnx_tag {

std::string ParentFolder(std::string_view path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string_view::npos) return ".";
  return slash == 0 ? "/" : std::string(path.substr(0, slash));
}

bool SameFile(const std::string& a, const std::string& b) {
  struct stat first, second;
  return stat(a.c_str(), &first) == 0 && stat(b.c_str(), &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

std::string FileKeys::Of(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::is_symlink(fs::symlink_status(path, error))) {
    const fs::path target = fs::canonical(path, error);
    if (!error) return target.string();
  }
  const std::string parent = ParentFolder(path);
  const auto [at, added] = folders_.try_emplace(parent);
  if (added) {
    const fs::path real = fs::weakly_canonical(parent, error);
    at->second = error ? parent : real.string();
  }
  return (fs::path(at->second) / fs::path(path).filename()).string();
}

std::optional<FileStamp> StampOf(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return std::nullopt;
  }
  return FileStamp{static_cast<std::uint64_t>(status.st_size),
                   std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 +
                       status.st_mtim.tv_nsec};
}

std::string ReadWholeFile(const std::string& path, std::uint64_t limit) {
  const io::Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) {
    Fail(ErrorKind::kInput, "{}: could not read: {}", path,
         io::SystemMessage(errno));
  }
  io::RefuseAsStandardOutput(file.get(), path);
  std::string content;
  struct stat status;
  if (fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) &&
      static_cast<std::uint64_t>(status.st_size) <= limit) {
    content.reserve(static_cast<std::size_t>(status.st_size) + 1);
  }
  for (;;) {
    constexpr std::size_t kChunk = 64 * 1024;
    const std::size_t before = content.size();
    content.resize(std::max(content.capacity(), before + kChunk));
    const ssize_t count = io::Retry([&] {
      return read(file.get(), content.data() + before, content.size() - before);
    });
    if (count < 0) {
      Fail(ErrorKind::kInput, "{}: could not read: {}", path,
           io::SystemMessage(errno));
    }
    content.resize(before + static_cast<std::size_t>(count));
    if (count == 0) return content;
    if (content.size() > limit) {
      Fail(ErrorKind::kInput, "{}: larger than {} bytes", path, limit);
    }
  }
}

namespace io {

std::string SystemMessage(int error) {
  return std::generic_category().message(error);
}

}  // namespace io
}  // namespace onnx_tag
