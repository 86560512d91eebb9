// The page that a report is: one HTML file with its data inside.
#ifndef ONNX_TAG_COMMANDS_REPORT_REPORT_PAGE_H_
#define ONNX_TAG_COMMANDS_REPORT_REPORT_PAGE_H_

#include <string>
#include <string_view>

namespace onnx_tag {

// How every report begins: a file that does so was written by onnx-tag.
std::string_view ReportHead();

// `json` in the page. Nothing in it can end the element it stands in.
std::string MakeReportPage(std::string_view json);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_REPORT_REPORT_PAGE_H_
