// A whole run of the program, in process: tests use it as main does.
#ifndef ONNX_TAG_CLI_RUN_H_
#define ONNX_TAG_CLI_RUN_H_

#include <string>
#include <vector>

namespace onnx_tag::cli {

// Runs what `args`, the words after the program's name, ask for, printing to
// the descriptors `out` and `err`. Returns the exit code; never throws.
int Run(std::vector<std::string> args, int out, int err);

}  // namespace onnx_tag::cli

#endif  // ONNX_TAG_CLI_RUN_H_
