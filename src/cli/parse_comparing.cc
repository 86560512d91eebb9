// The commands that compare two models, or tags with their model.
#include <CLI/CLI.hpp>

#include "cli/option_values.h"
#include "cli/option_words.h"
#include "cli/parsers.h"
#include "onnx_tag/error.h"

namespace onnx_tag::cli {

Invocation ParseDiff(CLI::App& app, Words words) {
  DiffOptions options;
  MappingWords mapping;
  ShapeWords shapes;
  TerminalWords terminal;
  std::string format = "text";
  app.add_option("A", options.a, "an ONNX file or a sidecar")
      ->required()
      ->type_name("");
  app.add_option("B", options.b, "the model or sidecar to compare with A")
      ->required()
      ->type_name("");
  app.add_option("--format", format, "output format: text, markdown or json")
      ->type_name("NAME");
  shapes.Add(app);
  app.add_flag("--json", options.json, "print JSON");
  app.add_flag("--remap", options.source.remap,
               "ignore existing tags and map both models");
  mapping.Add(app);
  terminal.Add(app);
  ReadWords(app, std::move(words));
  options.source.mapping = mapping.Take();
  options.shapes = shapes.Take();
  options.markdown = ParseDiffFormat(format, options.json);
  return {.command = std::move(options), .terminal = terminal.Take()};
}

Invocation ParseCheck(CLI::App& app, Words words) {
  CheckOptions options;
  MappingWords mapping;
  TagWords words_of_tag;
  TerminalWords terminal;
  std::string format = "text";
  AddModel(app, options.model, "an ONNX file, its sidecar, or - for stdin");
  app.add_option("--sidecar", options.source.sidecar,
                 "sidecar to check; default: the one beside MODEL")
      ->type_name("FILE");
  app.add_flag("--verify", options.verify,
               "also parse the whole file with protobuf and\n"
               "compare; loads the file, 2 GiB at most");
  app.add_option("--format", format,
                 "output format: text, junit, github or json")
      ->type_name("NAME");
  app.add_flag("--json", options.json, "print JSON");
  words_of_tag.AddGates(app, options.gates);
  mapping.Add(app);
  terminal.Add(app);
  ReadWords(app, std::move(words));
  options.source.mapping = mapping.Take();
  words_of_tag.Take(app, options.gates);
  options.format = ParseFormat(format, options.json);
  if (options.json && options.format != ReportFormat::kText) {
    Fail(ErrorKind::kUsage, "use only one of --json and --format");
  }
  return {.command = std::move(options), .terminal = terminal.Take()};
}

}  // namespace onnx_tag::cli
