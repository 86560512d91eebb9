// Paths, folders and what the system knows of a file.
#include <cerrno>
#include <system_error>

#include "file/io/file_status.h"
#include "file/io/folder.h"
#include "file/io/paths.h"
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

namespace onnx_tag {

bool IsSeparator(char c) { return c == '/' || c == '\\'; }

std::optional<std::string> RealPath(const std::string& path) {
  const io::Handle file(
      CreateFileW(io::WidePath(path).c_str(), 0,
                  FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                  nullptr, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr));
  if (!file.valid()) {
    io::FailWithLastError();
    return std::nullopt;
  }
  std::wstring name(
      GetFinalPathNameByHandleW(file.get(), nullptr, 0, FILE_NAME_NORMALIZED),
      L'\0');
  name.resize(GetFinalPathNameByHandleW(file.get(), name.data(),
                                        static_cast<DWORD>(name.size()),
                                        FILE_NAME_NORMALIZED));
  std::string text = io::ToUtf8(name);
  // The prefix of long names, which WidePath() sets again where needed.
  if (text.starts_with("\\\\?\\UNC\\")) {
    text.replace(0, 8, "\\\\");
  } else if (text.starts_with("\\\\?\\")) {
    text.erase(0, 4);
  }
  for (char& c : text) {
    if (c == '\\') c = '/';
  }
  return text;
}

namespace io {

std::string SystemMessage(int error) {
  if (error == EBUSY) return "another program has the file open";
  return std::generic_category().message(error);
}

std::string FoldName(std::string_view name) {
  std::wstring wide = ToWide(name);
  CharLowerBuffW(wide.data(), static_cast<DWORD>(wide.size()));
  return ToUtf8(wide);
}

}  // namespace io
}  // namespace onnx_tag
