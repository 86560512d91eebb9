#include "commands/output_paths.h"

#include <filesystem>

#include "base/text.h"
#include "io/mapped_file.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

namespace fs = std::filesystem;

bool SamePlace(const std::string& a, const std::string& b) {
  std::error_code error;
  return fs::equivalent(a, b, error) && !error;
}

std::string InPlacePath(const std::string& input,
                        const OutputOptions& options) {
  if (input == "-") {
    Fail(ErrorKind::kUsage, "--in-place needs a file, not standard input");
  }
  if (!fs::is_symlink(fs::symlink_status(input))) return input;
  if (!options.follow) {
    Fail(ErrorKind::kOutput,
         "{}: is a symbolic link; --in-place would replace what it points "
         "to\n  say so with --follow, or name the file itself",
         Printable(input));
  }
  return fs::canonical(input).string();
}

}  // namespace

std::string WithoutOnnx(const std::string& path) {
  constexpr std::string_view kSuffix = ".onnx";
  return path.ends_with(kSuffix) ? path.substr(0, path.size() - kSuffix.size())
                                 : path;
}

std::string OutputPath(const std::string& input, const OutputOptions& options,
                       std::string_view word) {
  if (options.in_place) return InPlacePath(input, options);
  std::string output;
  if (!options.path.empty()) {
    output = options.path;
  } else if (input == "-") {
    return "-";
  } else {
    output = WithoutOnnx(input) + "." + std::string(word) + ".onnx";
    if (!options.folder.empty()) {
      output = (fs::path(options.folder) / fs::path(output).filename()).string();
    }
  }
  if (output != "-" && SamePlace(input, output)) {
    Fail(ErrorKind::kOutput,
         "{}: the output is the input\n  replace it with --in-place, or give "
         "another name with -o",
         Printable(output));
  }
  return output;
}

std::string SidecarPath(const std::string& input, const std::string& output,
                        const TagOptions& options) {
  if (options.no_sidecar) return "";
  if (!options.sidecar.empty()) return options.sidecar;
  if (!options.output.path.empty() && options.output.path != "-") {
    return WithoutOnnx(options.output.path) + ".tags.json";
  }
  if (input == "-" || output == "-") return "";
  const fs::path beside = WithoutOnnx(input) + ".tags.json";
  if (options.output.folder.empty()) return beside.string();
  return (fs::path(options.output.folder) / beside.filename()).string();
}

Existing WhatExists(const std::string& path) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(path, error))) return Existing::kNone;
  try {
    const MappedFile file = MappedFile::Open(path);
    constexpr std::string_view kSidecarHead =
        "{\n  \"format\": \"onnx-tag/1\"";
    if (file.bytes().starts_with(kSidecarHead)) return Existing::kOurs;
    const Model model = ReadModel(file.bytes());
    return HasTags(model) ? Existing::kOurs : Existing::kForeign;
  } catch (const Error&) {
    return Existing::kForeign;
  }
}

void RefuseToOverwrite(const std::string& path) {
  Fail(ErrorKind::kOutput,
       "{}: exists and was not written by onnx-tag\n  replace it with --force, "
       "or give another name with -o",
       Printable(path));
}

}  // namespace onnx_tag
