// How the user asks: words in, data out; nothing is run here.
//
//   const Invocation invocation = ParseArgs({"model.onnx", "--force"});
//   std::get<TagOptions>(invocation.command).write.force;  // true
#ifndef ONNX_TAG_CLI_APP_H_
#define ONNX_TAG_CLI_APP_H_

#include <string>
#include <variant>
#include <vector>

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
               StrategiesOptions>
      command;
  TerminalOptions terminal;
};

// `args` are the words after the program's name. The first is the command;
// where it is none, `tag` is meant. Throws Error(kUsage) with one line and
// the nearest word that would do, and Error(kInput) where the first word is
// neither a command, nor like one, nor a file.
Invocation ParseArgs(std::vector<std::string> args);

}  // namespace onnx_tag::cli

#endif  // ONNX_TAG_CLI_APP_H_
