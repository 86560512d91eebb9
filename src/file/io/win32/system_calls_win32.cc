#include <fcntl.h>
#include <io.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "file/io/leftovers.h"
#include "file/io/paths.h"
#include "file/io/system_calls.h"
#include "file/io/win32/win32.h"

// Of advapi32; the documented way to random bytes without a provider.
extern "C" BOOLEAN NTAPI SystemFunction036(PVOID bytes, ULONG size);

namespace onnx_tag::io {
namespace {

constexpr DWORD kShareAll =
    FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

// A descriptor of the C library, without its translation of line ends.
int ToDescriptor(HANDLE handle, int flags) {
  if (handle == INVALID_HANDLE_VALUE) return FailWithLastError();
  const int fd = _open_osfhandle(reinterpret_cast<intptr_t>(handle),
                                 flags | _O_BINARY | _O_NOINHERIT);
  if (fd < 0) CloseHandle(handle);
  return fd;
}

DWORD AtMost(std::size_t size) {
  return static_cast<DWORD>(std::min<std::size_t>(size, 1 << 30));
}

int OpenUnnamed(const char*, unsigned) {
  errno = EOPNOTSUPP;
  return -1;
}

int OpenNew(const char* path, unsigned) {
  // Nobody else may write to it, and that is the lock: as long as it is open,
  // RemoveIfLeftOver() cannot have it for itself.
  const int fd = ToDescriptor(
      CreateFileW(WidePath(path).c_str(), GENERIC_READ | GENERIC_WRITE,
                  FILE_SHARE_READ | FILE_SHARE_DELETE, nullptr, CREATE_NEW,
                  FILE_ATTRIBUTE_NORMAL, nullptr),
      0);
  if (fd < 0 && errno == ENOENT) {
    // Windows says of a file that it is no path; POSIX, that it is no folder.
    const DWORD attributes =
        GetFileAttributesW(WidePath(ParentFolder(path)).c_str());
    if (attributes != INVALID_FILE_ATTRIBUTES &&
        (attributes & FILE_ATTRIBUTE_DIRECTORY) == 0) {
      errno = ENOTDIR;
    }
  }
  return fd;
}

std::ptrdiff_t Write(int fd, const void* bytes, std::size_t size) {
  DWORD written = 0;
  if (WriteFile(HandleOf(fd), bytes, AtMost(size), &written, nullptr) == 0) {
    return FailWithLastError();
  }
  return static_cast<std::ptrdiff_t>(written);
}

std::ptrdiff_t ReadAt(int fd, void* bytes, std::size_t size,
                      std::int64_t offset) {
  OVERLAPPED at = {};
  at.Offset = static_cast<DWORD>(offset);
  at.OffsetHigh = static_cast<DWORD>(offset >> 32);
  DWORD count = 0;
  if (ReadFile(HandleOf(fd), bytes, AtMost(size), &count, &at) == 0 &&
      GetLastError() != ERROR_HANDLE_EOF) {
    return FailWithLastError();
  }
  return static_cast<std::ptrdiff_t>(count);
}

std::ptrdiff_t CopyRange(int, std::int64_t, int, std::size_t) {
  errno = EOPNOTSUPP;
  return -1;
}

int Reserve(int fd, std::int64_t size) {
  FILE_ALLOCATION_INFO allocation = {};
  allocation.AllocationSize.QuadPart = size;
  return SetFileInformationByHandle(HandleOf(fd), FileAllocationInfo,
                                    &allocation, sizeof allocation) != 0
             ? 0
             : FailWithLastError();
}

int Truncate(int fd, std::int64_t size) {
  FILE_END_OF_FILE_INFO end = {};
  end.EndOfFile.QuadPart = size;
  return SetFileInformationByHandle(HandleOf(fd), FileEndOfFileInfo, &end,
                                    sizeof end) != 0
             ? 0
             : FailWithLastError();
}

// Windows has one such bit: read-only.
int ChangeMode(int fd, unsigned mode) {
  FILE_BASIC_INFO info = {};
  if (GetFileInformationByHandleEx(HandleOf(fd), FileBasicInfo, &info,
                                   sizeof info) == 0) {
    return FailWithLastError();
  }
  const bool read_only = (mode & 0200) == 0;
  if (read_only == ((info.FileAttributes & FILE_ATTRIBUTE_READONLY) != 0)) {
    return 0;
  }
  info.FileAttributes ^= FILE_ATTRIBUTE_READONLY;
  return SetFileInformationByHandle(HandleOf(fd), FileBasicInfo, &info,
                                    sizeof info) != 0
             ? 0
             : FailWithLastError();
}

int Sync(int fd) {
  return FlushFileBuffers(HandleOf(fd)) != 0 ? 0 : FailWithLastError();
}

// OpenNew() has locked it.
int Lock(int) { return 0; }

int Link(int, const char*) {
  errno = EOPNOTSUPP;
  return -1;
}

int Unlink(const char* path) {
  const std::wstring wide = WidePath(path);
  if (DeleteFileW(wide.c_str()) != 0) return 0;
  const DWORD attributes = GetFileAttributesW(wide.c_str());
  if (GetLastError() == ERROR_ACCESS_DENIED &&
      attributes != INVALID_FILE_ATTRIBUTES &&
      (attributes & FILE_ATTRIBUTE_READONLY) != 0) {
    SetFileAttributesW(wide.c_str(),
                       attributes & ~DWORD{FILE_ATTRIBUTE_READONLY});
    if (DeleteFileW(wide.c_str()) != 0) return 0;
  }
  return FailWithLastError();
}

// One step for everybody who looks, also where programs that share it have the
// file of that name open. NTFS of Windows 10 and later.
bool RenameLikePosix(const std::wstring& from, const std::wstring& to) {
  const Handle file(CreateFileW(from.c_str(), DELETE | SYNCHRONIZE, kShareAll,
                                nullptr, OPEN_EXISTING,
                                FILE_FLAG_OPEN_REPARSE_POINT, nullptr));
  if (!file.valid()) return false;
  std::vector<char> memory(sizeof(FILE_RENAME_INFO) +
                           to.size() * sizeof(wchar_t));
  auto* const info = reinterpret_cast<FILE_RENAME_INFO*>(memory.data());
  info->Flags =
      FILE_RENAME_FLAG_REPLACE_IF_EXISTS | FILE_RENAME_FLAG_POSIX_SEMANTICS;
  info->FileNameLength = static_cast<DWORD>(to.size() * sizeof(wchar_t));
  std::memcpy(info->FileName, to.data(), to.size() * sizeof(wchar_t));
  return SetFileInformationByHandle(file.get(), FileRenameInfoEx, info,
                                    static_cast<DWORD>(memory.size())) != 0;
}

// Files that were replaced while this process had them mapped: they go when it
// ends, or as leftovers.
std::mutex replaced_mutex;
std::vector<std::string>* replaced_files = nullptr;

void RemoveReplaced() {
  const std::lock_guard lock(replaced_mutex);
  for (const std::string& path : *replaced_files) Unlink(path.c_str());
}

void RemoveAtExit(const std::string& path) {
  const std::lock_guard lock(replaced_mutex);
  if (replaced_files == nullptr) {
    replaced_files = new std::vector<std::string>;
    std::atexit(RemoveReplaced);
  }
  replaced_files->push_back(path);
}

// 0 where there is no such file.
DWORD AttributesOf(const std::wstring& path) {
  const DWORD attributes = GetFileAttributesW(path.c_str());
  return attributes == INVALID_FILE_ATTRIBUTES ? 0 : attributes;
}

// A file that is mapped can be moved, but not deleted: it goes when the program
// ends.
void Discard(const std::wstring& path, const std::string& folder) {
  if (DeleteFileW(path.c_str()) != 0) return;
  const std::string leftover = folder + RandomTemporaryName();
  MoveFileExW(path.c_str(), WidePath(leftover).c_str(), 0);
  RemoveAtExit(leftover);
}

// Moves the file away that is to be replaced, and the new one to its name.
// ReplaceFileW does the same, but wants to write to the new file, which is
// still locked. Between the two moves the old file has a name that no later run
// takes for a leftover.
bool ReplaceMapped(const std::wstring& from, const std::wstring& to,
                   const std::string& folder) {
  const std::wstring backup = WidePath(folder + RandomTemporaryName() + "-old");
  if (MoveFileExW(to.c_str(), backup.c_str(), 0) == 0) return false;
  if (MoveFileExW(from.c_str(), to.c_str(), MOVEFILE_WRITE_THROUGH) == 0) {
    const bool back = MoveFileExW(backup.c_str(), to.c_str(), 0) != 0;
    // Between the moves another program has made a file of that name, so the
    // old one has been replaced already.
    if (!back && AttributesOf(to) != 0) Discard(backup, folder);
    return false;
  }
  Discard(backup, folder);
  return true;
}

int Rename(const char* from, const char* to) {
  const std::wstring wide_from = WidePath(from);
  const std::wstring wide_to = WidePath(to);
  // Windows refuses this; wine does not.
  if ((AttributesOf(wide_to) & FILE_ATTRIBUTE_READONLY) != 0) {
    errno = EACCES;
    return -1;
  }
  if (RenameLikePosix(wide_from, wide_to)) return 0;
  if (MoveFileExW(wide_from.c_str(), wide_to.c_str(),
                  MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH) != 0) {
    return 0;
  }
  const int error = ErrnoOf(GetLastError());
  // Asked again: since then another run may have put its file there.
  const DWORD attributes = AttributesOf(wide_to);
  if (attributes != 0 && (attributes & FILE_ATTRIBUTE_DIRECTORY) == 0) {
    if (ReplaceMapped(wide_from, wide_to, ParentFolder(to) + "/")) return 0;
    // What cannot be replaced, and is neither read-only nor a folder, is open.
    errno = error == EACCES ? EBUSY : error;
    return -1;
  }
  errno = error;
  return -1;
}

int RenameNew(const char* from, const char* to) {
  return MoveFileExW(WidePath(from).c_str(), WidePath(to).c_str(),
                     MOVEFILE_WRITE_THROUGH) != 0
             ? 0
             : FailWithLastError();
}

int OpenExisting(const char* path) {
  return ToDescriptor(
      CreateFileW(WidePath(path).c_str(), GENERIC_READ, kShareAll, nullptr,
                  OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr),
      _O_RDONLY);
}

}  // namespace

const SystemCalls kRealCalls = {
    OpenUnnamed, OpenNew, Write, ReadAt, CopyRange, Reserve,   Truncate,
    ChangeMode,  Sync,    Lock,  Link,   Rename,    RenameNew, Unlink,
};

bool MeansFull(int error) { return error == ENOSPC || error == EFBIG; }

int CloseCopy(int) { return 0; }

// NTFS keeps a log of names.
int OpenFolder(const char*) {
  errno = EINVAL;
  return -1;
}

int OpenForReading(const char* path) { return OpenExisting(path); }

int OpenStream(const char* path) { return OpenExisting(path); }

std::ptrdiff_t ReadSome(int fd, void* bytes, std::size_t size) {
  DWORD count = 0;
  if (ReadFile(HandleOf(fd), bytes, AtMost(size), &count, nullptr) == 0) {
    // The other end of a pipe is closed: the end of what it gives.
    if (GetLastError() == ERROR_BROKEN_PIPE) return 0;
    return FailWithLastError();
  }
  return static_cast<std::ptrdiff_t>(count);
}

int ShareBytes(int, int) {
  errno = EOPNOTSUPP;
  return -1;
}

int DuplicateDescriptor(int fd) {
  HANDLE copy = INVALID_HANDLE_VALUE;
  if (DuplicateHandle(GetCurrentProcess(), HandleOf(fd), GetCurrentProcess(),
                      &copy, 0, FALSE, DUPLICATE_SAME_ACCESS) == 0) {
    return FailWithLastError();
  }
  return ToDescriptor(copy, 0);
}

// Descriptors of the C library; the system's handles know no limit.
std::size_t OpenFileLimit() { return 8192; }

// Its writer shares it with nobody who wants it alone, so that opening it says
// whether the writer is gone.
void RemoveIfLeftOver(const std::string& path) {
  const Handle file(CreateFileW(
      WidePath(path).c_str(), DELETE, 0, nullptr, OPEN_EXISTING,
      FILE_FLAG_DELETE_ON_CLOSE | FILE_FLAG_OPEN_REPARSE_POINT, nullptr));
}

bool FillRandom(void* bytes, std::size_t size) {
  return SystemFunction036(bytes, static_cast<ULONG>(size)) != 0;
}

namespace {

int WriteToConsole(HANDLE console, std::string_view text) {
  const std::wstring wide = ToWide(text);
  for (std::size_t done = 0; done < wide.size();) {
    DWORD count = 0;
    if (WriteConsoleW(console, wide.data() + done,
                      static_cast<DWORD>(wide.size() - done), &count,
                      nullptr) == 0) {
      return ErrnoOf(GetLastError());
    }
    done += count;
  }
  return 0;
}

}  // namespace

int WriteAll(int fd, std::string_view text) {
  if (text.empty()) return 0;
  if (IsTerminal(fd)) return WriteToConsole(HandleOf(fd), text);
  while (!text.empty()) {
    const std::ptrdiff_t count = kRealCalls.write(fd, text.data(), text.size());
    if (count < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

bool IsTerminal(int fd) {
  DWORD mode = 0;
  return GetConsoleMode(HandleOf(fd), &mode) != 0;
}

std::size_t ColumnsOf(int fd) {
  CONSOLE_SCREEN_BUFFER_INFO info;
  if (GetConsoleScreenBufferInfo(HandleOf(fd), &info) == 0) return 0;
  return static_cast<std::size_t>(info.srWindow.Right - info.srWindow.Left + 1);
}

// The arguments that main() gets are in the code page of the user. The words
// stay in memory: LocalFree() of Debian's wine 8.0 for arm64 overwrites x18 as
// well (names_win32.cc), and the next exception, that of --help, crashed.
std::vector<std::string> Arguments(int, char**) {
  std::vector<std::string> arguments;
  int count = 0;
  wchar_t** const words = CommandLineToArgvW(GetCommandLineW(), &count);
  for (int i = 1; i < count; ++i) arguments.push_back(ToUtf8(words[i]));
  return arguments;
}

// Windows has no exec: waits, and ends as the other program did. The words are
// quoted as CommandLineToArgvW() reads them.
void RunInstead(const std::vector<std::string>& words) {
  std::wstring line;
  for (const std::string& word : words) {
    line += line.empty() ? L"\"" : L" \"";
    std::size_t slashes = 0;
    for (const wchar_t c : ToWide(word)) {
      if (c == L'"') line.append(slashes + 1, L'\\');
      slashes = c == L'\\' ? slashes + 1 : 0;
      line += c;
    }
    line.append(slashes, L'\\').append(L"\"");
  }
  STARTUPINFOW start = {};
  start.cb = sizeof(start);
  PROCESS_INFORMATION made = {};
  if (CreateProcessW(nullptr, line.data(), nullptr, nullptr, TRUE, 0, nullptr,
                     nullptr, &start, &made) == 0) {
    return;
  }
  const Handle process(made.hProcess);
  const Handle thread(made.hThread);
  WaitForSingleObject(process.get(), INFINITE);
  DWORD code = 0;
  GetExitCodeProcess(process.get(), &code);
  ExitProcess(code);
}

void PrepareStandardStreams() {
  for (const int fd : {0, 1, 2}) {
    _setmode(fd, _O_BINARY);
    DWORD mode = 0;
    if (fd > 0 && GetConsoleMode(HandleOf(fd), &mode) != 0) {
      SetConsoleMode(HandleOf(fd), mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
    }
  }
}

}  // namespace onnx_tag::io
