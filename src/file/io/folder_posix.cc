#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>

#include "file/io/folder.h"

namespace onnx_tag::io {
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
