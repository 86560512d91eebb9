#include "io/link_file.h"

#include <filesystem>

#include "io/leftovers.h"
#include "io/paths.h"
#include "io/signals.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

namespace fs = std::filesystem;

// A link never replaces, so it is made under a name of its own and renamed.
void Replace(const fs::path& source, const std::string& target,
             std::error_code& error) {
  const io::TemporaryName name(ParentFolder(target) + "/" +
                               io::RandomTemporaryName());
  {
    const io::NamingScope naming;
    fs::create_hard_link(source, name.path(), error);
  }
  if (!error) {
    fs::rename(name.path(), target, error);
    std::error_code ignored;
    if (error) fs::remove(name.path(), ignored);
    return;
  }
  fs::remove(target, error);
  if (!error) fs::create_symlink(source, target, error);
}

}  // namespace

void LinkFile(const std::string& source, const std::string& target,
              const Inputs& inputs, bool replace) {
  // Another model of the batch may have the same weights.
  if (SameFile(source, target)) return;
  inputs.Refuse(target);
  std::error_code error;
  const fs::path real = fs::canonical(source, error);
  if (!error && replace) {
    Replace(real, target, error);
  } else if (!error) {
    fs::create_hard_link(real, target, error);
    if (error) fs::create_symlink(real, target, error);
  }
  // And may have linked them meanwhile.
  if (error && !SameFile(source, target)) {
    Fail(ErrorKind::kOutput, "{}: could not link to {}: {}", target, source,
         error.message());
  }
}

}  // namespace onnx_tag
