#include "file/io/file_status.h"
#include "file/io/win32/win32.h"

namespace onnx_tag::io {
namespace {

// Of a symbolic link or a junction; not of a file that a cloud holds.
bool IsLinkTag(DWORD tag) {
  return tag == IO_REPARSE_TAG_SYMLINK || tag == IO_REPARSE_TAG_MOUNT_POINT;
}

FileKind KindOfDisk(HANDLE handle, DWORD attributes) {
  if ((attributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0) {
    FILE_ATTRIBUTE_TAG_INFO tag = {};
    if (GetFileInformationByHandleEx(handle, FileAttributeTagInfo, &tag,
                                     sizeof tag) != 0 &&
        IsLinkTag(tag.ReparseTag)) {
      return FileKind::kLink;
    }
  }
  return (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0 ? FileKind::kFolder
                                                      : FileKind::kRegular;
}

std::optional<FileStatus> StatusOfHandle(HANDLE handle) {
  if (handle == INVALID_HANDLE_VALUE) return std::nullopt;
  const DWORD type = GetFileType(handle);
  FileStatus status;
  if (type != FILE_TYPE_DISK) {
    status.kind = type == FILE_TYPE_PIPE   ? FileKind::kPipe
                  : type == FILE_TYPE_CHAR ? FileKind::kDevice
                                           : FileKind::kOther;
    return status;
  }
  BY_HANDLE_FILE_INFORMATION info;
  if (GetFileInformationByHandle(handle, &info) == 0) {
    FailWithLastError();
    return std::nullopt;
  }
  const auto join = [](DWORD high, DWORD low) {
    return std::uint64_t{high} << 32 | low;
  };
  // From 1601, in steps of 100 ns.
  constexpr std::int64_t kEpoch = 116'444'736'000'000'000;
  status.kind = KindOfDisk(handle, info.dwFileAttributes);
  status.id = {info.dwVolumeSerialNumber,
               join(info.nFileIndexHigh, info.nFileIndexLow)};
  status.size = join(info.nFileSizeHigh, info.nFileSizeLow);
  status.modified =
      (static_cast<std::int64_t>(join(info.ftLastWriteTime.dwHighDateTime,
                                      info.ftLastWriteTime.dwLowDateTime)) -
       kEpoch) *
      100;
  if ((info.dwFileAttributes & FILE_ATTRIBUTE_READONLY) != 0) {
    status.mode = 0444;
  }
  status.named = info.nNumberOfLinks > 0;
  return status;
}

std::optional<FileStatus> StatusOfName(const std::string& path, DWORD flags) {
  // No access at all: a file that another program has open can be asked, too.
  const Handle file(CreateFileW(
      WidePath(path).c_str(), 0,
      FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
      OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS | flags, nullptr));
  if (!file.valid()) {
    FailWithLastError();
    return std::nullopt;
  }
  return StatusOfHandle(file.get());
}

}  // namespace

std::optional<FileStatus> StatusOf(const std::string& path) {
  return StatusOfName(path, 0);
}

std::optional<FileStatus> StatusOf(int fd) {
  return StatusOfHandle(HandleOf(fd));
}

std::optional<FileStatus> StatusOfLink(const std::string& path) {
  return StatusOfName(path, FILE_FLAG_OPEN_REPARSE_POINT);
}

}  // namespace onnx_tag::io
