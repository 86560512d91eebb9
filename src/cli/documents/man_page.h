// man pages in roff, from the same descriptions as --help.
#ifndef ONNX_TAG_CLI_DOCUMENTS_MAN_PAGE_H_
#define ONNX_TAG_CLI_DOCUMENTS_MAN_PAGE_H_

#include <string>

#include "cli/documents/described.h"

namespace onnx_tag::cli {

// onnx-tag(1): the commands, exit codes and files.
std::string OverviewPage();

// onnx-tag-COMMAND(1).
std::string CommandPage(const DescribedCommand& command);

}  // namespace onnx_tag::cli

#endif  // ONNX_TAG_CLI_DOCUMENTS_MAN_PAGE_H_
