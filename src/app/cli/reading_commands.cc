// The commands that read models and print or export facts about them: their
// options and their rows in the table of commands.
#include <algorithm>
#include <array>

#include "app/cli/command_table.h"
#include "app/cli/options.h"
#include "base/text.h"
#include "onnx_tag/error.h"

namespace onnx_tag::cli {

static Invocation ParseShow(Parser& parser, Words words) {
  ShowOptions options;
  Printing printing;
  AddModel(parser, "an ONNX file, its sidecar, or - for stdin", options.model);
  parser.Value("--depth", options.depth, "N", "number of levels of the tree",
               [](std::string_view option, const std::string& word) {
                 return static_cast<std::uint32_t>(std::min<std::uint64_t>(
                     ParseCount(option, word), 1'000'000));
               });
  parser.Text("--module", options.module, "PATH",
              "show only this module and the modules below it;\n"
              "may contain * and **");
  parser.Flag("--unfold", options.unfold,
              "print one row for each of the repeated layers");
  parser.Flag("--nodes", options.nodes, "list the nodes of each module");
  parser.OneOf("--by", options.by, "MEASURE",
               "show one measure in detail:\n"
               "flops, parameters, bytes, memory or nodes",
               kShowByNames, "measure for --by");
  AddShapes(parser, options.shapes);
  AddTsv(parser, printing, "print a table of modules for programs");
  AddJson(parser, printing);
  AddSource(parser, options.source);
  AddColor(parser, printing);
  parser.Read(std::move(words));
  return Invoke(RunShow, std::move(options), printing.format(),
                printing.terminal);
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

static Invocation ParseQuery(Parser& parser, Words words) {
  QueryOptions options;
  Printing printing;
  AddModel(parser, "an ONNX file, its sidecar, or - for stdin", options.model);
  AddExpression(parser, true, options.query);
  AddTsv(parser, printing, "print a table with the tag and role of each node");
  AddJson(parser, printing);
  AddSource(parser, options.source);
  AddColor(parser, printing);
  parser.Read(std::move(words));
  return Invoke(RunQuery, std::move(options), printing.format(),
                printing.terminal);
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

static const SelectToolFacts& FactsOf(SelectTool tool) {
  return kSelectToolFacts[static_cast<std::size_t>(tool)];
}

static bool HasWord(std::string_view words, std::string_view word) {
  const std::vector<std::string_view> list = Split(words, ' ');
  return std::find(list.begin(), list.end(), word) != list.end();
}

// "npi or qnn-overrides": the tools that have it among these facts.
static std::string ToolsWith(std::string_view word,
                             std::string_view SelectToolFacts::*facts) {
  std::vector<std::string_view> tools;
  for (std::size_t i = 0; i < kSelectToolFacts.size(); ++i) {
    if (HasWord(kSelectToolFacts[i].*facts, word)) {
      tools.emplace_back(kSelectToolNames[i]);
    }
  }
  return EitherOf(tools);
}

static void CheckSelect(const Parser& parser, const SelectOptions& options) {
  for (const std::string_view option :
       {"--device", "--budget", "--exclude", "--precision", "--bits",
        "--group-size", "--type", "--weights"}) {
    if (parser.Count(option) == 0 ||
        HasWord(FactsOf(options.tool).options, option)) {
      continue;
    }
    Fail(ErrorKind::kUsage, "{} requires --for {}", option,
         ToolsWith(option, &SelectToolFacts::options));
  }
  const std::string_view format =
      kSelectFormatNames[static_cast<std::size_t>(options.format)];
  if (!HasWord(FactsOf(options.tool).formats, format)) {
    Fail(ErrorKind::kUsage, "--format {} requires --for {}", format,
         ToolsWith(format, &SelectToolFacts::formats));
  }
  if ((options.tool == SelectTool::kNpi ||
       options.tool == SelectTool::kQnnOverrides) &&
      !options.precision.starts_with("float")) {
    Fail(ErrorKind::kUsage, "--for {} requires --precision float16 or float32",
         kSelectToolNames[static_cast<std::size_t>(options.tool)]);
  }
}

// The format that is most common for each tool.
static SelectFormat DefaultFormat(SelectTool tool) {
  const auto at =
      std::find(kSelectFormatNames.begin(), kSelectFormatNames.end(),
                Split(FactsOf(tool).formats, ' ').front());
  return static_cast<SelectFormat>(at - kSelectFormatNames.begin());
}

// Data types of TensorRT.
constexpr std::array<std::string_view, 7> kPrecisionNames = {
    "float32", "float16", "fp32", "fp16", "bfloat16", "int8", "int32"};
constexpr std::array<std::string_view, 2> kBitNames = {"4", "8"};
constexpr std::array<std::string_view, 6> kQuantTypeNames = {
    "uint16", "int16", "uint8", "int8", "uint4", "int4"};

static Invocation ParseSelect(Parser& parser, Words words) {
  SelectOptions options;
  Printing printing;
  AddModel(parser, "an ONNX file, its sidecar, or - for stdin", options.model);
  AddExpression(parser, false, options.query);
  parser.OneOf("--for", options.tool, "TOOL", EitherOf(kSelectToolNames, 50),
               kSelectToolNames, "tool for --for", true);
  parser.OneOf("--format", options.format, "NAME",
               "output format: text, json or python", kSelectFormatNames,
               "format");
  AddJson(parser, printing, "the same as --format json");
  parser.Flag("--exclude", options.exclude,
              "quantizers, fp16: convert all other nodes");
  parser.Text("--device", options.device, "NAME",
              "layer-ann: cpu (default), gpu, cuda, npu, ...");
  AddPlan(parser, "weights (default)\nor memory, with --budget", options.budget,
          options.by);
  AddShapes(parser, options.shapes);
  parser.OneOf("--precision", options.precision, "NAME",
               "polygraphy, npi, qnn-overrides: float32 (default),\n"
               "float16, ...",
               kPrecisionNames, "precision");
  std::string bits = "8";
  parser.OneOf("--bits", bits, "N", "matmulnbits: 4 or 8 (default)", kBitNames,
               "number of bits");
  parser.Value("--group-size", options.group_size, "N",
               "matmulnbits: weights that share a scale", ParseCount);
  parser.OneOf("--type", options.type, "NAME",
               "ort-overrides: uint16 (default), int16, uint8, ...",
               kQuantTypeNames, "type");
  parser.Flag("--weights", options.weights,
              "npi, qnn-overrides, ort-overrides: also the\n"
              "tensors that the nodes read");
  parser.Flag("--skip-unaddressable", options.skip_unaddressable,
              "omit nodes that the tool cannot find by name");
  AddSource(parser, options.source);
  AddStrict(parser, options.source);
  AddColor(parser, printing);
  parser.Read(std::move(words));
  if (!options.budget && options.query.empty()) {
    Fail(ErrorKind::kUsage, "EXPR is required");
  }
  if (!options.budget && parser.Count("--by") + parser.Count("--shape") > 0) {
    Fail(ErrorKind::kUsage, "--by and --shape need --budget");
  }
  // With a budget and without a query, every module counts.
  if (options.query.empty()) options.query = "not untagged";
  if (options.by != PlanBy::kWeights && options.by != PlanBy::kMemory) {
    Fail(ErrorKind::kUsage,
         "--budget is in bytes: use it with --by weights or --by memory");
  }
  if (parser.Count("--format") == 0) {
    options.format =
        printing.json ? SelectFormat::kJson : DefaultFormat(options.tool);
  }
  options.bits = bits == "4" ? 4 : 8;
  // "fp16" is "float16".
  if (options.precision.starts_with("fp")) {
    options.precision.replace(0, 2, "float");
  }
  CheckDevice(options.device);
  CheckSelect(parser, options);
  return Invoke(RunSelect, std::move(options), Format::kText,
                printing.terminal);
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
    "  onnx-tag select model.onnx type=normalization --for fp16 --exclude\n"
    "  onnx-tag select model.onnx type=normalization --for npi\n"
    "  onnx-tag select model.onnx type=head --for matmulnbits --bits 8\n",
    ParseSelect};

static Invocation ParseExport(Parser& parser, Words words) {
  ExportOptions options;
  Printing printing;
  AddModel(parser, "an ONNX file, its sidecar, or - for stdin", options.model);
  parser.OneOf("--to", options.format, "FORMAT",
               "graphml, dot, tsv, netron or sidecar", kExportFormatNames,
               "format for --to", true);
  parser.Text("-o,--output", options.output, "FILE",
              "output file; default: standard output");
  parser.Flag("-f,--force", options.force, "replace an existing file");
  parser.Flag("--tsv-safe", options.safe,
              "tsv: an apostrophe before cells that a spreadsheet\n"
              "would run");
  AddSource(parser, options.source);
  AddColor(parser, printing);
  parser.Read(std::move(words));
  if (options.safe && options.format != ExportFormat::kTsv) {
    Fail(ErrorKind::kUsage, "--tsv-safe is for --to tsv");
  }
  return Invoke(RunExport, std::move(options), Format::kText,
                printing.terminal);
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

static Invocation ParseExplain(Parser& parser, Words words) {
  ExplainOptions options;
  Printing printing;
  AddModel(parser, "the ONNX file, or - for stdin", options.model);
  parser.Argument("NODE", options.node,
                  "#INDEX, GRAPH#INDEX, name=NAME, output=VALUE,\n"
                  "or only a name or an output");
  parser.Flag("--frames", options.frames,
              "show all frames of the node's traceback");
  AddJson(parser, printing);
  AddSource(parser, options.source);
  AddColor(parser, printing);
  parser.Read(std::move(words));
  return Invoke(RunExplain, std::move(options), printing.format(),
                printing.terminal);
}

const Command kExplain = {
    "explain", "MODEL NODE [options]", "explain why a node has its tag",
    "  onnx-tag explain model.onnx '#17'\n"
    "  onnx-tag explain model.onnx /encoder/layer.0/MatMul\n"
    "  onnx-tag explain model.onnx output=logits\n"
    "  onnx-tag explain model.onnx '12:then_branch#3'\n",
    ParseExplain};

static Invocation ParseProfile(Parser& parser, Words words) {
  constexpr std::array<std::string_view, 4> kFormatNames = {
      "table", "json", "folded", "speedscope"};
  ProfileOptions options;
  Printing printing;
  std::string format = "table";
  AddModel(parser, "an ONNX file or its sidecar", options.model);
  parser.Argument("PROFILE", options.profile.file,
                  "JSON of ONNX Runtime or TensorRT, or lines of\n"
                  "NODE<tab>NUMBER or NODE,NUMBER");
  parser.Argument("SECOND", options.against, "a profile to print beside it",
                  false);
  parser.Value("--skip-runs", options.skip_runs, "N", "ignore the first N runs",
               ParseCount);
  AddProfileSource(parser, options.profile);
  parser.OneOf("--by", options.by, "NAME",
               "group by module, class, layer, role, node, op,\n"
               "line (of Python code) or provider (also lists CPU\n"
               "fallbacks)",
               kProfileKeyNames, "choice for --by");
  parser.OneOf("--format", format, "NAME",
               "output format: table, json, folded or speedscope", kFormatNames,
               "format");
  parser.Value("--top", options.top, "N",
               "rows of the table; default 40; 0 prints all", ParseCount);
  AddJson(parser, printing, "the same as --format json");
  AddSource(parser, options.source);
  AddStrict(parser, options.source);
  AddColor(parser, printing);
  parser.Read(std::move(words));
  if (!printing.json) {
    printing.json = format == "json";
    if (format == "folded") options.stacks = StackFormat::kFolded;
    if (format == "speedscope") options.stacks = StackFormat::kSpeedscope;
  }
  if (!options.against.empty() && options.stacks != StackFormat::kNone) {
    Fail(ErrorKind::kUsage, "two profiles require --format table or json");
  }
  return Invoke(RunProfile, std::move(options), printing.format(),
                printing.terminal);
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

static Invocation ParseFilt(Parser& parser, Words words) {
  constexpr std::array<std::string_view, 2> kFormatNames = {"text", "json"};
  FiltOptions options;
  Printing printing;
  AddModel(parser, "an ONNX file or its sidecar", options.model);
  parser.Flag("--only", options.only, "print only lines with a name");
  parser.OneOf("--format", options.json, "NAME",
               "text (default): the text with its names explained;\n"
               "json: one JSON line for each name",
               kFormatNames, "format");
  AddJson(parser, printing, "the same as --format json");
  AddSource(parser, options.source);
  AddQuiet(parser, printing);
  AddColor(parser, printing);
  parser.Read(std::move(words));
  options.json = options.json || printing.json;
  if (options.json && options.only) {
    Fail(ErrorKind::kUsage, "use only one of --only and --format json");
  }
  return Invoke(RunFilt, std::move(options), Format::kText, printing.terminal);
}

const Command kFilt = {
    "filt", "MODEL [options] < TEXT",
    "explain the names of nodes and values in any text",
    "  trtexec --onnx=model.onnx --verbose 2>&1 | onnx-tag filt model.onnx\n"
    "  python run.py 2>&1 | onnx-tag filt model.onnx --only\n"
    "  onnx-tag filt model.tags.json < engine.log\n"
    "  onnx-tag filt model.onnx --format json < engine.log > names.jsonl\n",
    ParseFilt};

static Invocation ParseStrategies(Parser& parser, Words words) {
  StrategiesOptions options;
  Printing printing;
  parser.Argument("MODEL", options.model,
                  "compare the strategies on this model; - is stdin", false);
  AddJson(parser, printing);
  AddMapping(parser, options.mapping);
  AddColor(parser, printing);
  parser.Read(std::move(words));
  return Invoke(RunStrategies, std::move(options), printing.format(),
                printing.terminal);
}

const Command kStrategies = {
    "strategies", "[MODEL] [options]",
    "list the strategies, or compare them on a model",
    "  onnx-tag strategies\n"
    "  onnx-tag strategies model.onnx\n"
    "  onnx-tag strategies model.onnx --trace recording.json --fx "
    "recording.json\n",
    ParseStrategies};

static Invocation ParseDiff(Parser& parser, Words words) {
  constexpr std::array<std::string_view, 3> kFormatNames = {"text", "markdown",
                                                            "json"};
  constexpr std::array<std::string_view, 2> kByNames = {"module", "role"};
  DiffOptions options;
  Printing printing;
  std::string format = "text";
  parser.Argument("A", options.a, "an ONNX file or a sidecar");
  parser.Argument("B", options.b, "the model or sidecar to compare with A");
  parser.OneOf("--format", format, "NAME",
               "output format: text, markdown or json", kFormatNames, "format");
  parser.OneOf("--by", options.by, "NAME",
               "compare by module, or by role across architectures", kByNames,
               "by");
  parser.Flag("--weights", options.weights,
              "compare the values of weights, too");
  AddShapes(parser, options.shapes);
  AddJson(parser, printing);
  parser.Flag("--remap", options.source.remap,
              "ignore existing tags and map both models");
  AddMapping(parser, options.source.mapping);
  AddColor(parser, printing);
  parser.Read(std::move(words));
  if (format == "json") printing.json = true;
  return Invoke(RunDiff, std::move(options),
                format == "markdown" && !printing.json ? Format::kMarkdown
                                                       : printing.format(),
                printing.terminal);
}

const Command kDiff = {
    "diff", "A B [options]", "compare two models module by module",
    "  onnx-tag diff model.onnx model.quant.onnx\n"
    "  onnx-tag diff old.tags.json new.tags.json --json\n"
    "  onnx-tag diff model.onnx model.opt.onnx --format markdown\n"
    "  onnx-tag diff model.onnx finetuned.onnx --weights\n"
    "  onnx-tag diff bert.onnx gpt2.onnx --by role\n",
    ParseDiff};

static Invocation ParseCheck(Parser& parser, Words words) {
  CheckOptions options;
  Printing printing;
  AddModel(parser, "an ONNX file, its sidecar, or - for stdin", options.model);
  parser.Text("--sidecar", options.source.sidecar, "FILE",
              "sidecar to check; default: the one beside MODEL");
  parser.Flag("--verify", options.verify,
              "also parse the whole file with protobuf and\n"
              "compare; loads the file, 2 GiB at most");
  parser.OneOf("--format", options.format, "NAME",
               "output format: text, junit, github, sarif or json",
               kReportFormatNames, "format");
  AddJson(parser, printing);
  AddGates(parser, options.gates);
  AddMapping(parser, options.source.mapping);
  AddColor(parser, printing);
  parser.Read(std::move(words));
  if (options.format == ReportFormat::kJson) printing.json = true;
  if (printing.json && options.format != ReportFormat::kText &&
      options.format != ReportFormat::kJson) {
    Fail(ErrorKind::kUsage, "use only one of --json and --format");
  }
  return Invoke(RunCheck, std::move(options), printing.format(),
                printing.terminal);
}

const Command kCheck = {
    "check", "MODEL [options]",
    "find errors in the tags of a model and in its sidecar",
    "  onnx-tag check model.tagged.onnx\n"
    "  onnx-tag check model.tagged.onnx --min-coverage 95 --json\n"
    "  onnx-tag check model.onnx --sidecar model.tags.json\n"
    "  onnx-tag check model.onnx --verify\n",
    ParseCheck};

static Invocation ParseReport(Parser& parser, Words words) {
  ReportOptions options;
  Printing printing;
  parser.Arguments("MODEL", options.inputs,
                   "an ONNX file or its sidecar; two are compared;\n"
                   "or a folder of models");
  parser.Text("-o,--output", options.output, "FILE",
              "the page; default MODEL.report.html, - for stdout");
  parser.Text("--out-dir", options.folder, "DIR",
              "for a folder: index.html and a page for each model");
  parser.Text("--profile", options.profile.file, "FILE",
              "a profile or a table, for a column of time or\n"
              "other numbers; see: onnx-tag profile --help");
  AddProfileSource(parser, options.profile);
  AddShapes(parser, options.shapes);
  parser.Flag("-f,--force", options.force, "replace a file that is there");
  AddSource(parser, options.source);
  AddColor(parser, printing);
  AddQuiet(parser, printing);
  parser.Read(std::move(words));
  if (options.inputs.size() > 2) {
    Fail(ErrorKind::kUsage,
         "report takes one model, two models or one folder, not {}",
         options.inputs.size());
  }
  if (!options.folder.empty() &&
      (!options.output.empty() || options.inputs.size() > 1)) {
    Fail(ErrorKind::kUsage, "--out-dir goes with one folder and without -o");
  }
  return Invoke(RunReport, std::move(options), Format::kText,
                printing.terminal);
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
