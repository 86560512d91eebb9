// The system calls an OutputFile makes, so that tests can let each of them
// fail, do half its work, or be the last thing the process does. They fail as
// POSIX's do: -1, and errno.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace onnx_tag::io {

struct SystemCalls {
  // A file without a name; EOPNOTSUPP where the folder can have none.
  int (*open_unnamed)(const char* folder, unsigned mode);
  // Fails with EEXIST if `path` exists.
  int (*open_new)(const char* path, unsigned mode);
  std::ptrdiff_t (*write)(int fd, const void* bytes, std::size_t size);
  std::ptrdiff_t (*pread)(int fd, void* bytes, std::size_t size,
                          std::int64_t offset);
  // From `offset` of `in` to the end of what is written to `out`.
  std::ptrdiff_t (*copy_range)(int in, std::int64_t offset, int out,
                               std::size_t size);
  int (*reserve)(int fd, std::int64_t size);
  int (*truncate)(int fd, std::int64_t size);
  int (*chmod)(int fd, unsigned mode);
  int (*fsync)(int fd);
  // Until the file is closed; EWOULDBLOCK if another process has the lock.
  int (*lock)(int fd);
  // Gives the unnamed file `fd` the name `path`; never replaces one.
  int (*link)(int fd, const char* path);
  int (*rename)(const char* from, const char* to);
  // Fails with EEXIST if `to` exists.
  int (*rename_new)(const char* from, const char* to);
  int (*unlink)(const char* path);
};

extern const SystemCalls kRealCalls;

// The rest never fails in tests.

// Whether the disk, a quota or a limit of the user ended the writing.
bool MeansFull(int error);

// Network file systems tell of a full disk when a descriptor is closed: closes
// a copy of `fd`, which stays open and locked.
int CloseCopy(int fd);

// For fsync; EINVAL on systems whose folders need none.
int OpenFolder(const char* path);

// A file for reading, never waiting for a pipe; what is a folder opens too.
int OpenForReading(const char* path);

// The same, but waits until somebody writes to a pipe.
int OpenStream(const char* path);

// Up to `size` bytes, again after a signal; 0 at the end.
std::ptrdiff_t ReadSome(int fd, void* bytes, std::size_t size);

// Lets `out`, which is empty, share the bytes of `in`: until one of the two is
// written, they take the disk once. Fails where the file system, or the system
// for open files, cannot do that.
int ShareBytes(int in, int out);

// A second descriptor that programs started from here do not get.
int DuplicateDescriptor(int fd);

// How many files may be open at once; SIZE_MAX where nothing limits them.
std::size_t OpenFileLimit();

// Descriptors that a person may sit behind.

// 0, or the errno of what went wrong. Text for a terminal is UTF-8.
int WriteAll(int fd, std::string_view text);

bool IsTerminal(int fd);

// 0 where it is no terminal.
std::size_t ColumnsOf(int fd);

// The arguments of main() without the program's name, in UTF-8.
std::vector<std::string> Arguments(int argc, char** argv);

// Runs another program in place of this one: its name, found in PATH, and its
// arguments. Returns only if it cannot run.
void RunInstead(const std::vector<std::string>& words);

// Standard streams carry bytes; colours and UTF-8 reach the terminal.
void PrepareStandardStreams();

}  // namespace onnx_tag::io
