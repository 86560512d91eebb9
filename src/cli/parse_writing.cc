// The commands that write models.
#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/option_values.h"
#include "cli/option_words.h"
#include "cli/parsers.h"
#include "onnx_tag/error.h"

namespace onnx_tag::cli {
namespace {

void CheckStandardOutput(const TagOptions& options) {
  const bool report = options.format != ReportFormat::kText;
  if (report && (options.json || options.json_nodes)) {
    Fail(ErrorKind::kUsage, "use only one of --format {} and {}",
         options.format == ReportFormat::kJunit ? "junit" : "github",
         options.json ? "--json" : "--json-nodes");
  }
  const bool streams = options.write.path == "-" || options.sidecar == "-";
  if (streams && (options.json_nodes || report)) {
    Fail(ErrorKind::kUsage, "{} and {} - cannot both use standard output",
         options.json_nodes ? "--json-nodes" : "--format",
         options.sidecar == "-" ? "--sidecar" : "-o");
  }
}

void CheckBatch(const TagOptions& options) {
  const InputOptions& inputs = options.inputs;
  if (!inputs.include.empty() && !inputs.recursive) {
    Fail(ErrorKind::kUsage, "--include requires --recursive");
  }
  if (options.skip_current && options.no_sidecar) {
    Fail(ErrorKind::kUsage,
         "use only one of --skip-current and --no-sidecar\n  --skip-current "
         "needs the sidecar");
  }
  const bool many = options.models.size() > 1 || inputs.recursive ||
                    !inputs.files_from.empty();
  if (many && (!options.write.path.empty() || !options.sidecar.empty())) {
    Fail(ErrorKind::kUsage,
         "{} names one file, but there can be several models\n  give a folder "
         "with --out-dir DIR",
         options.write.path.empty() ? "--sidecar" : "-o");
  }
  const bool piped = std::find(options.models.begin(), options.models.end(),
                               "-") != options.models.end();
  if (piped && (many || options.format != ReportFormat::kText)) {
    Fail(ErrorKind::kUsage, "standard input (-) must be the only model");
  }
  if (piped && options.json_nodes && options.write.folder.empty() &&
      options.write.path.empty() && !options.write.dry_run) {
    Fail(ErrorKind::kUsage,
         "the model and --json-nodes cannot both use standard output\n  write "
         "the model to a file with -o, or use --dry-run");
  }
}

void CheckTag(const TagOptions& options) {
  const WriteOptions& write = options.write;
  if (options.sidecar_only && options.no_sidecar) {
    Fail(ErrorKind::kUsage, "use only one of --sidecar-only and --no-sidecar");
  }
  if (options.no_sidecar && !options.sidecar.empty()) {
    Fail(ErrorKind::kUsage, "use only one of --sidecar and --no-sidecar");
  }
  if (options.sidecar_only && (!write.path.empty() || write.in_place)) {
    Fail(ErrorKind::kUsage,
         "--sidecar-only writes no model, so -o and --in-place have no effect\n"
         "  name the sidecar with --sidecar FILE, or its folder with --out-dir "
         "DIR");
  }
  if (write.path == "-" && options.sidecar == "-") {
    Fail(ErrorKind::kUsage,
         "-o - and --sidecar - cannot both use standard output");
  }
  CheckStandardOutput(options);
  CheckBatch(options);
}

}  // namespace

Invocation ParseTag(CLI::App& app, Words words) {
  TagOptions options;
  MappingWords mapping;
  WriteWords write;
  TerminalWords terminal;
  TagWords words_of_tag;
  BatchWords batch;
  app.add_option("MODEL", options.models,
                 "ONNX files, folders with -r, or - for stdin")
      ->type_name("");
  mapping.Add(app);
  write.Add(app, "MODEL.tagged.onnx",
            ";\nwith --recursive: enter linked folders");
  words_of_tag.AddOutput(app, options);
  words_of_tag.AddGates(app, options);
  batch.Add(app, options);
  app.add_flag("--json", options.json, "print one JSON line for each model")
      ->group("Terminal");
  app.add_flag("--json-nodes", options.json_nodes,
               "print one JSON line for each node")
      ->group("Terminal");
  terminal.AddProgress(app);
  terminal.Add(app);
  ReadWords(app, std::move(words));

  options.mapping = mapping.Take();
  options.write = write.Take(options.inputs.recursive);
  words_of_tag.Take(app, options);
  batch.Take(app, options);
  options.quiet = terminal.quiet;
  if (options.models.empty() && options.inputs.files_from.empty()) {
    Fail(ErrorKind::kUsage, "no model given\n  see onnx-tag tag --help");
  }
  CheckTag(options);
  return {.command = std::move(options), .terminal = terminal.Take()};
}

Invocation ParseStrip(CLI::App& app, Words words) {
  StripOptions options;
  WriteWords write;
  TerminalWords terminal;
  AddModel(app, options.model, "the ONNX file, or - for stdin");
  write.Add(app, "MODEL.stripped.onnx", "");
  terminal.AddProgress(app);
  terminal.Add(app);
  ReadWords(app, std::move(words));
  options.write = write.Take();
  options.quiet = terminal.quiet;
  return {.command = std::move(options), .terminal = terminal.Take()};
}

Invocation ParseTransfer(CLI::App& app, Words words) {
  TransferOptions options;
  MappingWords mapping;
  WriteWords write;
  TagWords words_of_tag;
  TerminalWords terminal;
  std::string to;
  app.add_option("FROM", options.from,
                 "a tagged model or a sidecar; a model without\n"
                 "tags is mapped first")
      ->required()
      ->type_name("");
  app.add_option("TO", to, "the model that receives the tags, or - for stdin")
      ->required()
      ->type_name("");
  app.add_flag("--remap", options.source.remap,
               "ignore the tags of FROM and map it");
  mapping.Add(app);
  write.Add(app, "TO.tagged.onnx", "");
  words_of_tag.AddOutput(app, options.tag);
  words_of_tag.AddGates(app, options.tag);
  app.add_flag("--json", options.tag.json, "print JSON")->group("Terminal");
  terminal.AddProgress(app);
  terminal.Add(app);
  ReadWords(app, std::move(words));

  options.tag.models = {to};
  options.tag.mapping = mapping.Take();
  // --min-confidence drops tags after the transfer, not before it.
  options.source.mapping = options.tag.mapping;
  options.source.mapping.min_confidence = Confidence::kLow;
  options.tag.write = write.Take();
  words_of_tag.Take(app, options.tag);
  options.tag.quiet = terminal.quiet;
  CheckTag(options.tag);
  return {.command = std::move(options), .terminal = terminal.Take()};
}

namespace {

// What the commands that write models of their own have in common, after their
// own options, which are bound to `options`.
template <typename Options>
Invocation ReadNewModel(CLI::App& app, Words words, Options& options,
                        WriteWords& write) {
  TagSourceWords source;
  TerminalWords terminal;
  app.add_flag("--json", options.json, "print JSON")->group("Terminal");
  source.Add(app);
  terminal.AddProgress(app);
  terminal.Add(app);
  ReadWords(app, std::move(words));
  options.source = source.Take();
  options.write = write.Take();
  options.quiet = terminal.quiet;
  if (options.json && options.write.path == "-") {
    Fail(ErrorKind::kUsage, "--json and -o - would mix on standard output");
  }
  return {.command = std::move(options), .terminal = terminal.Take()};
}

}  // namespace

Invocation ParseTap(CLI::App& app, Words words) {
  TapOptions options;
  WriteWords write;
  AddModel(app, options.model, "the ONNX file, or - for stdin");
  app.add_option("--module", options.modules,
                 "whose outputs; * is within a name, ** crosses dots")
      ->required()
      ->type_name("GLOB...");
  app.add_flag("--inputs", options.inputs, "what goes in, not what comes out");
  write.AddNew(app, "MODEL.tapped.onnx");
  return ReadNewModel(app, std::move(words), options, write);
}

Invocation ParseExtract(CLI::App& app, Words words) {
  ExtractOptions options;
  WriteWords write;
  AddModel(app, options.model, "the ONNX file, or - for stdin");
  app.add_option("--module", options.module, "the module to cut out")
      ->required()
      ->type_name("PATH");
  write.AddNew(app, "MODEL.extracted.onnx");
  return ReadNewModel(app, std::move(words), options, write);
}

Invocation ParseSplit(CLI::App& app, Words words) {
  SplitOptions options;
  WriteWords write;
  AddModel(app, options.model, "the ONNX file, or - for stdin");
  app.add_option("--at", options.at, "the modules that begin a part")
      ->required()
      ->type_name("PATH...");
  write.AddNewFolder(app);
  return ReadNewModel(app, std::move(words), options, write);
}

Invocation ParseWeights(CLI::App& app, Words words) {
  WeightsOptions options;
  WriteWords write;
  AddModel(app, options.model, "the ONNX file, or - for stdin");
  app.add_flag("--tsv", options.tsv, "print a table for programs");
  app.add_option("--check", options.check,
                 "compare with the names and shapes in FILE:\n"
                 ".safetensors, or a module map")
      ->type_name("FILE");
  app.add_flag("--rename", options.rename,
               "write the model with the initializers under\n"
               "these names; strip gives the old ones back");
  write.AddNew(app, "MODEL.renamed.onnx");
  Invocation invocation = ReadNewModel(app, std::move(words), options, write);
  const auto& taken = std::get<WeightsOptions>(invocation.command);
  if (!taken.rename && (!taken.write.path.empty() ||
                        !taken.write.folder.empty() || taken.write.dry_run)) {
    Fail(ErrorKind::kUsage, "a model is written with --rename only");
  }
  const int ways = (taken.rename ? 1 : 0) + (taken.tsv ? 1 : 0) +
                   (taken.check.empty() ? 0 : 1);
  if (ways > 1 || (taken.json && taken.tsv)) {
    Fail(ErrorKind::kUsage,
         "--rename, --tsv and --check exclude each other, and so do --tsv and "
         "--json");
  }
  return invocation;
}

}  // namespace onnx_tag::cli
