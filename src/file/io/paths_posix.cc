#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "file/io/paths.h"

namespace onnx_tag {

bool IsSeparator(char c) { return c == '/'; }

std::optional<std::string> RealPath(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  if (error) return std::nullopt;
  return real.string();
}

namespace io {

std::string SystemMessage(int error) {
  return std::generic_category().message(error);
}

std::string FoldName(std::string_view name) { return std::string(name); }

}  // namespace io
}  // namespace onnx_tag
