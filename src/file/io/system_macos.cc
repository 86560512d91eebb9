#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>

#include "file/io/leftovers.h"
#include "file/io/system_calls.h"
#include "file/io/system_posix.h"

namespace onnx_tag::io {

timespec ModifiedTime(const struct stat& status) { return status.st_mtimespec; }

int OpenUnnamedFile(const char*, unsigned) {
  errno = EOPNOTSUPP;
  return -1;
}

int NameUnnamedFile(int, const char*) {
  errno = EOPNOTSUPP;
  return -1;
}

std::ptrdiff_t CopyInKernel(int, std::int64_t, int, std::size_t) {
  errno = EOPNOTSUPP;
  return -1;
}

// macOS clones by name alone, and an output has none of its own yet.
int ShareBytes(int, int) {
  errno = EOPNOTSUPP;
  return -1;
}

int ReserveSpace(int fd, std::int64_t size) {
  fstore_t store = {};
  store.fst_flags = F_ALLOCATEALL;
  store.fst_posmode = F_PEOFPOSMODE;
  store.fst_length = static_cast<off_t>(size);
  return fcntl(fd, F_PREALLOCATE, &store) == -1 ? -1 : 0;
}

int RenameToNewName(const char* from, const char* to) {
  const int result = renamex_np(from, to, RENAME_EXCL);
  if (result != 0 && errno == ENOTSUP) errno = EINVAL;
  return result;
}

bool FillRandom(void* bytes, std::size_t size) {
  return getentropy(bytes, size) == 0;
}

}  // namespace onnx_tag::io
