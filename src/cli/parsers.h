// One parser for each command; see command_table.h.
#ifndef ONNX_TAG_CLI_PARSERS_H_
#define ONNX_TAG_CLI_PARSERS_H_

#include "cli/command_table.h"

namespace onnx_tag::cli {

Invocation ParseTag(CLI::App& app, Words words);
Invocation ParseStrip(CLI::App& app, Words words);
Invocation ParseShow(CLI::App& app, Words words);
Invocation ParseQuery(CLI::App& app, Words words);
Invocation ParseSelect(CLI::App& app, Words words);
Invocation ParseExport(CLI::App& app, Words words);
Invocation ParseExplain(CLI::App& app, Words words);
Invocation ParseTransfer(CLI::App& app, Words words);
Invocation ParseDiff(CLI::App& app, Words words);
Invocation ParseReport(CLI::App& app, Words words);
Invocation ParseCheck(CLI::App& app, Words words);
Invocation ParseProfile(CLI::App& app, Words words);
Invocation ParseTap(CLI::App& app, Words words);
Invocation ParseExtract(CLI::App& app, Words words);
Invocation ParseSplit(CLI::App& app, Words words);
Invocation ParseWeights(CLI::App& app, Words words);
Invocation ParseStrategies(CLI::App& app, Words words);

}  // namespace onnx_tag::cli

#endif  // ONNX_TAG_CLI_PARSERS_H_
