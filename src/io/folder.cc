// Tested by tests/io/folder_test.cc.
#include "io/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>

#include "base/text.h"
#include "io/paths.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

EntryKind KindOfMode(mode_t mode) {
  if (S_ISREG(mode)) return EntryKind::kFile;
  return S_ISDIR(mode) ? EntryKind::kFolder : EntryKind::kOther;
}

EntryKind KindOf(int folder, const dirent& entry) {
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
    if (!link) return KindOfMode(status.st_mode);
  }
  if (!link) return EntryKind::kOther;
  if (fstatat(folder, entry.d_name, &status, 0) != 0) {
    return EntryKind::kBrokenLink;
  }
  return S_ISDIR(status.st_mode) ? EntryKind::kLinkToFolder
                                 : KindOfMode(status.st_mode);
}

}  // namespace

std::vector<FolderEntry> ReadFolder(const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(opendir(path.c_str()),
                                                   closedir);
  if (stream == nullptr) {
    Fail(ErrorKind::kInput, "{}: could not read the folder: {}", path,
         io::SystemMessage(errno));
  }
  std::vector<FolderEntry> entries;
  for (;;) {
    errno = 0;
    const dirent* const entry = readdir(stream.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    entries.push_back({std::string(name), KindOf(dirfd(stream.get()), *entry)});
  }
  if (errno != 0) {
    Fail(ErrorKind::kInput, "{}: could not read the folder: {}", path,
         io::SystemMessage(errno));
  }
  std::sort(entries.begin(), entries.end(),
            [](const FolderEntry& a, const FolderEntry& b) {
              return a.name < b.name;
            });
  return entries;
}

void MakeFolders(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    Fail(ErrorKind::kOutput, "{}: could not make the folder: {}", path,
         error.message());
  }
}

bool IsFolder(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::pair<std::uint64_t, std::uint64_t> FolderIdentity(
    const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return {0, 0};
  return {status.st_dev, status.st_ino};
}

std::string JoinPath(std::string_view folder, std::string_view name) {
  std::string path(folder);
  if (!path.empty() && !path.ends_with('/')) path += '/';
  return path.append(name);
}

}  // namespace onnx_tag
