// A page becomes a file, or standard output.
#ifndef ONNX_TAG_COMMANDS_REPORT_WRITE_PAGE_H_
#define ONNX_TAG_COMMANDS_REPORT_WRITE_PAGE_H_

#include <string>
#include <string_view>

#include "io/terminal.h"

namespace onnx_tag {

// Equal bytes are left alone, a report is replaced, anything else only with
// `force`; else throws Error(kOutput). Makes the folder where `make_folder`.
// "-" is standard output. Returns what happened: "wrote" or "unchanged".
std::string_view WritePage(const std::string& path, std::string_view page,
                           bool force, bool make_folder, Terminal& terminal);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_REPORT_WRITE_PAGE_H_
