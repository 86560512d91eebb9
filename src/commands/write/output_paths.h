// Where results go.
#ifndef ONNX_TAG_COMMANDS_WRITE_OUTPUT_PATHS_H_
#define ONNX_TAG_COMMANDS_WRITE_OUTPUT_PATHS_H_

#include <string>
#include <string_view>

#include "commands/options.h"

namespace onnx_tag {

// The names alone, whatever stands there: what OutputPath() and SidecarPath()
// give where nothing is in the way.
std::string OutputName(const std::string& input, const WriteOptions& options,
                       std::string_view word);
std::string SidecarName(const std::string& input, const TagOptions& options);

// The model to write for `input`; `word` is "tagged" or "stripped". "-" is
// standard output. Throws Error(kOutput) where it may not be.
std::string OutputPath(const std::string& input, const WriteOptions& options,
                       std::string_view word);

// The sidecar of `input`, whose model goes to `output`; "" is none, "-"
// standard output.
std::string SidecarPath(const std::string& input, const std::string& output,
                        const TagOptions& options);

// "dir/bert.onnx" -> "dir/bert"
std::string WithoutOnnx(const std::string& path);

// "dir/bert.onnx" -> "bert.onnx"
std::string FileName(const std::string& path);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_WRITE_OUTPUT_PATHS_H_
