// Completion scripts for shells. Each offers commands, options, the words that
// options take, files where files are wanted, and the fields of a query.
#ifndef ONNX_TAG_CLI_DOCUMENTS_COMPLETIONS_H_
#define ONNX_TAG_CLI_DOCUMENTS_COMPLETIONS_H_

#include <span>
#include <string>

#include "cli/documents/described.h"

namespace onnx_tag::cli {

std::string BashCompletion(std::span<const DescribedCommand> commands);
std::string FishCompletion(std::span<const DescribedCommand> commands);
std::string PowershellCompletion(std::span<const DescribedCommand> commands);
std::string ZshCompletion(std::span<const DescribedCommand> commands);

}  // namespace onnx_tag::cli

#endif  // ONNX_TAG_CLI_DOCUMENTS_COMPLETIONS_H_
