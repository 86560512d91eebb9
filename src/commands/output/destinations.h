// Where the results for an input go: names alone, worked out once. Whether
// something stands there is the business of PendingOutputs.
#ifndef ONNX_TAG_COMMANDS_OUTPUT_DESTINATIONS_H_
#define ONNX_TAG_COMMANDS_OUTPUT_DESTINATIONS_H_

#include <string>
#include <string_view>

#include "commands/options.h"

namespace onnx_tag {

// "" is none, "-" standard output.
struct Destinations {
  std::string model;
  std::string sidecar;
};

// Of `tag` and `transfer`. `subfolder` is where outputs go below --out-dir.
// Throws Error(kUsage) for --in-place on standard input.
Destinations DestinationsOf(const std::string& input, const TagOptions& options,
                            const std::string& subfolder = "");

// The model that a command writes for `input`; `word` goes into its name where
// the options give none: "stripped".
std::string ModelDestination(const std::string& input,
                             const WriteOptions& options, std::string_view word,
                             const std::string& subfolder = "");

// "dir/bert.onnx" -> "dir/bert"
std::string WithoutOnnx(const std::string& path);

// "dir/bert.onnx" -> "bert.onnx"
std::string FileName(const std::string& path);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_OUTPUT_DESTINATIONS_H_
