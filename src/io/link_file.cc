#include "io/link_file.h"

#include <cerrno>

#include "io/leftovers.h"
#include "io/paths.h"
#include "io/signals.h"
#include "io/system_calls.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

// A link never replaces, so it is made under a name of its own and renamed.
int ReplaceWithLink(const std::string& source, const std::string& target) {
  const io::TemporaryName name(ParentFolder(target) + "/" +
                               io::RandomTemporaryName());
  const auto link = [&] {
    const io::NamingScope naming;
    return io::MakeHardLink(source, name.path());
  };
  const io::SystemCalls& calls = io::kRealCalls;
  if (link() == 0) {
    if (calls.rename(name.path().c_str(), target.c_str()) == 0) return 0;
    const int error = errno;
    calls.unlink(name.path().c_str());
    errno = error;
    return -1;
  }
  if (calls.unlink(target.c_str()) != 0) return -1;
  return io::MakeSymbolicLink(source, target);
}

int MakeLink(const std::string& source, const std::string& target,
             bool replace) {
  const std::optional<std::string> real = RealPath(source);
  if (!real) return -1;
  if (replace) return ReplaceWithLink(*real, target);
  if (io::MakeHardLink(*real, target) == 0) return 0;
  return io::MakeSymbolicLink(*real, target);
}

}  // namespace

void LinkFile(const std::string& source, const std::string& target,
              const Inputs& inputs, bool replace) {
  // Another model of the batch may have the same weights.
  if (SameFile(source, target)) return;
  inputs.Refuse(target);
  if (MakeLink(source, target, replace) == 0) return;
  const int error = errno;
  // And may have linked them meanwhile.
  if (!SameFile(source, target)) {
    Fail(ErrorKind::kOutput, "{}: could not link to {}: {}", target, source,
         io::SystemMessage(error));
  }
}

}  // namespace onnx_tag
