#include "cli/run.h"

#include <signal.h>

#include <exception>

#include "cli/app.h"
#include "commands/commands.h"
#include "commands/report/report.h"
#include "io/terminal.h"

namespace onnx_tag::cli {
namespace {

// One function out of one for each type.
template <typename... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <typename... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

ExitCode RunInvocation(const Invocation& invocation, int out, int err) {
  Terminal terminal(out, err, invocation.terminal);
  const ExitCode result = std::visit(
      Overloaded{
          [&](const PrintText& print) {
            terminal.Out(print.text);
            return ExitCode::kOk;
          },
          [&](const TagOptions& o) { return RunTag(o, terminal); },
          [&](const StripOptions& o) { return RunStrip(o, terminal); },
          [&](const ShowOptions& o) { return RunShow(o, terminal); },
          [&](const QueryOptions& o) { return RunQuery(o, terminal); },
          [&](const SelectOptions& o) { return RunSelect(o, terminal); },
          [&](const ExportOptions& o) { return RunExport(o, terminal); },
          [&](const ExplainOptions& o) { return RunExplain(o, terminal); },
          [&](const TransferOptions& o) { return RunTransfer(o, terminal); },
          [&](const DiffOptions& o) { return RunDiff(o, terminal); },
          [&](const ReportOptions& o) { return RunReport(o, terminal); },
          [&](const CheckOptions& o) { return RunCheck(o, terminal); },
          [&](const ProfileOptions& o) { return RunProfile(o, terminal); },
          [&](const StrategiesOptions& o) {
            return RunStrategies(o, terminal);
          },
          [&](const TapOptions& o) { return RunTap(o, terminal); },
          [&](const ExtractOptions& o) { return RunExtract(o, terminal); },
          [&](const SplitOptions& o) { return RunSplit(o, terminal); },
          [&](const WeightsOptions& o) { return RunWeights(o, terminal); },
      },
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
