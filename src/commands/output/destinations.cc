#include "commands/output/destinations.h"

#include <filesystem>

#include "io/folder.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

// `path`, or its name in --out-dir.
std::string Placed(const std::string& path, const WriteOptions& options,
                   const std::string& subfolder) {
  if (options.folder.empty()) return path;
  return JoinPath(JoinPath(options.folder, subfolder), FileName(path));
}

// What names of outputs start with.
std::string Stem(const std::string& input) {
  return input == "-" ? "stdin" : WithoutOnnx(input);
}

std::string SidecarDestination(const std::string& input,
                               const TagOptions& options,
                               const std::string& subfolder) {
  if (options.no_sidecar) return "";
  if (!options.sidecar.empty()) return options.sidecar;
  const WriteOptions& write = options.write;
  if (!write.path.empty()) {
    return write.path == "-" ? "" : WithoutOnnx(write.path) + ".tags.json";
  }
  if (input == "-" && write.folder.empty()) {
    return options.sidecar_only ? "-" : "";
  }
  return Placed(Stem(input) + ".tags.json", write, subfolder);
}

}  // namespace

std::string WithoutOnnx(const std::string& path) {
  constexpr std::string_view kSuffix = ".onnx";
  // A file called ".onnx" has no other name.
  return path.ends_with(kSuffix) && FileName(path) != kSuffix
             ? path.substr(0, path.size() - kSuffix.size())
             : path;
}

std::string FileName(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

std::string ModelDestination(const std::string& input,
                             const WriteOptions& options, std::string_view word,
                             const std::string& subfolder) {
  if (options.in_place && input == "-") {
    Fail(ErrorKind::kUsage, "--in-place needs a file, not standard input");
  }
  if (options.in_place) return input;
  if (!options.path.empty()) return options.path;
  if (input == "-" && options.folder.empty()) return "-";
  return Placed(Stem(input) + "." + std::string(word) + ".onnx", options,
                subfolder);
}

Destinations DestinationsOf(const std::string& input, const TagOptions& options,
                            const std::string& subfolder) {
  Destinations result;
  if (!options.sidecar_only) {
    result.model = ModelDestination(input, options.write, "tagged", subfolder);
  }
  result.sidecar = SidecarDestination(input, options, subfolder);
  return result;
}

}  // namespace onnx_tag
