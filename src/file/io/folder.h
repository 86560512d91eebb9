// What is in a folder, in an order that does not depend on the file system.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace onnx_tag {

enum class EntryKind {
  kFile,          // a regular file, or a link to one
  kFolder,        // a folder itself
  kLinkToFolder,  // a symbolic link to one
  kBrokenLink,
  kOther,  // a pipe, a device, a socket
};

struct FolderEntry {
  std::string name;
  EntryKind kind;
};

// Its entries but "." and "..", sorted by the bytes of their names. Throws
// Error(kInput) if it cannot be read.
std::vector<FolderEntry> ReadFolder(const std::string& path);

bool IsFolder(const std::string& path);

// Makes the folder and those above it. Throws Error(kOutput).
void MakeFolders(const std::string& path);

// Never fails: a file that stays does its caller no harm.
void RemoveFile(const std::string& path);

namespace io {

// In the system's order; none, and errno, where it cannot be read.
std::optional<std::vector<FolderEntry>> ListFolder(const std::string& path);

// One folder. -1, and errno, where it fails.
int MakeFolder(const std::string& path);

}  // namespace io
}  // namespace onnx_tag
