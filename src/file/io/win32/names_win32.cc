#include <io.h>

#include <cerrno>

#include "base/text.h"
#include "file/io/win32/win32.h"

namespace onnx_tag::io {

// Debian's wine 8.0 for arm64 overwrites x18 in MultiByteToWideChar and
// WideCharToMultiByte. Windows keeps that register for the thread, so the next
// exception crashed. Hence our own conversions; what is no UTF-8 becomes
// U+FFFD, as there.
std::wstring ToWide(std::string_view text) {
  constexpr wchar_t kReplacement = 0xfffd;
  std::wstring wide;
  wide.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    const auto first = static_cast<unsigned char>(rest[0]);
    const std::size_t length = Utf8Length(rest);
    if (length == 0) {
      wide += kReplacement;
      ++i;
      continue;
    }
    char32_t c = length == 1 ? first : first & (0x7fu >> length);
    for (std::size_t k = 1; k < length; ++k) {
      c = c << 6 | (static_cast<unsigned char>(rest[k]) & 0x3f);
    }
    if (c < 0x10000) {
      wide += static_cast<wchar_t>(c);
    } else {
      wide += static_cast<wchar_t>(0xd800 + ((c - 0x10000) >> 10));
      wide += static_cast<wchar_t>(0xdc00 + (c & 0x3ff));
    }
    i += length;
  }
  return wide;
}

std::string ToUtf8(std::wstring_view text) {
  const auto is_low = [](wchar_t c) { return c >= 0xdc00 && c < 0xe000; };
  std::string bytes;
  bytes.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char32_t c = text[i];
    if (c >= 0xd800 && c < 0xdc00 && i + 1 < text.size() &&
        is_low(text[i + 1])) {
      c = 0x10000 + ((c - 0xd800) << 10) + (text[++i] - 0xdc00u);
    }
    AppendUtf8(c, bytes);
  }
  return bytes;
}

std::wstring WidePath(std::string_view path) {
  std::wstring wide = ToWide(path);
  for (wchar_t& c : wide) {
    if (c == L'/') c = L'\\';
  }
  if (wide.empty() || wide.starts_with(L"\\\\?\\")) return wide;
  std::wstring full(GetFullPathNameW(wide.c_str(), 0, nullptr, nullptr), L'\0');
  full.resize(GetFullPathNameW(wide.c_str(), static_cast<DWORD>(full.size()),
                               full.data(), nullptr));
  // A folder may have 248 characters, so that a short name fits behind it.
  constexpr std::size_t kShort = 240;
  if (full.size() < kShort) return wide;
  if (full.starts_with(L"\\\\")) return L"\\\\?\\UNC\\" + full.substr(2);
  return L"\\\\?\\" + full;
}

int ErrnoOf(DWORD error) {
  switch (error) {
    case ERROR_SUCCESS:
      return 0;
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_INVALID_DRIVE:
    case ERROR_BAD_PATHNAME:
    case ERROR_BAD_NETPATH:
    case ERROR_BAD_NET_NAME:
    case ERROR_INVALID_NAME:
      return ENOENT;
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS:
      return EEXIST;
    case ERROR_SHARING_VIOLATION:
    case ERROR_LOCK_VIOLATION:
    case ERROR_USER_MAPPED_FILE:
    case ERROR_DELETE_PENDING:
      return EBUSY;
    case ERROR_ACCESS_DENIED:
    case ERROR_PRIVILEGE_NOT_HELD:
    case ERROR_CANNOT_MAKE:
      return EACCES;
    case ERROR_WRITE_PROTECT:
      return EROFS;
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL:
    case ERROR_DISK_QUOTA_EXCEEDED:
      return ENOSPC;
    case ERROR_TOO_MANY_OPEN_FILES:
      return EMFILE;
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_OUTOFMEMORY:
    case ERROR_COMMITMENT_LIMIT:
      return ENOMEM;
    case ERROR_BROKEN_PIPE:
    case ERROR_NO_DATA:
      return EPIPE;
    case ERROR_INVALID_HANDLE:
      return EBADF;
    case ERROR_DIRECTORY:
      return ENOTDIR;
    case ERROR_FILENAME_EXCED_RANGE:
      return ENAMETOOLONG;
    case ERROR_NOT_SAME_DEVICE:
      return EXDEV;
    case ERROR_NOT_SUPPORTED:
    case ERROR_INVALID_FUNCTION:
      return EOPNOTSUPP;
    case ERROR_INVALID_PARAMETER:
      return EINVAL;
    default:
      return EIO;
  }
}

int FailWithLastError() {
  errno = ErrnoOf(GetLastError());
  return -1;
}

HANDLE HandleOf(int fd) {
  const intptr_t handle = _get_osfhandle(fd);
  // -2: a standard stream that the program was started without.
  if (handle == -2) errno = EBADF;
  return handle == -2 ? INVALID_HANDLE_VALUE : reinterpret_cast<HANDLE>(handle);
}

}  // namespace onnx_tag::io
