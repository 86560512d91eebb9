#include "commands/output_paths.h"

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

std::string OutputPath(const std::string& input, const WriteOptions& options,
                       std::string_view word) {
  if (options.in_place) return InPlacePath(input, options);
  std::string output;
  if (!options.path.empty()) {
    output = options.path;
  } else if (input == "-") {
    return options.folder.empty()
               ? "-"
               : InFolder(options.folder,
                          "stdin." + std::string(word) + ".onnx");
  } else {
    output = WithoutOnnx(input) + "." + std::string(word) + ".onnx";
    if (!options.folder.empty()) output = InFolder(options.folder, output);
  }
  RefuseInput(input, output);
  return output;
}

std::string SidecarPath(const std::string& input, const std::string& output,
                        const TagOptions& options) {
  if (options.no_sidecar) return "";
  std::string sidecar;
  if (!options.sidecar.empty()) {
    sidecar = options.sidecar;
  } else if (!options.write.path.empty()) {
    sidecar = options.write.path == "-"
                  ? ""
                  : WithoutOnnx(options.write.path) + ".tags.json";
  } else if (input == "-") {
    if (!options.write.folder.empty()) {
      sidecar = InFolder(options.write.folder, "stdin.tags.json");
    } else if (options.sidecar_only) {
      sidecar = "-";
    }
  } else {
    sidecar = WithoutOnnx(input) + ".tags.json";
    if (!options.write.folder.empty()) {
      sidecar = InFolder(options.write.folder, sidecar);
    }
  }
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
