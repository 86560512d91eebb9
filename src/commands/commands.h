// The commands: what the user asked for, done.
#ifndef ONNX_TAG_COMMANDS_COMMANDS_H_
#define ONNX_TAG_COMMANDS_COMMANDS_H_

#include "commands/options.h"
#include "io/terminal.h"

namespace onnx_tag {

ExitCode RunTag(const TagOptions& options, Terminal& terminal);
ExitCode RunStrip(const StripOptions& options, Terminal& terminal);
ExitCode RunShow(const ShowOptions& options, Terminal& terminal);
ExitCode RunExplain(const ExplainOptions& options, Terminal& terminal);
ExitCode RunStrategies(const StrategiesOptions& options, Terminal& terminal);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_COMMANDS_H_
