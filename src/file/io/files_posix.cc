// Paths, folders and what the system knows of a file.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <system_error>

#include "file/io/file_status.h"
#include "file/io/folder.h"
#include "file/io/paths.h"
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

namespace {

EntryKind EntryKindOfMode(mode_t mode) {
  if (S_ISREG(mode)) return EntryKind::kFile;
  return S_ISDIR(mode) ? EntryKind::kFolder : EntryKind::kOther;
}

EntryKind EntryKindOf(int folder, const dirent& entry) {
  // Most file systems say; asking again would cost a call for each file.
  if (entry.d_type == DT_REG) return EntryKind::kFile;
  if (entry.d_type == DT_DIR) return EntryKind::kFolder;
  struct stat status;
  bool link = entry.d_type == DT_LNK;
  if (entry.d_type == DT_UNKNOWN) {
    if (fstatat(folder, entry.d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
      return EntryKind::kOther;
    }
    link = S_ISLNK(status.st_mode);
    if (!link) return EntryKindOfMode(status.st_mode);
  }
  if (!link) return EntryKind::kOther;
  if (fstatat(folder, entry.d_name, &status, 0) != 0) {
    return EntryKind::kBrokenLink;
  }
  return S_ISDIR(status.st_mode) ? EntryKind::kLinkToFolder
                                 : EntryKindOfMode(status.st_mode);
}

}  // namespace

std::optional<std::vector<FolderEntry>> ListFolder(const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(opendir(path.c_str()),
                                                   closedir);
  if (stream == nullptr) return std::nullopt;
  std::vector<FolderEntry> entries;
  for (;;) {
    errno = 0;
    const dirent* const entry = readdir(stream.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    entries.push_back(
        {std::string(name), EntryKindOf(dirfd(stream.get()), *entry)});
  }
  if (errno != 0) return std::nullopt;
  return entries;
}

int MakeFolder(const std::string& path) { return mkdir(path.c_str(), 0777); }

}  // namespace onnx_tag::io

namespace onnx_tag {

bool IsSeparator(char c) { return c == '/'; }

std::optional<std::string> RealPath(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  if (error) return std::nullopt;
  return real.string();
}

namespace io {

std::string SystemMessage(int error) {
  return std::generic_category().message(error);
}

std::string FoldName(std::string_view name) { return std::string(name); }

}  // namespace io
}  // namespace onnx_tag
