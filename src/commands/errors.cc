#include <fmt/core.h>

#include <new>

#include "base/text.h"
#include "commands/commands.h"
#include "onnx_tag/error.h"
#include "tagging/version.h"

namespace onnx_tag {

ExitCode ExitCodeOf(const std::exception& error) {
  const auto* const ours = dynamic_cast<const Error*>(&error);
  // Memory runs out while reading, if at all.
  if (ours == nullptr) return ExitCode::kInput;
  switch (ours->kind()) {
    case ErrorKind::kUsage:
      return ExitCode::kUsage;
    case ErrorKind::kInput:
      return ExitCode::kInput;
    case ErrorKind::kOutput:
      break;
  }
  return ExitCode::kOutput;
}

std::string ErrorText(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return "onnx-tag: out of memory\n";
  }
  // A message's own lines start with two spaces. Whatever else breaks the line
  // came with a name.
  std::string text = "onnx-tag: ";
  std::string_view rest = error.what();
  for (;;) {
    const std::size_t end = rest.find("\n  ");
    text += Printable(rest.substr(0, end), 4000);
    if (end == std::string_view::npos) return text + "\n";
    text += "\n  ";
    rest.remove_prefix(end + 3);
  }
}

std::string_view ToolVersion() { return kVersion; }

}  // namespace onnx_tag
