// Parses the command line into an option struct. Runs nothing.
//
//   const Invocation invocation = ParseArgs({"model.onnx", "--force"});
//   std::get<TagOptions>(invocation.command).write.force;  // true
#ifndef ONNX_TAG_CLI_APP_H_
#define ONNX_TAG_CLI_APP_H_

#include <string>
#include <variant>
#include <vector>

#include "commands/new_model_commands.h"
#include "commands/options.h"
#include "commands/report/report.h"
#include "io/terminal.h"

namespace onnx_tag::cli {

// --help and --version.
struct PrintText {
  std::string text;
};

struct Invocation {
  std::variant<PrintText, TagOptions, StripOptions, ShowOptions, ExplainOptions,
               QueryOptions, SelectOptions, ExportOptions, TransferOptions,
               DiffOptions, ReportOptions, CheckOptions, ProfileOptions,
               StrategiesOptions, TapOptions, ExtractOptions, SplitOptions,
               WeightsOptions>
      command;
  TerminalOptions terminal;
};

// `args` are the words after the program's name. The first word is the command.
// If it is not a command, `tag` is assumed. Throws Error(kUsage) with one line
// and the nearest valid word. Throws Error(kInput) if the first word is not a
// file and not similar to a command.
Invocation ParseArgs(std::vector<std::string> args);

}  // namespace onnx_tag::cli

#endif  // ONNX_TAG_CLI_APP_H_
