// What the system knows of a file: its kind, which file it is, size and time.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

namespace onnx_tag::io {

enum class FileKind {
  kRegular,
  kFolder,
  kLink,
  kPipe,
  kSocket,
  kDevice,
  kOther
};

// Equal for all names of one file.
struct FileId {
  std::uint64_t device = 0;
  std::uint64_t file = 0;
  auto operator<=>(const FileId&) const = default;
};

struct FileStatus {
  FileKind kind = FileKind::kOther;
  FileId id;
  std::uint64_t size = 0;
  std::int64_t modified = 0;  // nanoseconds since the epoch
  unsigned mode = 0666;       // permission bits
  bool named = true;          // whether a folder still has a name for it

  bool regular() const { return kind == FileKind::kRegular; }
};

// None, and errno, where the system does not say.
std::optional<FileStatus> StatusOf(const std::string& path);
std::optional<FileStatus> StatusOf(int fd);
// The same, but of a symbolic link itself: kLink.
std::optional<FileStatus> StatusOfLink(const std::string& path);

}  // namespace onnx_tag::io
