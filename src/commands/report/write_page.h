// A page becomes a file, or standard output.
#ifndef ONNX_TAG_COMMANDS_REPORT_WRITE_PAGE_H_
#define ONNX_TAG_COMMANDS_REPORT_WRITE_PAGE_H_

#include <string>
#include <string_view>

#include "io/inputs.h"
#include "io/terminal.h"

namespace onnx_tag {

// Through the gate (pending_outputs.h): equal bytes are left alone, a report is
// replaced, anything else only with `force`, and none of `inputs` ever. Makes
// the folder where `make_folder`. "-" is standard output. Returns what
// happened: "wrote" or "unchanged".
std::string_view WritePage(const std::string& path, std::string_view page,
                           const Inputs& inputs, bool force, bool make_folder,
                           Terminal& terminal);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_REPORT_WRITE_PAGE_H_
