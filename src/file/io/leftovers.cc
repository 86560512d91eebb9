// Tested by tests/file/io/leftovers_test.cc.
#include "file/io/leftovers.h"

#include <mutex>
#include <set>

#include "file/io/folder.h"
#include "file/io/output_file.h"
#include "file/io/paths.h"

namespace onnx_tag {
namespace {

bool IsTemporaryName(std::string_view name) {
  return name.starts_with(io::kTemporaryPrefix) &&
         name.size() == io::kTemporaryPrefix.size() + io::kTemporaryLetters;
}

}  // namespace

void RemoveLeftovers(const std::string& folder) {
  const auto entries = io::ListFolder(folder);
  if (!entries) return;
  for (const FolderEntry& entry : *entries) {
    if (IsTemporaryName(entry.name)) {
      io::RemoveIfLeftOver(JoinPath(folder, entry.name));
    }
  }
}

namespace io {

std::string RandomTemporaryName() {
  constexpr char kLetters[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  unsigned char random[kTemporaryLetters] = {};
  // Without randomness names repeat, and O_EXCL finds that.
  if (!FillRandom(random, sizeof random)) random[0] = 1;
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
