#include "cli/run.h"

#include <signal.h>

#include <exception>

#include "cli/app.h"
#include "commands/commands.h"
#include "commands/report/report.h"
#include "io/terminal.h"

namespace onnx_tag::cli {
namespace {

ExitCode RunCommand(const PrintText& print, Terminal& terminal) {
  terminal.Out(print.text);
  return ExitCode::kOk;
}
ExitCode RunCommand(const TagOptions& options, Terminal& terminal) {
  return RunTag(options, terminal);
}
ExitCode RunCommand(const StripOptions& options, Terminal& terminal) {
  return RunStrip(options, terminal);
}
ExitCode RunCommand(const ShowOptions& options, Terminal& terminal) {
  return RunShow(options, terminal);
}
ExitCode RunCommand(const QueryOptions& options, Terminal& terminal) {
  return RunQuery(options, terminal);
}
ExitCode RunCommand(const SelectOptions& options, Terminal& terminal) {
  return RunSelect(options, terminal);
}
ExitCode RunCommand(const ExportOptions& options, Terminal& terminal) {
  return RunExport(options, terminal);
}
ExitCode RunCommand(const ExplainOptions& options, Terminal& terminal) {
  return RunExplain(options, terminal);
}
ExitCode RunCommand(const TransferOptions& options, Terminal& terminal) {
  return RunTransfer(options, terminal);
}
ExitCode RunCommand(const DiffOptions& options, Terminal& terminal) {
  return RunDiff(options, terminal);
}
ExitCode RunCommand(const ReportOptions& options, Terminal& terminal) {
  return RunReport(options, terminal);
}
ExitCode RunCommand(const CheckOptions& options, Terminal& terminal) {
  return RunCheck(options, terminal);
}
ExitCode RunCommand(const ProfileOptions& options, Terminal& terminal) {
  return RunProfile(options, terminal);
}
ExitCode RunCommand(const StrategiesOptions& options, Terminal& terminal) {
  return RunStrategies(options, terminal);
}
ExitCode RunCommand(const TapOptions& options, Terminal& terminal) {
  return RunTap(options, terminal);
}
ExitCode RunCommand(const ExtractOptions& options, Terminal& terminal) {
  return RunExtract(options, terminal);
}
ExitCode RunCommand(const SplitOptions& options, Terminal& terminal) {
  return RunSplit(options, terminal);
}
ExitCode RunCommand(const WeightsOptions& options, Terminal& terminal) {
  return RunWeights(options, terminal);
}

ExitCode RunInvocation(const Invocation& invocation, int out, int err) {
  Terminal terminal(out, err, invocation.terminal);
  const ExitCode result = std::visit(
      [&](const auto& command) { return RunCommand(command, terminal); },
      invocation.command);
  terminal.Flush();
  return result;
}

}  // namespace

int Run(std::vector<std::string> args, int out, int err) {
  try {
    return static_cast<int>(
        RunInvocation(ParseArgs(std::move(args)), out, err));
  } catch (const BrokenPipe&) {
    // A shell shows 128 + 13 for a program that SIGPIPE ended.
    return 128 + SIGPIPE;
  } catch (const std::exception& error) {
    Terminal(out, err, {}).Complain(ErrorText(error));
    return static_cast<int>(ExitCodeOf(error));
  }
}

}  // namespace onnx_tag::cli
