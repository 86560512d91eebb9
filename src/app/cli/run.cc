#include "app/cli/run.h"

#include <exception>

#include "app/cli/app.h"

namespace onnx_tag::cli {

int Run(std::vector<std::string> args, int out, int err) {
  try {
    const Invocation invocation = ParseArgs(std::move(args));
    Terminal terminal(out, err, invocation.terminal);
    const Result result = invocation.run(terminal);
    Print(result, invocation.format, terminal);
    terminal.Flush();
    return static_cast<int>(result.exit_code);
  } catch (const BrokenPipe&) {
    // A shell shows 128 + 13 for a program that SIGPIPE ended.
    return 128 + 13;
  } catch (const std::exception& error) {
    Terminal(out, err, {}).Complain(ErrorText(error));
    return static_cast<int>(ExitCodeOf(error));
  }
}

}  // namespace onnx_tag::cli
