// Tested by tests/file/io/folder_test.cc.
#include "file/io/folder.h"

#include <cerrno>
#include <filesystem>

#include "base/lists.h"
#include "file/io/file_status.h"
#include "file/io/paths.h"
#include "onnx_tag/error.h"

namespace onnx_tag {

std::vector<FolderEntry> ReadFolder(const std::string& path) {
  std::optional<std::vector<FolderEntry>> entries = io::ListFolder(path);
  if (!entries) {
    Fail(ErrorKind::kInput, "{}: could not read the folder: {}", path,
         io::SystemMessage(errno));
  }
  SortBy(*entries, &FolderEntry::name);
  return *std::move(entries);
}

void RemoveFile(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove(ToPath(path), ignored);
}

void MakeFolders(const std::string& path) {
  // Those that are missing, the deepest first.
  std::vector<std::string> missing;
  for (std::string at = path; !at.empty() && !io::StatusOf(at);) {
    missing.push_back(at);
    std::string parent = ParentFolder(at);
    if (parent == at || parent == ".") break;
    at = std::move(parent);
  }
  while (!missing.empty()) {
    // EEXIST: another run has just made it, or the name ends with a slash.
    if (io::MakeFolder(missing.back()) != 0 && errno != EEXIST) break;
    missing.pop_back();
  }
  if (missing.empty() && IsFolder(path)) return;
  const int error = missing.empty() ? ENOTDIR : errno;
  Fail(ErrorKind::kOutput, "{}: could not make the folder: {}", path,
       io::SystemMessage(error));
}

bool IsFolder(const std::string& path) {
  const auto status = io::StatusOf(path);
  return status && status->kind == io::FileKind::kFolder;
}

}  // namespace onnx_tag
