#include "cli/parsers.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>

#include "cli/option_values.h"
#include "onnx_tag/error.h"

namespace onnx_tag::cli {
namespace {

// Options are read as words and turned into values afterwards, so that every
// message is ours.

struct TerminalWords {
  std::string color = "auto";
  bool progress = false;
  bool quiet = false;

  void Add(CLI::App& app) {
    app.add_option("--color", color, "auto, always or never")
        ->type_name("WHEN")
        ->group("Terminal");
  }
  void AddProgress(CLI::App& app) {
    app.add_flag("--progress", progress, "also where stderr is no terminal")
        ->group("Terminal");
    app.add_flag("-q,--quiet", quiet, "no summary, no notes")
        ->group("Terminal");
  }
  TerminalOptions Take() const {
    TerminalOptions options;
    options.color = ParseColor(color);
    options.progress = progress;
    options.quiet = quiet;
    return options;
  }
};

struct MappingWords {
  std::string strategy = "enhanced_semantic";
  std::string granularity = "hf";
  std::string min_confidence = "low";
  std::string exceptions;
  std::string hierarchy;
  std::string trace;
  std::string fx;
  std::string rules;
  CLI::Option* exceptions_option = nullptr;
  CLI::Option* hierarchy_option = nullptr;
  CLI::Option* rules_option = nullptr;
  bool no_recipes = false;

  void Add(CLI::App& app) {
    app.add_option("-s,--strategy", strategy, "see: onnx-tag strategies")
        ->type_name("NAME")
        ->group("Mapping");
    app.add_option("--granularity", granularity,
                   "classes in tags: hf (torch.nn left out), torch_nn")
        ->type_name("NAME")
        ->group("Mapping");
    hierarchy_option =
        app.add_option("--hierarchy", hierarchy,
                       "the model's modules as recorded from PyTorch")
            ->type_name("FILE")
            ->group("Mapping");
    rules_option = app.add_option("--rules", rules, "your own rules, as JSON")
                       ->type_name("FILE")
                       ->group("Mapping");
    exceptions_option =
        app.add_option("--torch-nn-exceptions", exceptions,
                       "A,B: torch.nn classes to keep; +A,B adds")
            ->type_name("LIST")
            ->group("Mapping");
    app.add_option("--min-confidence", min_confidence,
                   "drop weaker tags: low, medium, high, certain")
        ->type_name("LEVEL")
        ->group("Mapping");
    app.add_flag("--no-recipes", no_recipes,
                 "do not ask the recipe book where names are gone")
        ->group("Mapping");
    AddRecordings(app);
  }
  void AddRecordings(CLI::App& app) {
    app.add_option("--trace", trace, "a recorded run, for htp")
        ->type_name("FILE")
        ->group("Mapping");
    app.add_option("--fx", fx, "a recorded FX graph, for fx_graph")
        ->type_name("FILE")
        ->group("Mapping");
  }
  MappingOptions Take() const {
    MappingOptions options;
    options.strategy = ParseStrategy(strategy);
    options.format.torch_nn = ParseGranularity(granularity);
    if (exceptions_option->count() > 0) {
      options.format.exceptions = ParseExceptions(exceptions);
    }
    options.min_confidence = ParseConfidence(min_confidence);
    if (hierarchy_option->count() > 0 && hierarchy.empty()) {
      Fail(ErrorKind::kUsage, "--hierarchy: the name is empty");
    }
    if (rules_option->count() > 0 && rules.empty()) {
      Fail(ErrorKind::kUsage, "--rules: the name is empty");
    }
    options.hierarchy_file = hierarchy;
    options.trace_file = trace;
    options.fx_file = fx;
    options.rules_file = rules;
    options.recipes = !no_recipes;
    return options;
  }
};

struct WriteWords {
  WriteOptions options;
  std::string data;
  CLI::Option* path_option = nullptr;
  CLI::Option* folder_option = nullptr;

  void Add(CLI::App& app, const std::string& default_name,
           const std::string& follow) {
    path_option = app.add_option("-o,--output", options.path,
                                 "where to write it; default " + default_name)
                      ->type_name("FILE")
                      ->group("Output");
    folder_option =
        app.add_option("--out-dir", options.folder, "the folder to write to")
            ->type_name("DIR")
            ->group("Output");
    app.add_flag("--in-place", options.in_place, "replace MODEL itself")
        ->group("Output");
    app.add_flag("--follow", options.follow,
                 "with --in-place: through a symbolic link" + follow)
        ->group("Output");
    app.add_flag("-f,--force", options.force, "replace files of others")
        ->group("Output");
    app.add_flag("--fsync", options.fsync, "wait until the disk has it")
        ->group("Output");
    app.add_option("--data", data,
                   "weights of a model in another folder:\n"
                   "keep, link or copy")
        ->type_name("CHOICE")
        ->group("Output");
    app.add_flag("-n,--dry-run", options.dry_run, "say what would be written")
        ->group("Output");
  }
  WriteOptions Take(bool recursive = false) const {
    WriteOptions result = options;
    if (!data.empty()) result.data = ParseData(data);
    if (path_option->count() > 0 && options.path.empty()) {
      Fail(ErrorKind::kUsage, "-o: the name is empty");
    }
    if (folder_option->count() > 0 && options.folder.empty()) {
      Fail(ErrorKind::kUsage, "--out-dir: the name is empty");
    }
    const int places = !options.path.empty() + !options.folder.empty() +
                       (options.in_place ? 1 : 0);
    if (places > 1) {
      Fail(ErrorKind::kUsage,
           "-o, --out-dir and --in-place exclude each other");
    }
    if (options.follow && !options.in_place && !recursive) {
      Fail(ErrorKind::kUsage, "--follow goes with --in-place or --recursive");
    }
    return result;
  }
};

// What is written beside the model, and what a build wants to be sure of; the
// same for `tag` and `transfer`.
struct TagWords {
  std::string keys;
  std::string min_coverage;
  std::string max_untagged;

  void AddOutput(CLI::App& app, TagOptions& options) {
    app.add_option("--keys", keys,
                   "A,B: tags, namespace, layer_ann, class_hierarchy")
        ->type_name("LIST")
        ->group("Output");
    app.add_option("--sidecar", options.sidecar,
                   "the JSON file; default MODEL.tags.json")
        ->type_name("FILE")
        ->group("Output");
    app.add_flag("--no-sidecar", options.no_sidecar, "write no JSON file")
        ->group("Output");
    app.add_flag("--sidecar-only", options.sidecar_only, "write no model")
        ->group("Output");
  }
  void AddGates(CLI::App& app, std::vector<std::string>& require_modules) {
    app.add_option("--min-coverage", min_coverage,
                   "per cent of the nodes that must be tagged")
        ->type_name("PCT")
        ->group("Gates (exit 1 where not met)");
    app.add_option("--require-module", require_modules,
                   "a module that must have nodes; repeatable;\n"
                   "* is within a name, ** crosses dots")
        ->type_name("GLOB")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->allow_extra_args(false)
        ->group("Gates (exit 1 where not met)");
    app.add_option("--max-untagged", max_untagged,
                   "nodes that may stay untagged")
        ->type_name("N")
        ->group("Gates (exit 1 where not met)");
  }
  void Take(const CLI::App& app, TagOptions& options) const {
    if (app.get_option_no_throw("--keys") != nullptr &&
        app.count("--keys") > 0) {
      options.keys = ParseKeys(keys);
    }
    if (app.count("--min-coverage") > 0) {
      options.min_coverage = ParsePercent("--min-coverage", min_coverage);
    }
    if (app.count("--max-untagged") > 0) {
      options.max_untagged = ParseCount("--max-untagged", max_untagged);
    }
  }
};

// Where a command finds tags.
struct TagSourceWords {
  TagSourceOptions options;
  MappingWords mapping;

  void Add(CLI::App& app) {
    app.add_option("--sidecar", options.sidecar, "where the tags are")
        ->type_name("FILE");
    app.add_flag("--remap", options.remap, "map now, whatever tags there are");
    mapping.Add(app);
  }
  TagSourceOptions Take() const {
    TagSourceOptions result = options;
    result.mapping = mapping.Take();
    return result;
  }
};

// A query may be given in one word or in several.
struct ExpressionWords {
  std::vector<std::string> words;

  void Add(CLI::App& app) {
    app.add_option("EXPR", words,
                   "what to look for: type=attention and layer=0;\n"
                   "see docs/query.md")
        ->required()
        ->type_name("");
  }
  std::string Take() const {
    std::string text;
    for (const std::string& word : words) {
      if (!text.empty()) text += ' ';
      text += word;
    }
    return text;
  }
};

void AddModel(CLI::App& app, std::string& model, const std::string& help) {
  app.add_option("MODEL", model, help)->required()->type_name("");
}

// Many models: found in folders and lists, done by several threads.
struct BatchWords {
  std::string jobs;
  std::string format = "text";
  bool keep_going = false;

  void Add(CLI::App& app, TagOptions& options) {
    constexpr const char* kGroup = "Several models";
    app.add_flag("-r,--recursive", options.inputs.recursive,
                 "models in folders and in those below them")
        ->group(kGroup);
    const auto globs = [&](const char* name, std::vector<std::string>& into,
                           const char* help) {
      app.add_option(name, into, help)
          ->type_name("GLOB")
          ->expected(1)
          ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
          ->allow_extra_args(false)
          ->group(kGroup);
    };
    globs("--include", options.inputs.include,
          "in folders, these instead of *.onnx; repeatable");
    globs("--exclude", options.inputs.exclude,
          "not these files and folders; repeatable");
    app.add_option("--files-from", options.inputs.files_from,
                   "a list of models, by lines or NUL; - is stdin")
        ->type_name("FILE")
        ->group(kGroup);
    app.add_option("-j,--jobs", jobs, "models at a time; default: the cores")
        ->type_name("N")
        ->group(kGroup);
    app.add_flag("--skip-current", options.skip_current,
                 "pass over models whose outputs are newer and\n"
                 "were made with the same options")
        ->group(kGroup);
    app.add_flag("--keep-going,!--fail-fast", keep_going,
                 "after a model that fails, go on (default) or stop")
        ->group(kGroup);
    app.add_option("--format", format, "text, junit or github")
        ->type_name("NAME")
        ->group("Terminal");
  }
  void Take(const CLI::App& app, TagOptions& options) const {
    constexpr std::size_t kMostJobs = 256;
    if (app.count("--jobs") > 0) {
      options.jobs = ParseCount("-j", jobs);
      if (options.jobs == 0 || options.jobs > kMostJobs) {
        Fail(ErrorKind::kUsage, "-j: {} is not a number from 1 to {}",
             options.jobs, kMostJobs);
      }
    }
    options.format = ParseFormat(format);
    options.fail_fast = app.count("--keep-going") > 0 && !keep_going;
  }
};

void CheckStandardOutput(const TagOptions& options) {
  const bool report = options.format != ReportFormat::kText;
  if (report && (options.json || options.json_nodes)) {
    Fail(ErrorKind::kUsage, "--format {} and {} exclude each other",
         options.format == ReportFormat::kJunit ? "junit" : "github",
         options.json ? "--json" : "--json-nodes");
  }
  const bool streams = options.write.path == "-" || options.sidecar == "-";
  if (streams && (options.json_nodes || report)) {
    Fail(ErrorKind::kUsage, "{} and {} - would mix on standard output",
         options.json_nodes ? "--json-nodes" : "--format",
         options.sidecar == "-" ? "--sidecar" : "-o");
  }
}

void CheckBatch(const TagOptions& options) {
  const InputOptions& inputs = options.inputs;
  if (!inputs.include.empty() && !inputs.recursive) {
    Fail(ErrorKind::kUsage, "--include goes with --recursive");
  }
  if (options.skip_current && options.no_sidecar) {
    Fail(ErrorKind::kUsage,
         "--skip-current needs the sidecar, which --no-sidecar leaves out");
  }
  const bool many = options.models.size() > 1 || inputs.recursive ||
                    !inputs.files_from.empty();
  if (many && (!options.write.path.empty() || !options.sidecar.empty())) {
    Fail(ErrorKind::kUsage,
         "{} names one file, and there may be several models\n  give a folder "
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
         "the model and --json-nodes would mix on standard output\n  write it "
         "to a file with -o, or not at all with --dry-run");
  }
}

void CheckTag(const TagOptions& options) {
  const WriteOptions& write = options.write;
  if (options.sidecar_only && options.no_sidecar) {
    Fail(ErrorKind::kUsage,
         "--sidecar-only and --no-sidecar exclude each other");
  }
  if (options.no_sidecar && !options.sidecar.empty()) {
    Fail(ErrorKind::kUsage, "--sidecar and --no-sidecar exclude each other");
  }
  if (options.sidecar_only && (!write.path.empty() || write.in_place)) {
    Fail(ErrorKind::kUsage,
         "--sidecar-only writes no model\n  name the sidecar with --sidecar "
         "FILE, or its folder with --out-dir DIR");
  }
  if (write.path == "-" && options.sidecar == "-") {
    Fail(ErrorKind::kUsage,
         "-o - and --sidecar - would mix on standard output");
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
            ";\nwith --recursive: into linked folders");
  words_of_tag.AddOutput(app, options);
  words_of_tag.AddGates(app, options.require_modules);
  batch.Add(app, options);
  app.add_flag("--json", options.json, "the summary as one JSON line a model")
      ->group("Terminal");
  app.add_flag("--json-nodes", options.json_nodes,
               "one JSON line a node, with the model's path")
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

Invocation ParseShow(CLI::App& app, Words words) {
  ShowOptions options;
  TagSourceWords source;
  TerminalWords terminal;
  std::string depth;
  AddModel(app, options.model, "an ONNX file, its sidecar, or - for stdin");
  app.add_option("--depth", depth, "levels of the tree")->type_name("N");
  app.add_option("--module", options.module,
                 "only what is below this module; * and ** work")
      ->type_name("PATH");
  app.add_flag("--unfold", options.unfold,
               "a row for each of the layers that repeat");
  app.add_flag("--nodes", options.nodes, "list the nodes of each module");
  app.add_flag("--json", options.json, "print JSON");
  source.Add(app);
  terminal.Add(app);
  ReadWords(app, std::move(words));
  options.source = source.Take();
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
               "print a table: tag and role of each node");
  app.add_flag("--json", options.json, "print JSON");
  source.Add(app);
  terminal.Add(app);
  ReadWords(app, std::move(words));
  options.query = expression.Take();
  options.source = source.Take();
  if (options.tsv && options.json) {
    Fail(ErrorKind::kUsage, "--tsv and --json exclude each other");
  }
  return {.command = std::move(options), .terminal = terminal.Take()};
}

namespace {

void CheckSelect(const CLI::App& app, const SelectOptions& options) {
  const auto given_without = [&](const char* option, bool fits,
                                 const char* tools) {
    if (app.count(option) == 0 || fits) return;
    Fail(ErrorKind::kUsage, "{} goes with --for {}", option, tools);
  };
  const SelectTool tool = options.tool;
  given_without("--device", tool == SelectTool::kLayerAnn, "layer-ann");
  given_without("--precision", tool == SelectTool::kPolygraphy, "polygraphy");
  given_without("--exclude",
                tool == SelectTool::kOrtQuant || tool == SelectTool::kOlive,
                "ort-quant and olive");
  const bool text_fits = tool == SelectTool::kNames ||
                         tool == SelectTool::kLayerAnn ||
                         tool == SelectTool::kPolygraphy;
  if (options.format == SelectFormat::kText && !text_fits) {
    Fail(ErrorKind::kUsage,
         "--format text goes with --for names, layer-ann "
         "and polygraphy");
  }
  if (options.format == SelectFormat::kPython && tool == SelectTool::kOlive) {
    Fail(ErrorKind::kUsage, "--for olive is JSON");
  }
}

// What each tool is mostly given.
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
                 "names, ort-quant, layer-ann, olive,\npolygraphy or extract")
      ->required()
      ->type_name("TOOL");
  app.add_option("--format", format, "text, json or python")->type_name("NAME");
  app.add_flag("--json", json, "the same as --format json");
  app.add_flag("--exclude", options.exclude,
               "quantizers: all but the selection");
  app.add_option("--device", options.device,
                 "layer-ann: cpu (default), gpu, cuda, npu, ...")
      ->type_name("NAME");
  app.add_option("--precision", options.precision,
                 "polygraphy: float32 (default), float16, ...")
      ->type_name("NAME");
  app.add_flag("--skip-unaddressable", options.skip_unaddressable,
               "leave out nodes the tool cannot tell by name");
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
  app.add_option("--to", format, "graphml, dot, tsv or netron")
      ->required()
      ->type_name("FORMAT");
  app.add_option("-o,--output", options.output,
                 "where to write it; default standard output")
      ->type_name("FILE");
  app.add_flag("-f,--force", options.force, "replace a file that is there");
  source.Add(app);
  terminal.Add(app);
  ReadWords(app, std::move(words));
  options.source = source.Take();
  options.format = ParseExportFormat(format);
  return {.command = std::move(options), .terminal = terminal.Take()};
}

Invocation ParseExplain(CLI::App& app, Words words) {
  ExplainOptions options;
  MappingWords mapping;
  TerminalWords terminal;
  AddModel(app, options.model, "the ONNX file, or - for stdin");
  app.add_option("NODE", options.node,
                 "#INDEX, GRAPH#INDEX, name=NAME, output=VALUE,\n"
                 "or a name or output as it is")
      ->required()
      ->type_name("");
  app.add_flag("--json", options.json, "print JSON");
  mapping.Add(app);
  terminal.Add(app);
  ReadWords(app, std::move(words));
  options.mapping = mapping.Take();
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
                 "the tagged model, or its sidecar; another\n"
                 "model is mapped first")
      ->required()
      ->type_name("");
  app.add_option("TO", to, "the version that gets the tags, or - for stdin")
      ->required()
      ->type_name("");
  app.add_flag("--remap", options.source.remap,
               "map FROM now, whatever tags there are");
  mapping.Add(app);
  write.Add(app, "TO.tagged.onnx", "");
  words_of_tag.AddOutput(app, options.tag);
  words_of_tag.AddGates(app, options.tag.require_modules);
  app.add_flag("--json", options.tag.json, "print JSON")->group("Terminal");
  terminal.AddProgress(app);
  terminal.Add(app);
  ReadWords(app, std::move(words));

  options.tag.models = {to};
  options.tag.mapping = mapping.Take();
  // Weak tags are dropped from what is written, not before they are carried.
  options.source.mapping = options.tag.mapping;
  options.source.mapping.min_confidence = Confidence::kLow;
  options.tag.write = write.Take();
  words_of_tag.Take(app, options.tag);
  options.tag.quiet = terminal.quiet;
  CheckTag(options.tag);
  return {.command = std::move(options), .terminal = terminal.Take()};
}

Invocation ParseDiff(CLI::App& app, Words words) {
  DiffOptions options;
  MappingWords mapping;
  TerminalWords terminal;
  std::string format = "text";
  app.add_option("A", options.a, "an ONNX file or a sidecar")
      ->required()
      ->type_name("");
  app.add_option("B", options.b, "the other one")->required()->type_name("");
  app.add_option("--format", format, "text or markdown")->type_name("NAME");
  app.add_flag("--json", options.json, "print JSON");
  app.add_flag("--remap", options.source.remap,
               "map both now, whatever tags there are");
  mapping.Add(app);
  terminal.Add(app);
  ReadWords(app, std::move(words));
  options.source.mapping = mapping.Take();
  options.markdown = ParseDiffFormat(format);
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
                 "the sidecar to check; default the one beside")
      ->type_name("FILE");
  app.add_option("--format", format, "text, junit or github")
      ->type_name("NAME");
  app.add_flag("--json", options.json, "print JSON");
  words_of_tag.AddGates(app, options.gates.require_modules);
  mapping.Add(app);
  terminal.Add(app);
  ReadWords(app, std::move(words));
  options.source.mapping = mapping.Take();
  words_of_tag.Take(app, options.gates);
  options.format = ParseFormat(format);
  if (options.json && options.format != ReportFormat::kText) {
    Fail(ErrorKind::kUsage, "--json and --format exclude each other");
  }
  return {.command = std::move(options), .terminal = terminal.Take()};
}

Invocation ParseProfile(CLI::App& app, Words words) {
  ProfileOptions options;
  MappingWords mapping;
  TerminalWords terminal;
  std::string by = "module";
  std::string format = "table";
  std::string top;
  bool json = false;
  AddModel(app, options.model, "an ONNX file or its sidecar");
  app.add_option("ORT_PROFILE", options.profile,
                 "the JSON file that ONNX Runtime wrote")
      ->required()
      ->type_name("");
  app.add_option("--by", by, "module, class, layer, role or node")
      ->type_name("NAME");
  app.add_option("--format", format, "table, json, folded or speedscope")
      ->type_name("NAME");
  app.add_option("--top", top, "rows of the table; default 40, 0 is all")
      ->type_name("N");
  app.add_flag("--json", json, "the same as --format json");
  app.add_option("--sidecar", options.source.sidecar, "where the tags are")
      ->type_name("FILE");
  app.add_flag("--remap", options.source.remap,
               "map now, whatever tags there are");
  mapping.Add(app);
  terminal.Add(app);
  ReadWords(app, std::move(words));
  options.source.mapping = mapping.Take();
  options.by = ParseProfileKey(by);
  options.format = ParseProfileFormat(format);
  if (json) options.format = ProfileFormat::kJson;
  if (app.count("--top") > 0) options.top = ParseCount("--top", top);
  return {.command = std::move(options), .terminal = terminal.Take()};
}

Invocation ParseStrategies(CLI::App& app, Words words) {
  StrategiesOptions options;
  MappingWords mapping;
  TerminalWords terminal;
  app.add_option("MODEL", options.model,
                 "run each on this model, or - for stdin")
      ->type_name("");
  app.add_flag("--json", options.json, "print JSON");
  mapping.Add(app);
  terminal.Add(app);
  ReadWords(app, std::move(words));
  options.mapping = mapping.Take();
  return {.command = std::move(options), .terminal = terminal.Take()};
}

}  // namespace onnx_tag::cli
