#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file/io/descriptor.h"
#include "file/io/leftovers.h"

namespace onnx_tag::io {

// Holding the lock is what makes the file a leftover; holding it on the very
// file of that name is what makes it safe to unlink the name.
void RemoveIfLeftOver(const std::string& path) {
  const Descriptor fd(
      open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (fd.get() < 0) return;
  struct stat opened, named;
  if (fstat(fd.get(), &opened) != 0 || !S_ISREG(opened.st_mode)) return;
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return;
  if (lstat(path.c_str(), &named) != 0) return;
  if (named.st_dev != opened.st_dev || named.st_ino != opened.st_ino) return;
  unlink(path.c_str());
}

}  // namespace onnx_tag::io
