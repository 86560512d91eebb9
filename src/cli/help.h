// `onnx-tag COMMAND --help`, made from the registered options.
#ifndef ONNX_TAG_CLI_HELP_H_
#define ONNX_TAG_CLI_HELP_H_

#include <string>

#include "cli/command_table.h"

namespace onnx_tag::cli {

std::string HelpText(const CLI::App& app, const Command& command);

}  // namespace onnx_tag::cli

#endif  // ONNX_TAG_CLI_HELP_H_
