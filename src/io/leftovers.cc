// Tested by tests/io/leftovers_test.cc.
#include "io/leftovers.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mutex>
#include <set>
#include <string>

#include "io/descriptor.h"
#include "io/output_file.h"

namespace onnx_tag {
namespace {

bool IsTemporaryName(std::string_view name) {
  return name.starts_with(io::kTemporaryPrefix) &&
         name.size() == io::kTemporaryPrefix.size() + io::kTemporaryLetters;
}

// Holding the lock is what makes the file a leftover; holding it on the very
// file of that name is what makes it safe to unlink the name.
void RemoveIfLeftOver(int folder, const char* name) {
  const io::Descriptor fd(
      openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (fd.get() < 0) return;
  struct stat opened, named;
  if (fstat(fd.get(), &opened) != 0 || !S_ISREG(opened.st_mode)) return;
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return;
  if (fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) != 0) return;
  if (named.st_dev != opened.st_dev || named.st_ino != opened.st_ino) return;
  unlinkat(folder, name, 0);
}

}  // namespace

void RemoveLeftovers(const std::string& folder) {
  DIR* const stream = opendir(folder.c_str());
  if (stream == nullptr) return;
  while (const dirent* const entry = readdir(stream)) {
    if (IsTemporaryName(entry->d_name)) {
      RemoveIfLeftOver(dirfd(stream), entry->d_name);
    }
  }
  closedir(stream);
}

namespace io {

std::string RandomTemporaryName() {
  constexpr char kLetters[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  unsigned char random[kTemporaryLetters] = {};
  // Without randomness names repeat, and O_EXCL finds that.
  if (getrandom(random, sizeof random, 0) < 0) random[0] = 1;
  std::string name(kTemporaryPrefix);
  for (const unsigned char byte : random) {
    name += kLetters[byte % (sizeof kLetters - 1)];
  }
  return name;
}

void RemoveLeftoversOnce(const std::string& folder) {
  static std::mutex mutex;
  // By name: a removed folder's inode may be another's the next moment.
  static std::set<std::string> seen;
  {
    const std::lock_guard lock(mutex);
    if (!seen.insert(folder).second) return;
  }
  RemoveLeftovers(folder);
}

}  // namespace io
}  // namespace onnx_tag
