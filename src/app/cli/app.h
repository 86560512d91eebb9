// Parses the command line, and runs it.
//
//   const Invocation invocation = ParseArgs({"model.onnx", "--force"});
//   std::any_cast<TagOptions>(invocation.options).write.force;  // true
//   invocation.run(terminal);
#pragma once

#include <any>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "app/render/render.h"
#include "file/io/terminal.h"

namespace onnx_tag::cli {

struct Invocation {
  std::any options;  // of the command; the text of --help and --version
  std::function<Result(Terminal&)> run;
  Format format = Format::kText;
  TerminalOptions terminal;
};

// How a command prints, and to what.
struct Printing {
  TerminalOptions terminal;
  bool json = false;
  bool tsv = false;
  bool tsv_safe = false;
  bool markdown = false;
  std::string word;  // of --format, where it is for the command to judge

  bool HasTsv() const { return tsv || tsv_safe; }
  // Refuses --tsv with --json.
  Format format() const;
};

// The call of a command with its options.
template <typename Options>
Invocation Invoke(Result (*command)(const Options&, Terminal&), Options options,
                  Format format, TerminalOptions terminal) {
  return {options,
          [command, options](Terminal& to) { return command(options, to); },
          format, std::move(terminal)};
}

// `args` are the words after the program's name. The first word is the command.
// If it is not a command, `tag` is assumed. Throws Error(kUsage) with one line
// and the nearest valid word. Throws Error(kInput) if the first word is not a
// file and not similar to a command.
Invocation ParseArgs(std::vector<std::string> args);

// A whole run of the program, in process; main and the tests call it. Prints to
// the file descriptors `out` and `err`. Returns the exit code. Never throws.
int Run(std::vector<std::string> args, int out, int err);

}  // namespace onnx_tag::cli
