// The commands that write models: their options and their rows in the table of
// commands.
#include <CLI/CLI.hpp>
#include <algorithm>

#include "app/cli/command_table.h"
#include "app/cli/options.h"
#include "onnx_tag/error.h"

namespace onnx_tag::cli {

static void CheckStandardOutput(const TagOptions& options, bool json) {
  const bool report = IsForCi(options.format);
  if (report && (json || options.json_nodes)) {
    Fail(ErrorKind::kUsage, "use only one of --format {} and {}",
         kReportFormatNames[static_cast<std::size_t>(options.format)],
         json ? "--json" : "--json-nodes");
  }
  const bool streams = options.write.path == "-" || options.sidecar == "-";
  if (streams && (options.json_nodes || report)) {
    Fail(ErrorKind::kUsage, "{} and {} - cannot both use standard output",
         options.json_nodes ? "--json-nodes" : "--format",
         options.sidecar == "-" ? "--sidecar" : "-o");
  }
}

static void CheckBatch(const TagOptions& options) {
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
  if (piped && (many || IsForCi(options.format))) {
    Fail(ErrorKind::kUsage, "standard input (-) must be the only model");
  }
  if (piped && options.json_nodes && options.write.folder.empty() &&
      options.write.path.empty() && !options.write.dry_run) {
    Fail(ErrorKind::kUsage,
         "the model and --json-nodes cannot both use standard output\n  write "
         "the model to a file with -o, or use --dry-run");
  }
}

static void CheckTag(const TagOptions& options, bool json) {
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
  CheckStandardOutput(options, json);
  CheckBatch(options);
}

static Invocation ParseTag(CLI::App& app, Words words) {
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
  terminal.AddJson(app, "print one JSON line for each model")
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
  if (options.models.empty() && options.inputs.files_from.empty()) {
    Fail(ErrorKind::kUsage, "no model given\n  see onnx-tag tag --help");
  }
  CheckTag(options, terminal.json);
  if (terminal.json) options.format = ReportFormat::kJson;
  terminal.json = options.format == ReportFormat::kJson;
  return Invoke(RunTag, std::move(options), terminal.format(), terminal.Take());
}

const Command kTag = {
    "tag", "MODEL... [options]",
    "write the module of each node into the model and a JSON file",
    "  onnx-tag model.onnx\n"
    "  onnx-tag model.onnx -o out/tagged.onnx --data copy\n"
    "  onnx-tag model.onnx --in-place --min-coverage 95\n"
    "  onnx-tag big.onnx --sidecar-only\n"
    "  onnx-tag *.onnx --out-dir out --json\n"
    "  onnx-tag -r zoo --out-dir tagged --skip-current -j 8\n"
    "  git ls-files -z '*.onnx' | onnx-tag --files-from - --min-coverage 90\n"
    "  cat model.onnx | onnx-tag - > tagged.onnx\n",
    ParseTag};

static Invocation ParseStrip(CLI::App& app, Words words) {
  StripOptions options;
  WriteWords write;
  TerminalWords terminal;
  AddModel(app, options.model, "the ONNX file, or - for stdin");
  write.Add(app, "MODEL.stripped.onnx", "");
  terminal.AddProgress(app);
  terminal.Add(app);
  ReadWords(app, std::move(words));
  options.write = write.Take();
  return Invoke(RunStrip, std::move(options), Format::kText, terminal.Take());
}

const Command kStrip = {"strip", "MODEL [options]",
                        "remove all tags from a model",
                        "  onnx-tag strip model.tagged.onnx -o model.onnx\n"
                        "  onnx-tag strip model.onnx --in-place\n",
                        ParseStrip};

static Invocation ParseScrub(CLI::App& app, Words words) {
  ScrubOptions options;
  WriteWords write;
  TerminalWords terminal;
  std::string format = "text";
  AddModel(app, options.model, "the ONNX file, or - for stdin");
  app.add_flag("--all", options.all,
               "also all doc strings and the producer strings");
  app.add_flag("--check", options.check,
               "write nothing; exit code 1 on private text");
  app.add_option("--format", format,
                 "output format: text, github, junit, sarif or json")
      ->type_name("NAME");
  terminal.AddJson(app, "the same as --format json");
  write.Add(app, "none: only list", "");
  terminal.AddProgress(app);
  terminal.Add(app);
  ReadWords(app, std::move(words));
  options.write = write.Take();
  options.format = Chosen<ReportFormat>("format", format, kReportFormatNames);
  if (terminal.json) options.format = ReportFormat::kJson;
  terminal.json = options.format == ReportFormat::kJson;
  const bool writes = options.write.in_place || !options.write.path.empty() ||
                      !options.write.folder.empty();
  if (options.check && writes) {
    Fail(ErrorKind::kUsage,
         "--check writes nothing, so -o, --out-dir and --in-place have no "
         "effect");
  }
  if (options.write.path == "-" && options.format != ReportFormat::kText) {
    Fail(ErrorKind::kUsage,
         "--format and -o - cannot both use standard output");
  }
  return Invoke(RunScrub, std::move(options), terminal.format(),
                terminal.Take());
}

const Command kScrub = {
    "scrub", "MODEL [options]",
    "list and remove private text: paths, user names, tracebacks",
    "  onnx-tag scrub model.onnx\n"
    "  onnx-tag scrub model.onnx -o public.onnx\n"
    "  onnx-tag scrub model.onnx --all --in-place\n"
    "  onnx-tag scrub model.onnx --check --format sarif > scrub.sarif\n",
    ParseScrub};

static Invocation ParseTransfer(CLI::App& app, Words words) {
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
  terminal.AddJson(app)->group("Terminal");
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
  CheckTag(options.tag, terminal.json);
  return Invoke(RunTransfer, std::move(options), terminal.format(),
                terminal.Take());
}

const Command kTransfer = {
    "transfer", "FROM TO [options]",
    "copy tags to another version of the model",
    "  onnx-tag transfer model.tagged.onnx model.quant.onnx\n"
    "  onnx-tag transfer model.tags.json model.opt.onnx -o tagged.onnx\n"
    "  onnx-tag transfer old.onnx new.onnx --sidecar-only --json\n",
    ParseTransfer};

// What the commands that write models of their own have in common, after their
// own options, which are bound to `options`.
template <typename Options>
Invocation ReadNewModel(CLI::App& app, Words words, Options& options,
                        WriteWords& write,
                        Result (*command)(const Options&, Terminal&)) {
  TagSourceWords source;
  TerminalWords terminal;
  terminal.AddJson(app)->group("Terminal");
  source.Add(app);
  source.AddStrict(app);
  terminal.AddProgress(app);
  terminal.Add(app);
  ReadWords(app, std::move(words));
  options.source = source.Take();
  options.write = write.Take();
  if (terminal.json && options.write.path == "-") {
    Fail(ErrorKind::kUsage, "--json and -o - would mix on standard output");
  }
  return Invoke(command, options, terminal.format(), terminal.Take());
}

static Invocation ParseTap(CLI::App& app, Words words) {
  TapOptions options;
  WriteWords write;
  AddModel(app, options.model, "the ONNX file, or - for stdin");
  app.add_option("--module", options.modules,
                 "whose outputs; * is within a name, ** crosses dots")
      ->required()
      ->type_name("GLOB...");
  app.add_flag("--inputs", options.inputs, "what goes in, not what comes out");
  write.AddNew(app, "MODEL.tapped.onnx");
  return ReadNewModel(app, std::move(words), options, write, RunTap);
}

const Command kTap = {
    "tap", "MODEL --module GLOB... [options]",
    "write the model with the outputs of modules as graph outputs",
    "  onnx-tag tap model.onnx --module encoder.layer.0 -o tapped.onnx\n"
    "  onnx-tag tap model.onnx --module 'encoder.layer.*' -o tapped.onnx\n"
    "  onnx-tag tap model.onnx --module '**.attention' --inputs -o in.onnx\n"
    "  onnx-tag tap model.onnx --module pooler -o tapped.onnx --json\n",
    ParseTap};

static Invocation ParseExtract(CLI::App& app, Words words) {
  ExtractOptions options;
  WriteWords write;
  AddModel(app, options.model, "the ONNX file, or - for stdin");
  app.add_option("--module", options.module, "the module to cut out")
      ->required()
      ->type_name("PATH");
  write.AddNew(app, "MODEL.extracted.onnx");
  return ReadNewModel(app, std::move(words), options, write, RunExtract);
}

const Command kExtract = {
    "extract", "MODEL --module PATH [options]",
    "write one module as a model of its own",
    "  onnx-tag extract model.onnx --module encoder.layer.0 -o layer.onnx\n"
    "  onnx-tag extract big.onnx --module encoder -o out/encoder.onnx "
    "--data copy\n",
    ParseExtract};

static Invocation ParseSplit(CLI::App& app, Words words) {
  SplitOptions options;
  WriteWords write;
  PlanWords plan;
  ShapeWords shapes;
  std::string parts;
  AddModel(app, options.model, "the ONNX file, or - for stdin");
  app.add_option("--at", options.at, "the modules that begin a part")
      ->type_name("PATH...");
  app.add_option("--parts", parts,
                 "cut into so many parts: the largest as small as\n"
                 "possible, then the fewest bytes across")
      ->type_name("N");
  AddPlanWords(app, plan, "weights (default), flops,\nmemory or time");
  app.add_option("--profile", options.profile.file, "the profile for --by time")
      ->type_name("FILE");
  shapes.Add(app);
  write.AddNewFolder(app);
  Invocation invocation =
      ReadNewModel(app, std::move(words), options, write, RunSplit);
  const bool planned = app.count("--parts") + app.count("--budget") > 0;
  const int ways = (app.count("--at") > 0 ? 1 : 0) +
                   (app.count("--parts") > 0 ? 1 : 0) +
                   (app.count("--budget") > 0 ? 1 : 0);
  if (ways == 0) {
    Fail(ErrorKind::kUsage, "--at, --parts or --budget is required");
  }
  if (ways > 1) {
    Fail(ErrorKind::kUsage, "use only one of --at, --parts and --budget");
  }
  if (!planned && app.count("--by") + app.count("--shape") > 0) {
    Fail(ErrorKind::kUsage, "--by and --shape need --parts or --budget");
  }
  options.by = Chosen<PlanBy>("measure for --by", plan.by, kPlanByNames);
  options.shapes = shapes.Take();
  if (app.count("--parts") > 0) {
    options.parts = ParseCount("--parts", parts);
    if (options.parts < 2) {
      Fail(ErrorKind::kUsage, "--parts: a model is cut into 2 parts or more");
    }
  }
  if (app.count("--budget") > 0) {
    options.budget = ParseBytes("--budget", plan.budget);
    if (options.by == PlanBy::kFlops || options.by == PlanBy::kTime) {
      Fail(ErrorKind::kUsage,
           "--budget is in bytes: use it with --by weights or --by memory");
    }
  }
  if ((options.by == PlanBy::kTime) != !options.profile.file.empty()) {
    Fail(ErrorKind::kUsage, "--by time and --profile FILE need each other");
  }
  if (options.write.folder.empty() && !options.write.dry_run) {
    Fail(ErrorKind::kUsage, "no --out-dir given\n  see onnx-tag split --help");
  }
  // ReadNewModel() took the options before these were known.
  return Invoke(RunSplit, std::move(options), invocation.format,
                std::move(invocation.terminal));
}

const Command kSplit = {
    "split", "MODEL --at PATH... --out-dir DIR [options]",
    "cut the model into parts that run one after another",
    "  onnx-tag split model.onnx --at encoder.layer.6 --out-dir parts\n"
    "  onnx-tag split model.onnx --at encoder decoder --out-dir parts "
    "--json\n"
    "  onnx-tag split model.onnx --parts 4 --by flops --dry-run\n"
    "  onnx-tag split model.onnx --budget 2GB --by memory --out-dir parts\n",
    ParseSplit};

static Invocation ParseWeights(CLI::App& app, Words words) {
  WeightsOptions options;
  WriteWords write;
  AddModel(app, options.model, "the ONNX file, or - for stdin");
  bool tsv = false;
  app.add_flag("--tsv", tsv, "print a table for programs");
  app.add_option("--check", options.check,
                 "compare with the names and shapes in FILE:\n"
                 ".safetensors, or a module map")
      ->type_name("FILE");
  app.add_flag("--rename", options.rename,
               "write the model with the initializers under\n"
               "these names; strip gives the old ones back");
  write.AddNew(app, "MODEL.renamed.onnx");
  Invocation invocation =
      ReadNewModel(app, std::move(words), options, write, RunWeights);
  if (!options.rename &&
      (!options.write.path.empty() || !options.write.folder.empty() ||
       options.write.dry_run)) {
    Fail(ErrorKind::kUsage, "a model is written with --rename only");
  }
  const int ways = (options.rename ? 1 : 0) + (tsv ? 1 : 0) +
                   (options.check.empty() ? 0 : 1);
  if (ways > 1 || (invocation.format == Format::kJson && tsv)) {
    Fail(ErrorKind::kUsage,
         "--rename, --tsv and --check exclude each other, and so do --tsv and "
         "--json");
  }
  if (tsv) invocation.format = Format::kTsv;
  return invocation;
}

const Command kWeights = {
    "weights", "MODEL [options]", "say which parameter each initializer holds",
    "  onnx-tag weights model.onnx\n"
    "  onnx-tag weights model.onnx --tsv > weights.tsv\n"
    "  onnx-tag weights model.onnx --check model.safetensors\n"
    "  onnx-tag weights model.onnx --rename -o renamed.onnx\n",
    ParseWeights};

}  // namespace onnx_tag::cli
