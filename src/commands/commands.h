// The commands: what the user asked for, done.
//
// Each prints results with Terminal::Out, all else with Terminal::Err, and
// throws Error where it cannot go on; none exits.
#ifndef ONNX_TAG_COMMANDS_COMMANDS_H_
#define ONNX_TAG_COMMANDS_COMMANDS_H_

#include <exception>
#include <string>
#include <string_view>

#include "commands/options.h"
#include "io/terminal.h"

namespace onnx_tag {

ExitCode RunTag(const TagOptions& options, Terminal& terminal);
ExitCode RunStrip(const StripOptions& options, Terminal& terminal);
ExitCode RunShow(const ShowOptions& options, Terminal& terminal);
ExitCode RunQuery(const QueryOptions& options, Terminal& terminal);
ExitCode RunSelect(const SelectOptions& options, Terminal& terminal);
ExitCode RunExport(const ExportOptions& options, Terminal& terminal);
ExitCode RunExplain(const ExplainOptions& options, Terminal& terminal);
ExitCode RunTransfer(const TransferOptions& options, Terminal& terminal);
ExitCode RunDiff(const DiffOptions& options, Terminal& terminal);
ExitCode RunCheck(const CheckOptions& options, Terminal& terminal);
ExitCode RunProfile(const ProfileOptions& options, Terminal& terminal);
ExitCode RunStrategies(const StrategiesOptions& options, Terminal& terminal);

// The exit code of an error.
ExitCode ExitCodeOf(const std::exception& error);

// "onnx-tag: bert.onnx: ...", ready to print, whatever bytes it quotes.
std::string ErrorText(const std::exception& error);

// "0.1.0"
std::string_view ToolVersion();

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_COMMANDS_H_
