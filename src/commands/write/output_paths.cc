#include "commands/write/output_paths.h"

#include <filesystem>

#include "base/text.h"
#include "io/paths.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

namespace fs = std::filesystem;

std::string InPlacePath(const std::string& input, const WriteOptions& options) {
  if (input == "-") {
    Fail(ErrorKind::kUsage, "--in-place needs a file, not standard input");
  }
  std::error_code error;
  if (!fs::is_symlink(fs::symlink_status(input, error))) return input;
  if (!options.follow) {
    Fail(ErrorKind::kOutput,
         "{}: is a symbolic link; --in-place would replace what it points "
         "to\n  say so with --follow, or name the file itself",
         Printable(input));
  }
  return fs::canonical(input).string();
}

std::string InFolder(const std::string& folder, const std::string& path) {
  return (fs::path(folder) / fs::path(path).filename()).string();
}

void RefuseInput(const std::string& input, const std::string& output) {
  if (input == "-" || output == "-" || !SameFile(input, output)) return;
  Fail(ErrorKind::kOutput,
       "{}: the output is the input\n  replace it with --in-place, or give "
       "another name with -o",
       Printable(output));
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
  return fs::path(path).filename().string();
}

std::string OutputName(const std::string& input, const WriteOptions& options,
                       std::string_view word) {
  if (options.in_place) return input;
  if (!options.path.empty()) return options.path;
  const bool streamed = input == "-";
  if (streamed && options.folder.empty()) return "-";
  const std::string stem = streamed ? "stdin" : WithoutOnnx(input);
  const std::string output = stem + "." + std::string(word) + ".onnx";
  return options.folder.empty() ? output : InFolder(options.folder, output);
}

std::string OutputPath(const std::string& input, const WriteOptions& options,
                       std::string_view word) {
  if (options.in_place) return InPlacePath(input, options);
  const std::string output = OutputName(input, options, word);
  RefuseInput(input, output);
  return output;
}

std::string SidecarName(const std::string& input, const TagOptions& options) {
  if (options.no_sidecar) return "";
  if (!options.sidecar.empty()) return options.sidecar;
  const WriteOptions& write = options.write;
  if (!write.path.empty()) {
    return write.path == "-" ? "" : WithoutOnnx(write.path) + ".tags.json";
  }
  const bool streamed = input == "-";
  if (streamed && write.folder.empty()) return options.sidecar_only ? "-" : "";
  const std::string stem = streamed ? "stdin" : WithoutOnnx(input);
  const std::string sidecar = stem + ".tags.json";
  return write.folder.empty() ? sidecar : InFolder(write.folder, sidecar);
}

std::string SidecarPath(const std::string& input, const std::string& output,
                        const TagOptions& options) {
  const std::string sidecar = SidecarName(input, options);
  if (sidecar.empty() || sidecar == "-") return sidecar;
  const bool is_output =
      sidecar == output || (output != "-" && SameFile(sidecar, output));
  if ((input != "-" && SameFile(sidecar, input)) || is_output) {
    Fail(ErrorKind::kOutput,
         "{}: the sidecar would replace the model\n  give it another name with "
         "--sidecar",
         Printable(sidecar));
  }
  return sidecar;
}

}  // namespace onnx_tag
