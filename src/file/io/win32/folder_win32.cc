#include <cerrno>

#include "file/io/file_status.h"
#include "file/io/folder.h"
#include "file/io/paths.h"
#include "file/io/win32/win32.h"

namespace onnx_tag::io {
namespace {

EntryKind KindOfEntry(const std::string& path, const WIN32_FIND_DATAW& entry) {
  if ((entry.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) == 0) {
    return (entry.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0
               ? EntryKind::kFolder
               : EntryKind::kFile;
  }
  const auto itself = StatusOfLink(path);
  const auto status = StatusOf(path);
  if (!status) return EntryKind::kBrokenLink;
  if (status->kind != FileKind::kFolder) return EntryKind::kFile;
  return itself && itself->kind == FileKind::kLink ? EntryKind::kLinkToFolder
                                                   : EntryKind::kFolder;
}

}  // namespace

std::optional<std::vector<FolderEntry>> ListFolder(const std::string& path) {
  WIN32_FIND_DATAW entry;
  const HANDLE search =
      FindFirstFileW(WidePath(JoinPath(path, "*")).c_str(), &entry);
  if (search == INVALID_HANDLE_VALUE) {
    FailWithLastError();
    return std::nullopt;
  }
  std::vector<FolderEntry> entries;
  do {
    std::string name = ToUtf8(entry.cFileName);
    if (name == "." || name == "..") continue;
    const EntryKind kind = KindOfEntry(JoinPath(path, name), entry);
    entries.push_back({std::move(name), kind});
  } while (FindNextFileW(search, &entry) != 0);
  const DWORD error = GetLastError();
  FindClose(search);
  if (error == ERROR_NO_MORE_FILES) return entries;
  errno = ErrnoOf(error);
  return std::nullopt;
}

int MakeFolder(const std::string& path) {
  return CreateDirectoryW(WidePath(path).c_str(), nullptr) != 0
             ? 0
             : FailWithLastError();
}

}  // namespace onnx_tag::io
