// `report`: a page about a model, about two, or about a folder of models.
#ifndef ONNX_TAG_COMMANDS_REPORT_REPORT_H_
#define ONNX_TAG_COMMANDS_REPORT_REPORT_H_

#include <string>
#include <vector>

#include "commands/options.h"
#include "io/terminal.h"

namespace onnx_tag {

struct ReportOptions {
  std::vector<std::string> inputs;  // a model, two, or a folder
  TagSourceOptions source;
  std::vector<sizes::GivenShape> shapes;  // of inputs
  ProfileSource profile;
  std::string output;  // "": beside the model
  std::string folder;  // --out-dir, for a folder
  bool force = false;
  bool quiet = false;
};

ExitCode RunReport(const ReportOptions& options, Terminal& terminal);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_REPORT_REPORT_H_
