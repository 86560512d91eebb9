#include <sys/stat.h>

#include "file/io/file_status.h"
#include "file/io/system_posix.h"

namespace onnx_tag::io {
namespace {

FileKind KindOf(mode_t mode) {
  if (S_ISREG(mode)) return FileKind::kRegular;
  if (S_ISDIR(mode)) return FileKind::kFolder;
  if (S_ISLNK(mode)) return FileKind::kLink;
  if (S_ISFIFO(mode)) return FileKind::kPipe;
  if (S_ISSOCK(mode)) return FileKind::kSocket;
  if (S_ISCHR(mode) || S_ISBLK(mode)) return FileKind::kDevice;
  return FileKind::kOther;
}

std::optional<FileStatus> Translate(int result, const struct stat& status) {
  if (result != 0) return std::nullopt;
  const timespec time = ModifiedTime(status);
  return FileStatus{
      .kind = KindOf(status.st_mode),
      .id = {static_cast<std::uint64_t>(status.st_dev), status.st_ino},
      .size = static_cast<std::uint64_t>(status.st_size),
      .modified = std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec,
      .mode = status.st_mode & 0777u,
      .named = status.st_nlink > 0};
}

}  // namespace

std::optional<FileStatus> StatusOf(const std::string& path) {
  struct stat status = {};
  return Translate(stat(path.c_str(), &status), status);
}

std::optional<FileStatus> StatusOf(int fd) {
  struct stat status = {};
  return Translate(fstat(fd, &status), status);
}

std::optional<FileStatus> StatusOfLink(const std::string& path) {
  struct stat status = {};
  return Translate(lstat(path.c_str(), &status), status);
}

}  // namespace onnx_tag::io
