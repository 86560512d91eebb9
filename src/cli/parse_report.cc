#include <CLI/CLI.hpp>

#include "base/text.h"
#include "cli/option_values.h"
#include "cli/option_words.h"
#include "cli/parsers.h"
#include "onnx_tag/error.h"

namespace onnx_tag::cli {
namespace {

// "input_ids=1,128"; names may have '=' in them, numbers may not.
sizes::GivenShape ParseShape(const std::string& word) {
  const std::size_t equals = word.rfind('=');
  if (equals == std::string::npos || equals == 0) {
    Fail(ErrorKind::kUsage,
         "--shape: '{}' is not of the form NAME=1,128: an input, and its "
         "dimensions",
         Printable(word));
  }
  sizes::GivenShape shape{word.substr(0, equals), {}};
  std::string_view rest = std::string_view(word).substr(equals + 1);
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::uint64_t dim =
        ParseCount("--shape", std::string(rest.substr(0, comma)));
    if (dim > (std::uint64_t{1} << 30)) {
      Fail(ErrorKind::kUsage, "--shape: {} is too large", dim);
    }
    shape.dims.push_back(static_cast<std::int64_t>(dim));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return shape;
}

}  // namespace

Invocation ParseReport(CLI::App& app, Words words) {
  ReportOptions options;
  std::vector<std::string> shapes;
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
  app.add_option("--profile", options.profile,
                 "an ONNX Runtime profile, for a time column")
      ->type_name("FILE");
  app.add_option("--shape", shapes,
                 "the shape of an input, for FLOPs; may be repeated")
      ->type_name("NAME=1,128");
  app.add_flag("-f,--force", options.force, "replace a file that is there");
  source.Add(app);
  terminal.Add(app);
  app.add_flag("-q,--quiet", options.quiet, "no summary")->group("Terminal");
  ReadWords(app, std::move(words));
  options.source = source.Take();
  for (const std::string& word : shapes) {
    options.shapes.push_back(ParseShape(word));
  }
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
