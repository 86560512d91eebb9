// Where results go, and what may be replaced.
#ifndef ONNX_TAG_COMMANDS_OUTPUT_PATHS_H_
#define ONNX_TAG_COMMANDS_OUTPUT_PATHS_H_

#include <string>
#include <string_view>

#include "commands/options.h"
#include "onnx_tag/model.h"

namespace onnx_tag {

// The model to write for `input`; `word` is "tagged" or "stripped". "-" is
// standard output. Throws Error(kOutput) where it may not be.
std::string OutputPath(const std::string& input, const OutputOptions& options,
                       std::string_view word);

// The sidecar of the model written to `output` for `input`.
std::string SidecarPath(const std::string& input, const std::string& output,
                        const TagOptions& options);

// "dir/bert.onnx" -> "dir/bert"
std::string WithoutOnnx(const std::string& path);

enum class Existing { kNone, kOurs, kForeign };

// What stands at `path`: nothing, a model or sidecar of ours, or anything
// else, which is not replaced without --force.
Existing WhatExists(const std::string& path);

[[noreturn]] void RefuseToOverwrite(const std::string& path);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_OUTPUT_PATHS_H_
