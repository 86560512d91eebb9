// The commands that read models and print or export facts about them: their
// options and their rows in the table of commands.
#include <CLI/CLI.hpp>
#include <algorithm>

#include "app/cli/command_table.h"
#include "app/cli/options.h"
#include "onnx_tag/error.h"

namespace onnx_tag::cli {

static Invocation ParseShow(CLI::App& app, Words words) {
  ShowOptions options;
  TagSourceWords source;
  ShapeWords shapes;
  TerminalWords terminal;
  std::string depth, by;
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
  app.add_option("--by", by,
                 "numbers, shares and formulas of one measure:\n"
                 "flops, parameters, bytes, memory or nodes")
      ->type_name("MEASURE");
  shapes.Add(app);
  bool tsv = false;
  app.add_flag("--tsv", tsv, "print a table of modules for programs");
  terminal.AddJson(app);
  source.Add(app);
  terminal.Add(app);
  ReadWords(app, std::move(words));
  options.source = source.Take();
  options.shapes = shapes.Take();
  if (app.count("--by") > 0) {
    options.by = Chosen<ShowBy>("measure for --by", by, kShowByNames);
  }
  if (tsv && terminal.json) {
    Fail(ErrorKind::kUsage, "use only one of --tsv and --json");
  }
  if (app.count("--depth") > 0) {
    const std::uint64_t levels = ParseCount("--depth", depth);
    options.depth =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(levels, 1'000'000));
  }
  return Invoke(RunShow, std::move(options),
                tsv ? Format::kTsv : terminal.format(), terminal.Take());
}

const Command kShow = {
    "show", "MODEL [options]",
    "print the module tree with classes, sizes and confidence",
    "  onnx-tag show model.onnx\n"
    "  onnx-tag show model.onnx --depth 3 --unfold\n"
    "  onnx-tag show model.onnx --module encoder.layer.0 --nodes\n"
    "  onnx-tag show model.onnx --by flops --shape batch=1,sequence=512\n"
    "  onnx-tag show model.onnx --by memory --shape sequence=512\n"
    "  onnx-tag show model.tags.json --json\n",
    ParseShow};

static Invocation ParseQuery(CLI::App& app, Words words) {
  QueryOptions options;
  TagSourceWords source;
  ExpressionWords expression;
  TerminalWords terminal;
  AddModel(app, options.model, "an ONNX file, its sidecar, or - for stdin");
  expression.Add(app);
  bool tsv = false;
  app.add_flag("--tsv", tsv,
               "print a table with the tag and role of each node");
  terminal.AddJson(app);
  source.Add(app);
  terminal.Add(app);
  ReadWords(app, std::move(words));
  options.query = expression.Take();
  options.source = source.Take();
  if (tsv && terminal.json) {
    Fail(ErrorKind::kUsage, "use only one of --tsv and --json");
  }
  return Invoke(RunQuery, std::move(options),
                tsv ? Format::kTsv : terminal.format(), terminal.Take());
}

const Command kQuery = {
    "query", "MODEL EXPR [options]", "print the nodes that match a query",
    "  onnx-tag query model.onnx 'type=attention and layer=0'\n"
    "  onnx-tag query model.onnx 'under=encoder.layer.3 and op=MatMul' --tsv\n"
    "  onnx-tag query model.onnx 'module=encoder.layer.*.output.dense'\n"
    "  onnx-tag query model.onnx 'layer>=6 and op in (MatMul, Gemm)'\n"
    "  onnx-tag query model.tags.json 'confidence<high or untagged' --json\n",
    ParseQuery};

// A device of ONNX Runtime's layer assignment: cpu, gpu:1,
// QNNExecutionProvider. ONNX Runtime's setting trims blanks and uses these
// characters as separators.
static void CheckDevice(const std::string& word) {
  if (!word.empty() && word.find_first_of("(),;= \t\n") == std::string::npos) {
    return;
  }
  Fail(ErrorKind::kUsage,
       "--device: '{}' is not a valid device\n  use cpu, gpu, cuda, npu, "
       "gpu:1, or the name of an execution provider",
       word);
}

static void CheckSelect(const CLI::App& app, const SelectOptions& options) {
  const auto given_without = [&](const char* option, bool fits,
                                 const char* tools) {
    if (app.count(option) == 0 || fits) return;
    Fail(ErrorKind::kUsage, "{} requires --for {}", option, tools);
  };
  const SelectTool tool = options.tool;
  given_without("--device", tool == SelectTool::kLayerAnn, "layer-ann");
  given_without("--budget", tool == SelectTool::kLayerAnn, "layer-ann");
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
static SelectFormat DefaultFormat(SelectTool tool) {
  if (tool == SelectTool::kNames) return SelectFormat::kText;
  if (tool == SelectTool::kPolygraphy) return SelectFormat::kPython;
  return SelectFormat::kJson;
}

static Invocation ParseSelect(CLI::App& app, Words words) {
  SelectOptions options;
  TagSourceWords source;
  ExpressionWords expression;
  TerminalWords terminal;
  PlanWords plan;
  ShapeWords shapes;
  std::string tool;
  std::string format;
  AddModel(app, options.model, "an ONNX file, its sidecar, or - for stdin");
  expression.Add(app, false);
  app.add_option("--for", tool,
                 "names, ort-quant, layer-ann, olive, polygraphy,\nextract, "
                 "modelopt, nncf, neural-compressor or fp16")
      ->required()
      ->type_name("TOOL");
  app.add_option("--format", format, "output format: text, json or python")
      ->type_name("NAME");
  terminal.AddJson(app, "the same as --format json");
  app.add_flag("--exclude", options.exclude,
               "quantizers, fp16: convert all other nodes");
  app.add_option("--device", options.device,
                 "layer-ann: cpu (default), gpu, cuda, npu, ...")
      ->type_name("NAME");
  AddPlanWords(app, plan, "weights (default)\nor memory, with --budget");
  shapes.Add(app);
  app.add_option("--precision", options.precision,
                 "polygraphy: float32 (default), float16, ...")
      ->type_name("NAME");
  app.add_flag("--skip-unaddressable", options.skip_unaddressable,
               "omit nodes that the tool cannot find by name");
  source.Add(app);
  source.AddStrict(app);
  terminal.Add(app);
  ReadWords(app, std::move(words));
  options.query = expression.Take();
  if (app.count("--budget") > 0) {
    options.budget = ParseBytes("--budget", plan.budget);
    options.shapes = shapes.Take();
    // Without a query, every module counts.
    if (options.query.empty()) options.query = "not untagged";
  } else if (options.query.empty()) {
    Fail(ErrorKind::kUsage, "EXPR is required");
  } else if (app.count("--by") + app.count("--shape") > 0) {
    Fail(ErrorKind::kUsage, "--by and --shape need --budget");
  }
  options.by = Chosen<PlanBy>("measure for --by", plan.by, kPlanByNames);
  if (options.by != PlanBy::kWeights && options.by != PlanBy::kMemory) {
    Fail(ErrorKind::kUsage,
         "--budget is in bytes: use it with --by weights or --by memory");
  }
  options.source = source.Take();
  options.tool = Chosen<SelectTool>("tool for --for", tool, kSelectToolNames);
  options.format =
      app.count("--format") > 0
          ? Chosen<SelectFormat>("format", format, kSelectFormatNames)
      : terminal.json ? SelectFormat::kJson
                      : DefaultFormat(options.tool);
  CheckDevice(options.device);
  Choose("precision", options.precision, kPrecisionNames);
  CheckSelect(app, options);
  return Invoke(RunSelect, std::move(options), Format::kText, terminal.Take());
}

const Command kSelect = {
    "select", "MODEL EXPR --for TOOL [options]",
    "print selected nodes in the format of another tool",
    "  onnx-tag select model.onnx type=attention --for ort-quant\n"
    "  onnx-tag select model.onnx 'layer<6' --for layer-ann --device cuda\n"
    "  onnx-tag select model.onnx --for layer-ann --device cuda --budget "
    "2GB\n"
    "  onnx-tag select model.onnx under=encoder.layer.0 --for extract\n"
    "  onnx-tag select model.onnx type=normalization --for polygraphy\n"
    "  onnx-tag select model.onnx type=head --for olive --exclude\n"
    "  onnx-tag select model.onnx type=feed_forward --for nncf\n"
    "  onnx-tag select model.onnx type=normalization --for fp16 --exclude\n",
    ParseSelect};

static Invocation ParseExport(CLI::App& app, Words words) {
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
  options.format =
      Chosen<ExportFormat>("format for --to", format, kExportFormatNames);
  return Invoke(RunExport, std::move(options), Format::kText, terminal.Take());
}

const Command kExport = {
    "export", "MODEL --to FORMAT [options]",
    "write the module tree and the nodes in other formats",
    "  onnx-tag export model.onnx --to graphml -o model.graphml\n"
    "  onnx-tag export model.onnx --to dot | dot -Tsvg > model.svg\n"
    "  onnx-tag export model.tags.json --to tsv\n"
    "  onnx-tag export model.onnx --to netron -o model.netron.json\n"
    "  onnx-tag export model.tagged.onnx --to sidecar -o model.tags.json\n",
    ParseExport};

static Invocation ParseExplain(CLI::App& app, Words words) {
  ExplainOptions options;
  TagSourceWords source;
  TerminalWords terminal;
  AddModel(app, options.model, "the ONNX file, or - for stdin");
  app.add_option("NODE", options.node,
                 "#INDEX, GRAPH#INDEX, name=NAME, output=VALUE,\n"
                 "or only a name or an output")
      ->required()
      ->type_name("");
  app.add_flag("--frames", options.frames,
               "show all frames of the node's traceback");
  terminal.AddJson(app);
  source.Add(app);
  terminal.Add(app);
  ReadWords(app, std::move(words));
  options.source = source.Take();
  return Invoke(RunExplain, std::move(options), terminal.format(),
                terminal.Take());
}

const Command kExplain = {
    "explain", "MODEL NODE [options]", "explain why a node has its tag",
    "  onnx-tag explain model.onnx '#17'\n"
    "  onnx-tag explain model.onnx /encoder/layer.0/MatMul\n"
    "  onnx-tag explain model.onnx output=logits\n"
    "  onnx-tag explain model.onnx '12:then_branch#3'\n",
    ParseExplain};

static Invocation ParseProfile(CLI::App& app, Words words) {
  ProfileOptions options;
  TagSourceWords source;
  TerminalWords terminal;
  std::string by = "module";
  std::string format = "table";
  std::string top;
  std::string skip_runs;
  AddModel(app, options.model, "an ONNX file or its sidecar");
  app.add_option("PROFILE", options.profile.file,
                 "JSON of ONNX Runtime or TensorRT, or lines of\n"
                 "NODE<tab>NUMBER or NODE,NUMBER")
      ->required()
      ->type_name("");
  app.add_option("SECOND", options.against, "a profile to print beside it")
      ->type_name("");
  app.add_option("--skip-runs", skip_runs, "ignore the first N runs")
      ->type_name("N");
  AddProfileWords(app, options.profile);
  app.add_option(
         "--by", by,
         "group by module, class, layer, role, node, op,\n"
         "line (of Python code) or provider, with what falls\nback to the CPU")
      ->type_name("NAME");
  app.add_option("--format", format,
                 "output format: table, json, folded or speedscope")
      ->type_name("NAME");
  app.add_option("--top", top, "rows of the table; default 40; 0 prints all")
      ->type_name("N");
  terminal.AddJson(app, "the same as --format json");
  source.Add(app);
  source.AddStrict(app);
  terminal.Add(app);
  ReadWords(app, std::move(words));
  options.source = source.Take();
  options.by = Chosen<ProfileKey>("choice for --by", by, kProfileKeyNames);
  Choose("format", format, kProfileFormatNames);
  if (!terminal.json) {
    terminal.json = format == "json";
    if (format == "folded") options.stacks = StackFormat::kFolded;
    if (format == "speedscope") options.stacks = StackFormat::kSpeedscope;
  }
  if (app.count("--top") > 0) options.top = ParseCount("--top", top);
  if (app.count("--skip-runs") > 0) {
    options.skip_runs = ParseCount("--skip-runs", skip_runs);
  }
  if (!options.against.empty() && options.stacks != StackFormat::kNone) {
    Fail(ErrorKind::kUsage, "two profiles require --format table or json");
  }
  return Invoke(RunProfile, std::move(options), terminal.format(),
                terminal.Take());
}

const Command kProfile = {
    "profile", "MODEL PROFILE [SECOND] [options]",
    "print time, memory or other numbers per module",
    "  onnx-tag profile model.onnx onnxruntime_profile.json --skip-runs 1\n"
    "  onnx-tag profile model.onnx before.json after.json\n"
    "  onnx-tag profile model.onnx profile.json --by provider\n"
    "  onnx-tag profile model.onnx profile.json --measure mem_in_use_peak\n"
    "  onnx-tag profile model.onnx trt.json --layers trt_layers.json\n"
    "  onnx-tag profile model.onnx sensitivity.tsv --by layer\n"
    "  onnx-tag profile model.onnx profile.json --format folded > out.txt\n",
    ParseProfile};

static Invocation ParseFilt(CLI::App& app, Words words) {
  FiltOptions options;
  TagSourceWords source;
  TerminalWords terminal;
  std::string format = "text";
  AddModel(app, options.model, "an ONNX file or its sidecar");
  app.add_flag("--only", options.only, "print only lines with a name");
  app.add_option("--format", format,
                 "text (default): the text with its names explained;\n"
                 "json: one JSON line for each name")
      ->type_name("NAME");
  terminal.AddJson(app, "the same as --format json");
  source.Add(app);
  terminal.AddQuiet(app);
  terminal.Add(app);
  ReadWords(app, std::move(words));
  options.source = source.Take();
  options.json =
      Choose("format", format, kFiltFormatNames) == 1 || terminal.json;
  if (options.json && options.only) {
    Fail(ErrorKind::kUsage, "use only one of --only and --format json");
  }
  return Invoke(RunFilt, std::move(options), Format::kText, terminal.Take());
}

const Command kFilt = {
    "filt", "MODEL [options] < TEXT",
    "explain the names of nodes and values in any text",
    "  trtexec --onnx=model.onnx --verbose 2>&1 | onnx-tag filt model.onnx\n"
    "  python run.py 2>&1 | onnx-tag filt model.onnx --only\n"
    "  onnx-tag filt model.tags.json < engine.log\n"
    "  onnx-tag filt model.onnx --format json < engine.log > names.jsonl\n",
    ParseFilt};

static Invocation ParseStrategies(CLI::App& app, Words words) {
  StrategiesOptions options;
  MappingWords mapping;
  TerminalWords terminal;
  app.add_option("MODEL", options.model,
                 "compare the strategies on this model; - is stdin")
      ->type_name("");
  terminal.AddJson(app);
  mapping.Add(app);
  terminal.Add(app);
  ReadWords(app, std::move(words));
  options.mapping = mapping.Take();
  return Invoke(RunStrategies, std::move(options), terminal.format(),
                terminal.Take());
}

const Command kStrategies = {
    "strategies", "[MODEL] [options]",
    "list the strategies, or compare them on a model",
    "  onnx-tag strategies\n"
    "  onnx-tag strategies model.onnx\n"
    "  onnx-tag strategies model.onnx --trace recording.json --fx "
    "recording.json\n",
    ParseStrategies};

static Invocation ParseDiff(CLI::App& app, Words words) {
  DiffOptions options;
  MappingWords mapping;
  ShapeWords shapes;
  TerminalWords terminal;
  std::string format = "text";
  std::string by = "module";
  app.add_option("A", options.a, "an ONNX file or a sidecar")
      ->required()
      ->type_name("");
  app.add_option("B", options.b, "the model or sidecar to compare with A")
      ->required()
      ->type_name("");
  app.add_option("--format", format, "output format: text, markdown or json")
      ->type_name("NAME");
  app.add_option("--by", by,
                 "compare by module, or by role across architectures")
      ->type_name("NAME");
  app.add_flag("--weights", options.weights,
               "compare the values of weights, too");
  shapes.Add(app);
  terminal.AddJson(app);
  app.add_flag("--remap", options.source.remap,
               "ignore existing tags and map both models");
  mapping.Add(app);
  terminal.Add(app);
  ReadWords(app, std::move(words));
  options.source.mapping = mapping.Take();
  options.shapes = shapes.Take();
  Choose("format", format, kDiffFormatNames);
  options.by = Chosen<DiffBy>("by", by, kDiffByNames);
  if (format == "json") terminal.json = true;
  return Invoke(RunDiff, std::move(options),
                format == "markdown" && !terminal.json ? Format::kMarkdown
                                                       : terminal.format(),
                terminal.Take());
}

const Command kDiff = {
    "diff", "A B [options]", "compare two models module by module",
    "  onnx-tag diff model.onnx model.quant.onnx\n"
    "  onnx-tag diff old.tags.json new.tags.json --json\n"
    "  onnx-tag diff model.onnx model.opt.onnx --format markdown\n"
    "  onnx-tag diff model.onnx finetuned.onnx --weights\n"
    "  onnx-tag diff bert.onnx gpt2.onnx --by role\n",
    ParseDiff};

static Invocation ParseCheck(CLI::App& app, Words words) {
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
                 "output format: text, junit, github, sarif or json")
      ->type_name("NAME");
  terminal.AddJson(app);
  words_of_tag.AddGates(app, options.gates);
  mapping.Add(app);
  terminal.Add(app);
  ReadWords(app, std::move(words));
  options.source.mapping = mapping.Take();
  words_of_tag.Take(app, options.gates);
  options.format = Chosen<ReportFormat>("format", format, kReportFormatNames);
  if (options.format == ReportFormat::kJson) terminal.json = true;
  if (terminal.json && options.format != ReportFormat::kText &&
      options.format != ReportFormat::kJson) {
    Fail(ErrorKind::kUsage, "use only one of --json and --format");
  }
  return Invoke(RunCheck, std::move(options), terminal.format(),
                terminal.Take());
}

const Command kCheck = {
    "check", "MODEL [options]",
    "find errors in the tags of a model and in its sidecar",
    "  onnx-tag check model.tagged.onnx\n"
    "  onnx-tag check model.tagged.onnx --min-coverage 95 --json\n"
    "  onnx-tag check model.onnx --sidecar model.tags.json\n"
    "  onnx-tag check model.onnx --verify\n",
    ParseCheck};

static Invocation ParseReport(CLI::App& app, Words words) {
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
  terminal.AddQuiet(app);
  ReadWords(app, std::move(words));
  options.source = source.Take();
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
  return Invoke(RunReport, std::move(options), Format::kText, terminal.Take());
}

const Command kReport = {
    "report", "MODEL [B] [options]", "write an HTML page that shows the model",
    "  onnx-tag report model.onnx\n"
    "  onnx-tag report model.onnx --shape input_ids=1,128 -o bert.html\n"
    "  onnx-tag report model.onnx --profile onnxruntime_profile.json\n"
    "  onnx-tag report model.onnx model.quant.onnx -o compare.html\n"
    "  onnx-tag report zoo --out-dir pages\n",
    ParseReport};

}  // namespace onnx_tag::cli
