// The commands that write models: their options and their rows in the table of
// commands.
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
  if (many && !options.names.empty()) {
    Fail(ErrorKind::kUsage, "--names takes one model; name each one's FILE");
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
  if (options.sidecar_only && options.rename_nodes) {
    Fail(ErrorKind::kUsage,
         "--sidecar-only writes no model, so --rename-nodes has no effect");
  }
  if (!options.names.empty() &&
      (!options.rename_nodes || options.names == "-")) {
    Fail(ErrorKind::kUsage, "--names needs --rename-nodes and a file");
  }
  CheckStandardOutput(options, json);
  CheckBatch(options);
}

static Invocation ParseTag(Parser& parser, Words words) {
  TagOptions options;
  Printing printing;
  parser.Arguments("MODEL", options.models,
                   "ONNX files, folders with -r, or - for stdin", false);
  AddMapping(parser, options.mapping);
  AddWrite(parser, "MODEL.tagged.onnx",
           ";\nwith --recursive: enter linked folders", options.write);
  AddTagOutput(parser, options);
  AddGates(parser, options);
  AddBatch(parser, options);
  AddTerminalJson(parser, printing, "print one JSON line for each model");
  parser.Group("Terminal");
  parser.Flag("--json-nodes", options.json_nodes,
              "print one JSON line for each node");
  parser.Group("");
  AddProgress(parser, printing);
  AddColor(parser, printing);
  parser.Read(std::move(words));

  CheckWrite(options.write, options.inputs.recursive);
  if (options.models.empty() && options.inputs.files_from.empty()) {
    Fail(ErrorKind::kUsage, "no model given\n  see onnx-tag tag --help");
  }
  CheckTag(options, printing.json);
  if (printing.json) options.format = ReportFormat::kJson;
  printing.json = options.format == ReportFormat::kJson;
  return Invoke(RunTag, std::move(options), printing.format(),
                printing.terminal);
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

static Invocation ParseStrip(Parser& parser, Words words) {
  StripOptions options;
  Printing printing;
  AddModel(parser, "the ONNX file, or - for stdin", options.model);
  AddWrite(parser, "MODEL.stripped.onnx", "", options.write);
  AddProgress(parser, printing);
  AddColor(parser, printing);
  parser.Read(std::move(words));
  CheckWrite(options.write);
  return Invoke(RunStrip, std::move(options), Format::kText, printing.terminal);
}

const Command kStrip = {"strip", "MODEL [options]",
                        "remove all tags from a model",
                        "  onnx-tag strip model.tagged.onnx -o model.onnx\n"
                        "  onnx-tag strip model.onnx --in-place\n",
                        ParseStrip};

static Invocation ParseScrub(Parser& parser, Words words) {
  ScrubOptions options;
  Printing printing;
  AddModel(parser, "the ONNX file, or - for stdin", options.model);
  parser.Flag("--all", options.all,
              "also all doc strings and the producer strings");
  parser.Flag("--check", options.check,
              "write nothing; exit code 1 on private text");
  parser.OneOf("--format", options.format, "NAME",
               "output format: text, github, junit, sarif or json",
               kReportFormatNames, "format");
  AddJson(parser, printing, "the same as --format json");
  AddWrite(parser, "none: only list", "", options.write);
  AddProgress(parser, printing);
  AddColor(parser, printing);
  parser.Read(std::move(words));
  CheckWrite(options.write);
  if (printing.json) options.format = ReportFormat::kJson;
  printing.json = options.format == ReportFormat::kJson;
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
  return Invoke(RunScrub, std::move(options), printing.format(),
                printing.terminal);
}

const Command kScrub = {
    "scrub", "MODEL [options]",
    "list and remove private text: paths, user names, tracebacks",
    "  onnx-tag scrub model.onnx\n"
    "  onnx-tag scrub model.onnx -o public.onnx\n"
    "  onnx-tag scrub model.onnx --all --in-place\n"
    "  onnx-tag scrub model.onnx --check --format sarif > scrub.sarif\n",
    ParseScrub};

static Invocation ParseTransfer(Parser& parser, Words words) {
  TransferOptions options;
  Printing printing;
  std::string to;
  parser.Argument("FROM", options.from,
                  "a tagged model or a sidecar; a model without\n"
                  "tags is mapped first");
  parser.Argument("TO", to, "the model that receives the tags, or - for stdin");
  parser.Flag("--remap", options.source.remap,
              "ignore the tags of FROM and map it");
  parser.Text("--map", options.map, "FILE",
              "write where each node and tensor of TO comes from,\n"
              "and why nodes of FROM are gone, as JSON lines");
  AddMapping(parser, options.tag.mapping);
  AddWrite(parser, "TO.tagged.onnx", "", options.tag.write);
  AddTagOutput(parser, options.tag);
  AddGates(parser, options.tag);
  AddTerminalJson(parser, printing);
  AddProgress(parser, printing);
  AddColor(parser, printing);
  parser.Read(std::move(words));

  options.tag.models = {to};
  // --min-confidence drops tags after the transfer, not before it.
  options.source.mapping = options.tag.mapping;
  options.source.mapping.min_confidence = Confidence::kLow;
  CheckWrite(options.tag.write);
  CheckTag(options.tag, printing.json);
  return Invoke(RunTransfer, std::move(options), printing.format(),
                printing.terminal);
}

const Command kTransfer = {
    "transfer", "FROM TO [options]",
    "copy tags to another version of the model",
    "  onnx-tag transfer model.tagged.onnx model.quant.onnx\n"
    "  onnx-tag transfer model.tags.json model.opt.onnx -o tagged.onnx\n"
    "  onnx-tag transfer old.onnx new.onnx --sidecar-only --json\n"
    "  onnx-tag transfer old.onnx new.onnx -n --map lineage.jsonl\n",
    ParseTransfer};

// The rows that commands which write models of their own have in common, after
// their own rows.
template <typename Options>
Printing ReadNewModel(Parser& parser, Words words, Options& options) {
  Printing printing;
  AddTerminalJson(parser, printing);
  AddSource(parser, options.source);
  AddStrict(parser, options.source);
  AddProgress(parser, printing);
  AddColor(parser, printing);
  parser.Read(std::move(words));
  CheckWrite(options.write);
  if (printing.json && options.write.path == "-") {
    Fail(ErrorKind::kUsage, "--json and -o - would mix on standard output");
  }
  return printing;
}

static Invocation ParseTap(Parser& parser, Words words) {
  TapOptions options;
  AddModel(parser, "the ONNX file, or - for stdin", options.model);
  parser.Texts("--module", options.modules, "GLOB...",
               "whose outputs; * is within a name, ** crosses dots", true);
  parser.Flag("--inputs", options.inputs,
              "tap the inputs of the modules instead");
  AddNew(parser, "MODEL.tapped.onnx", options.write);
  const Printing printing = ReadNewModel(parser, std::move(words), options);
  return Invoke(RunTap, std::move(options), printing.format(),
                printing.terminal);
}

const Command kTap = {
    "tap", "MODEL --module GLOB... [options]",
    "write the model with the outputs of modules as graph outputs",
    "  onnx-tag tap model.onnx --module encoder.layer.0 -o tapped.onnx\n"
    "  onnx-tag tap model.onnx --module 'encoder.layer.*' -o tapped.onnx\n"
    "  onnx-tag tap model.onnx --module '**.attention' --inputs -o in.onnx\n"
    "  onnx-tag tap model.onnx --module pooler -o tapped.onnx --json\n",
    ParseTap};

static Invocation ParseExtract(Parser& parser, Words words) {
  ExtractOptions options;
  AddModel(parser, "the ONNX file, or - for stdin", options.model);
  parser.Text("--module", options.module, "PATH", "the module to cut out",
              true);
  AddNew(parser, "MODEL.extracted.onnx", options.write);
  const Printing printing = ReadNewModel(parser, std::move(words), options);
  return Invoke(RunExtract, std::move(options), printing.format(),
                printing.terminal);
}

const Command kExtract = {
    "extract", "MODEL --module PATH [options]",
    "write one module as a model of its own",
    "  onnx-tag extract model.onnx --module encoder.layer.0 -o layer.onnx\n"
    "  onnx-tag extract big.onnx --module encoder -o out/encoder.onnx "
    "--data copy\n",
    ParseExtract};

static Invocation ParseSplit(Parser& parser, Words words) {
  SplitOptions options;
  AddModel(parser, "the ONNX file, or - for stdin", options.model);
  parser.Texts("--at", options.at, "PATH...", "the modules that begin a part");
  parser.Value("--parts", options.parts, "N",
               "cut into so many parts: the largest as small as\n"
               "possible, then the fewest bytes across",
               ParseCount);
  AddPlan(parser, "weights (default), flops,\nmemory or time", options.budget,
          options.by);
  parser.Text("--profile", options.profile.file, "FILE",
              "the profile for --by time");
  AddShapes(parser, options.shapes);
  AddNewFolder(parser, options.write);
  const Printing printing = ReadNewModel(parser, std::move(words), options);
  const bool parts = parser.Count("--parts") > 0;
  const bool budget = options.budget.has_value();
  const int ways =
      (options.at.empty() ? 0 : 1) + (parts ? 1 : 0) + (budget ? 1 : 0);
  if (ways == 0) {
    Fail(ErrorKind::kUsage, "--at, --parts or --budget is required");
  }
  if (ways > 1) {
    Fail(ErrorKind::kUsage, "use only one of --at, --parts and --budget");
  }
  if (!parts && !budget && parser.Count("--by") + parser.Count("--shape") > 0) {
    Fail(ErrorKind::kUsage, "--by and --shape need --parts or --budget");
  }
  if (parts && options.parts < 2) {
    Fail(ErrorKind::kUsage, "--parts: a model is cut into 2 parts or more");
  }
  if (budget && (options.by == PlanBy::kFlops || options.by == PlanBy::kTime)) {
    Fail(ErrorKind::kUsage,
         "--budget is in bytes: use it with --by weights or --by memory");
  }
  if ((options.by == PlanBy::kTime) != !options.profile.file.empty()) {
    Fail(ErrorKind::kUsage, "--by time and --profile FILE need each other");
  }
  if (options.write.folder.empty() && !options.write.dry_run) {
    Fail(ErrorKind::kUsage, "no --out-dir given\n  see onnx-tag split --help");
  }
  return Invoke(RunSplit, std::move(options), printing.format(),
                printing.terminal);
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

static Invocation ParseWeights(Parser& parser, Words words) {
  WeightsOptions options;
  AddModel(parser, "the ONNX file, or - for stdin", options.model);
  Printing table;
  AddTsv(parser, table, "print a table for programs");
  parser.Text("--check", options.check, "FILE",
              "compare with the names and shapes in FILE:\n"
              ".safetensors, or a module map");
  parser.Flag("--rename", options.rename,
              "write the model with the initializers under\n"
              "these names; strip gives the old ones back");
  parser.Group("New weights");
  parser.Text("--refit", options.refit, "NEW",
              "write the model with the weights of NEW:\n"
              ".safetensors, its index (.json), .pt or .bin");
  parser.Text("--was", options.was, "OLD",
              "the checkpoint that the model was exported from;\n"
              "it proves what each tensor holds");
  parser.Text("--lora", options.lora, "DIR",
              "add an adapter of PEFT to the weights of NEW, or\n"
              "to those of OLD without --refit");
  parser.Flag("--unproven", options.unproven,
              "without --was: trust names that survived");
  parser.Repeated("--keep", options.keep, "GLOB",
                  "tensors that may stay as they are; repeatable");
  parser.Flag("--partial", options.partial,
              "write although tensors are refused");
  parser.Group("Adapters at run time");
  parser.Text("--lora-slots", options.lora_slots, "QUERY",
              "write the model with optional inputs for LoRA at\n"
              "these products; see onnx-tag query --help");
  parser.Value("--rank", options.rank, "R",
               "the highest rank of an adapter; default any", ParseCount);
  parser.Group("");
  AddNew(parser, "MODEL.renamed.onnx,\nMODEL.refit.onnx or MODEL.slots.onnx",
         options.write);
  Printing printing = ReadNewModel(parser, std::move(words), options);
  const bool refits = !options.refit.empty() || !options.lora.empty();
  const bool slots = !options.lora_slots.empty();
  if (!options.rename && !refits && !slots &&
      (!options.write.path.empty() || !options.write.folder.empty() ||
       options.write.dry_run)) {
    Fail(ErrorKind::kUsage,
         "a model is written with --rename, --refit, --lora or --lora-slots "
         "only");
  }
  const bool tsv = table.tsv || table.tsv_safe;
  const int ways = (options.rename ? 1 : 0) +
                   (tsv && !refits && !slots ? 1 : 0) + (refits ? 1 : 0) +
                   (slots ? 1 : 0) + (options.check.empty() ? 0 : 1);
  if (ways > 1 || (printing.json && tsv)) {
    Fail(ErrorKind::kUsage,
         "--rename, --refit or --lora, --lora-slots, --tsv and --check exclude "
         "each other, and so do --tsv and --json");
  }
  if (refits && (options.was.empty() != options.unproven ||
                 (options.refit.empty() && options.was.empty()))) {
    Fail(ErrorKind::kUsage,
         "needs the checkpoint that the model was exported from\n  name it "
         "with --was OLD, or trust the names of --refit NEW with --unproven");
  }
  if (refits && options.write.data != DataChoice::kUnsaid) {
    Fail(ErrorKind::kUsage,
         "--data: new weights go into a new file, beside the output");
  }
  if (!refits && (!options.was.empty() || options.unproven || options.partial ||
                  !options.keep.empty())) {
    Fail(ErrorKind::kUsage,
         "--was, --unproven, --keep and --partial require --refit or --lora");
  }
  if (parser.Count("--rank") > 0 && (!slots || options.rank == 0)) {
    Fail(ErrorKind::kUsage, "--rank requires --lora-slots, and 1 or more");
  }
  printing.tsv = table.tsv;
  printing.tsv_safe = table.tsv_safe;
  return Invoke(RunWeights, std::move(options), printing.format(),
                printing.terminal);
}

const Command kWeights = {
    "weights", "MODEL [options]", "say which parameter each initializer holds",
    "  onnx-tag weights model.onnx\n"
    "  onnx-tag weights model.onnx --tsv > weights.tsv\n"
    "  onnx-tag weights model.onnx --check model.safetensors\n"
    "  onnx-tag weights model.onnx --rename -o renamed.onnx\n"
    "  onnx-tag weights model.onnx --refit new.safetensors --was "
    "old.safetensors\n"
    "  onnx-tag weights model.onnx --lora-slots component=query -o "
    "slots.onnx\n",
    ParseWeights};

}  // namespace onnx_tag::cli
