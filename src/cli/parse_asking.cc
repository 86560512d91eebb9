// The commands that read one model and print or export facts about it.
#include <CLI/CLI.hpp>

#include "cli/option_values.h"
#include "cli/option_words.h"
#include "cli/parsers.h"
#include "onnx_tag/error.h"

namespace onnx_tag::cli {

Invocation ParseShow(CLI::App& app, Words words) {
  ShowOptions options;
  TagSourceWords source;
  ShapeWords shapes;
  TerminalWords terminal;
  std::string depth;
  AddModel(app, options.model, "an ONNX file, its sidecar, or - for stdin");
  app.add_option("--depth", depth, "number of levels of the tree")
      ->type_name("N");
  app.add_option("--module", options.module,
                 "show only this module and the modules below it;\n"
                 "may contain * and **")
      ->type_name("PATH");
  app.add_flag("--unfold", options.unfold,
               "print one row for each of the repeated layers");
  app.add_flag("--nodes", options.nodes, "list the nodes of each module");
  shapes.Add(app);
  app.add_flag("--json", options.json, "print JSON");
  source.Add(app);
  terminal.Add(app);
  ReadWords(app, std::move(words));
  options.source = source.Take();
  options.shapes = shapes.Take();
  if (app.count("--depth") > 0) {
    const std::uint64_t levels = ParseCount("--depth", depth);
    options.depth =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(levels, 1'000'000));
  }
  return {.command = std::move(options), .terminal = terminal.Take()};
}

Invocation ParseQuery(CLI::App& app, Words words) {
  QueryOptions options;
  TagSourceWords source;
  ExpressionWords expression;
  TerminalWords terminal;
  AddModel(app, options.model, "an ONNX file, its sidecar, or - for stdin");
  expression.Add(app);
  app.add_flag("--tsv", options.tsv,
               "print a table with the tag and role of each node");
  app.add_flag("--json", options.json, "print JSON");
  source.Add(app);
  terminal.Add(app);
  ReadWords(app, std::move(words));
  options.query = expression.Take();
  options.source = source.Take();
  if (options.tsv && options.json) {
    Fail(ErrorKind::kUsage, "use only one of --tsv and --json");
  }
  return {.command = std::move(options), .terminal = terminal.Take()};
}

namespace {

void CheckSelect(const CLI::App& app, const SelectOptions& options) {
  const auto given_without = [&](const char* option, bool fits,
                                 const char* tools) {
    if (app.count(option) == 0 || fits) return;
    Fail(ErrorKind::kUsage, "{} requires --for {}", option, tools);
  };
  const SelectTool tool = options.tool;
  given_without("--device", tool == SelectTool::kLayerAnn, "layer-ann");
  given_without("--precision", tool == SelectTool::kPolygraphy, "polygraphy");
  const bool treats =
      tool == SelectTool::kOrtQuant || tool == SelectTool::kOlive ||
      tool == SelectTool::kModelopt || tool == SelectTool::kNncf ||
      tool == SelectTool::kNeuralCompressor || tool == SelectTool::kFp16;
  given_without("--exclude", treats,
                "ort-quant, olive, modelopt, nncf, neural-compressor or fp16");
  const bool text_fits = tool == SelectTool::kNames ||
                         tool == SelectTool::kLayerAnn ||
                         tool == SelectTool::kPolygraphy;
  if (options.format == SelectFormat::kText && !text_fits) {
    Fail(ErrorKind::kUsage,
         "--format text requires --for names, layer-ann or polygraphy");
  }
  if (options.format == SelectFormat::kPython && tool == SelectTool::kOlive) {
    Fail(ErrorKind::kUsage, "--for olive requires --format json");
  }
}

// The format that is most common for each tool.
SelectFormat DefaultFormat(SelectTool tool) {
  if (tool == SelectTool::kNames) return SelectFormat::kText;
  if (tool == SelectTool::kPolygraphy) return SelectFormat::kPython;
  return SelectFormat::kJson;
}

}  // namespace

Invocation ParseSelect(CLI::App& app, Words words) {
  SelectOptions options;
  TagSourceWords source;
  ExpressionWords expression;
  TerminalWords terminal;
  std::string tool;
  std::string format;
  bool json = false;
  AddModel(app, options.model, "an ONNX file, its sidecar, or - for stdin");
  expression.Add(app);
  app.add_option("--for", tool,
                 "names, ort-quant, layer-ann, olive, polygraphy,\nextract, "
                 "modelopt, nncf, neural-compressor or fp16")
      ->required()
      ->type_name("TOOL");
  app.add_option("--format", format, "output format: text, json or python")
      ->type_name("NAME");
  app.add_flag("--json", json, "the same as --format json");
  app.add_flag("--exclude", options.exclude,
               "quantizers, fp16: convert all other nodes");
  app.add_option("--device", options.device,
                 "layer-ann: cpu (default), gpu, cuda, npu, ...")
      ->type_name("NAME");
  app.add_option("--precision", options.precision,
                 "polygraphy: float32 (default), float16, ...")
      ->type_name("NAME");
  app.add_flag("--skip-unaddressable", options.skip_unaddressable,
               "omit nodes that the tool cannot find by name");
  source.Add(app);
  terminal.Add(app);
  ReadWords(app, std::move(words));
  options.query = expression.Take();
  options.source = source.Take();
  options.tool = ParseTool(tool);
  options.format = app.count("--format") > 0 ? ParseSelectFormat(format)
                   : json                    ? SelectFormat::kJson
                                             : DefaultFormat(options.tool);
  options.device = ParseDevice(options.device);
  options.precision = ParsePrecision(options.precision);
  CheckSelect(app, options);
  return {.command = std::move(options), .terminal = terminal.Take()};
}

Invocation ParseExport(CLI::App& app, Words words) {
  ExportOptions options;
  TagSourceWords source;
  TerminalWords terminal;
  std::string format;
  AddModel(app, options.model, "an ONNX file, its sidecar, or - for stdin");
  app.add_option("--to", format, "graphml, dot, tsv, netron or sidecar")
      ->required()
      ->type_name("FORMAT");
  app.add_option("-o,--output", options.output,
                 "output file; default: standard output")
      ->type_name("FILE");
  app.add_flag("-f,--force", options.force, "replace an existing file");
  source.Add(app);
  terminal.Add(app);
  ReadWords(app, std::move(words));
  options.source = source.Take();
  options.format = ParseExportFormat(format);
  return {.command = std::move(options), .terminal = terminal.Take()};
}

namespace {

// The shared part of commands that always map the model. Call it after the
// command's own options are bound to `options`.
template <typename Options>
Invocation ReadMapping(CLI::App& app, Words words, Options& options) {
  MappingWords mapping;
  TerminalWords terminal;
  app.add_flag("--json", options.json, "print JSON");
  mapping.Add(app);
  terminal.Add(app);
  ReadWords(app, std::move(words));
  options.mapping = mapping.Take();
  return {.command = std::move(options), .terminal = terminal.Take()};
}

}  // namespace

Invocation ParseExplain(CLI::App& app, Words words) {
  ExplainOptions options;
  AddModel(app, options.model, "the ONNX file, or - for stdin");
  app.add_option("NODE", options.node,
                 "#INDEX, GRAPH#INDEX, name=NAME, output=VALUE,\n"
                 "or only a name or an output")
      ->required()
      ->type_name("");
  return ReadMapping(app, std::move(words), options);
}

Invocation ParseProfile(CLI::App& app, Words words) {
  ProfileOptions options;
  MappingWords mapping;
  TerminalWords terminal;
  std::string by = "module";
  std::string format = "table";
  std::string top;
  std::string skip_runs;
  bool json = false;
  AddModel(app, options.model, "an ONNX file or its sidecar");
  app.add_option("PROFILE", options.profile.file,
                 "JSON of ONNX Runtime or TensorRT, or lines of\n"
                 "NODE<tab>NUMBER")
      ->required()
      ->type_name("");
  app.add_option("SECOND", options.against, "a profile to print beside it")
      ->type_name("");
  app.add_option("--skip-runs", skip_runs, "ignore the first N runs")
      ->type_name("N");
  AddProfileWords(app, options.profile);
  app.add_option("--by", by, "group by module, class, layer, role or node")
      ->type_name("NAME");
  app.add_option("--format", format,
                 "output format: table, json, folded or speedscope")
      ->type_name("NAME");
  app.add_option("--top", top, "rows of the table; default 40; 0 prints all")
      ->type_name("N");
  app.add_flag("--json", json, "the same as --format json");
  app.add_option("--sidecar", options.source.sidecar,
                 "read the tags from this sidecar")
      ->type_name("FILE");
  app.add_flag("--remap", options.source.remap,
               "ignore existing tags and map the model");
  mapping.Add(app);
  terminal.Add(app);
  ReadWords(app, std::move(words));
  options.source.mapping = mapping.Take();
  options.by = ParseProfileKey(by);
  options.format = ParseProfileFormat(format);
  if (json) options.format = ProfileFormat::kJson;
  if (app.count("--top") > 0) options.top = ParseCount("--top", top);
  if (app.count("--skip-runs") > 0) {
    options.skip_runs = ParseCount("--skip-runs", skip_runs);
  }
  if (!options.against.empty() && options.format != ProfileFormat::kTable &&
      options.format != ProfileFormat::kJson) {
    Fail(ErrorKind::kUsage, "two profiles require --format table or json");
  }
  return {.command = std::move(options), .terminal = terminal.Take()};
}

Invocation ParseStrategies(CLI::App& app, Words words) {
  StrategiesOptions options;
  app.add_option("MODEL", options.model,
                 "compare the strategies on this model; - is stdin")
      ->type_name("");
  return ReadMapping(app, std::move(words), options);
}

}  // namespace onnx_tag::cli
