#include "cli/run.h"

#include <fmt/core.h>

#include <new>

#include "cli/app.h"
#include "commands/commands.h"
#include "io/terminal.h"
#include "onnx_tag/error.h"

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
ExitCode RunCommand(const ExplainOptions& options, Terminal& terminal) {
  return RunExplain(options, terminal);
}
ExitCode RunCommand(const StrategiesOptions& options, Terminal& terminal) {
  return RunStrategies(options, terminal);
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
  std::string problem;
  ExitCode result = ExitCode::kInput;
  try {
    return static_cast<int>(
        RunInvocation(ParseArgs(std::move(args)), out, err));
  } catch (const Error& error) {
    problem = error.what();
    result = ExitCodeOf(error);
  } catch (const std::bad_alloc&) {
    problem = "out of memory";
  } catch (const std::exception& error) {
    problem = error.what();
  }
  Terminal(out, err, {}).Complain(fmt::format("onnx-tag: {}\n", problem));
  return static_cast<int>(result);
}

}  // namespace onnx_tag::cli
