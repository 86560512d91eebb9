// A whole run of the program, in process. main and the tests call it.
#ifndef ONNX_TAG_APP_CLI_RUN_H_
#define ONNX_TAG_APP_CLI_RUN_H_

#include <string>
#include <vector>

namespace onnx_tag::cli {

// Runs the command line `args` (without the program's name) and prints to the
// file descriptors `out` and `err`. Returns the exit code. Never throws.
int Run(std::vector<std::string> args, int out, int err);

}  // namespace onnx_tag::cli

#endif  // ONNX_TAG_APP_CLI_RUN_H_
