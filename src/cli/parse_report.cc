#include <CLI/CLI.hpp>

#include "cli/option_words.h"
#include "cli/parsers.h"
#include "onnx_tag/error.h"

namespace onnx_tag::cli {
Invocation ParseReport(CLI::App& app, Words words) {
  ReportOptions options;
  ShapeWords shapes;
  TagSourceWords source;
  TerminalWords terminal;
  app.add_option("MODEL", options.inputs,
                 "an ONNX file or its sidecar; two are compared;\n"
                 "or a folder of models")
      ->required()
      ->type_name("");
  app.add_option("-o,--output", options.output,
                 "the page; default MODEL.report.html, - for stdout")
      ->type_name("FILE");
  app.add_option("--out-dir", options.folder,
                 "for a folder: index.html and a page for each model")
      ->type_name("DIR");
  app.add_option("--profile", options.profile.file,
                 "a profile or a table, for a column of time or\n"
                 "other numbers; see: onnx-tag profile --help")
      ->type_name("FILE");
  AddProfileWords(app, options.profile);
  shapes.Add(app);
  app.add_flag("-f,--force", options.force, "replace a file that is there");
  source.Add(app);
  terminal.Add(app);
  app.add_flag("-q,--quiet", terminal.quiet, "print no summary and no notes")
      ->group("Terminal");
  ReadWords(app, std::move(words));
  options.source = source.Take();
  options.quiet = terminal.quiet;
  options.shapes = shapes.Take();
  if (options.inputs.size() > 2) {
    Fail(ErrorKind::kUsage,
         "report takes one model, two models or one folder, not {}",
         options.inputs.size());
  }
  if (!options.folder.empty() &&
      (!options.output.empty() || options.inputs.size() > 1)) {
    Fail(ErrorKind::kUsage, "--out-dir goes with one folder and without -o");
  }
  return {.command = std::move(options), .terminal = terminal.Take()};
}

}  // namespace onnx_tag::cli
