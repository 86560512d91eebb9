#include "cli/parsers.h"

#include <CLI/CLI.hpp>
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
  CLI::Option* exceptions_option = nullptr;
  bool no_recipes = false;

  void Add(CLI::App& app) {
    app.add_option("-s,--strategy", strategy, "see: onnx-tag strategies")
        ->type_name("NAME")
        ->group("Mapping");
    app.add_option("--granularity", granularity,
                   "classes in tags: hf (torch.nn left out), torch_nn")
        ->type_name("NAME")
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
  }
  MappingOptions Take() const {
    MappingOptions options;
    options.strategy = ParseStrategy(strategy);
    options.format.torch_nn = ParseGranularity(granularity);
    if (exceptions_option->count() > 0) {
      options.format.exceptions = ParseExceptions(exceptions);
    }
    options.min_confidence = ParseConfidence(min_confidence);
    options.recipes = !no_recipes;
    return options;
  }
};

struct WriteWords {
  WriteOptions options;
  std::string data;
  CLI::Option* path_option = nullptr;
  CLI::Option* folder_option = nullptr;

  void Add(CLI::App& app, const std::string& default_name) {
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
                 "with --in-place: through a symbolic link")
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
  WriteOptions Take() const {
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
    if (options.follow && !options.in_place) {
      Fail(ErrorKind::kUsage, "--follow goes with --in-place");
    }
    return result;
  }
};

void AddModel(CLI::App& app, std::string& model, const std::string& help) {
  app.add_option("MODEL", model, help)->required()->type_name("");
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
  if (options.models.size() > 1 &&
      (!write.path.empty() || !options.sidecar.empty())) {
    Fail(ErrorKind::kUsage,
         "{} names one file, and there are {} models\n  give a folder with "
         "--out-dir DIR",
         write.path.empty() ? "--sidecar" : "-o", options.models.size());
  }
  for (const std::string& model : options.models) {
    if (model == "-" && options.models.size() > 1) {
      Fail(ErrorKind::kUsage, "standard input (-) must be the only model");
    }
  }
  if (write.path == "-" && options.sidecar == "-") {
    Fail(ErrorKind::kUsage,
         "-o - and --sidecar - would mix on standard output");
  }
}

}  // namespace

Invocation ParseTag(CLI::App& app, Words words) {
  TagOptions options;
  MappingWords mapping;
  WriteWords write;
  TerminalWords terminal;
  std::string keys;
  std::string min_coverage;
  std::string max_untagged;
  bool keep_going = false;
  app.add_option("MODEL", options.models, "ONNX files, or - for stdin")
      ->required()
      ->type_name("");
  mapping.Add(app);
  write.Add(app, "MODEL.tagged.onnx");
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
  app.add_option("--min-coverage", min_coverage,
                 "per cent of the nodes that must be tagged")
      ->type_name("PCT")
      ->group("Gates (exit 1 where not met)");
  app.add_option("--require-module", options.require_modules,
                 "a module that must have nodes; repeatable;\n"
                 "* is within a name, ** crosses dots")
      ->type_name("GLOB")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group("Gates (exit 1 where not met)");
  app.add_option("--max-untagged", max_untagged, "nodes that may stay untagged")
      ->type_name("N")
      ->group("Gates (exit 1 where not met)");
  app.add_flag("--keep-going,!--fail-fast", keep_going,
               "after a model that fails, go on (default) or stop")
      ->group("Several models");
  app.add_flag("--json", options.json, "the summary as one JSON line a model")
      ->group("Terminal");
  terminal.AddProgress(app);
  terminal.Add(app);
  ReadWords(app, std::move(words));

  options.mapping = mapping.Take();
  options.write = write.Take();
  if (app.count("--keys") > 0) options.keys = ParseKeys(keys);
  if (app.count("--min-coverage") > 0) {
    options.min_coverage = ParsePercent("--min-coverage", min_coverage);
  }
  if (app.count("--max-untagged") > 0) {
    options.max_untagged = ParseCount("--max-untagged", max_untagged);
  }
  options.fail_fast = app.count("--keep-going") > 0 && !keep_going;
  options.quiet = terminal.quiet;
  CheckTag(options);
  return {.command = std::move(options), .terminal = terminal.Take()};
}

Invocation ParseStrip(CLI::App& app, Words words) {
  StripOptions options;
  WriteWords write;
  TerminalWords terminal;
  AddModel(app, options.model, "the ONNX file, or - for stdin");
  write.Add(app, "MODEL.stripped.onnx");
  terminal.AddProgress(app);
  terminal.Add(app);
  ReadWords(app, std::move(words));
  options.write = write.Take();
  options.quiet = terminal.quiet;
  return {.command = std::move(options), .terminal = terminal.Take()};
}

Invocation ParseShow(CLI::App& app, Words words) {
  ShowOptions options;
  MappingWords mapping;
  TerminalWords terminal;
  std::string depth;
  AddModel(app, options.model, "an ONNX file, its sidecar, or - for stdin");
  app.add_option("--depth", depth, "levels of the tree")->type_name("N");
  app.add_option("--module", options.module, "only what is below this module")
      ->type_name("PATH");
  app.add_flag("--nodes", options.nodes, "list the nodes of each module");
  app.add_flag("--json", options.json, "print JSON");
  app.add_option("--sidecar", options.source.sidecar, "where the tags are")
      ->type_name("FILE");
  app.add_flag("--remap", options.source.remap,
               "map now, whatever tags there are");
  mapping.Add(app);
  terminal.Add(app);
  ReadWords(app, std::move(words));
  options.source.mapping = mapping.Take();
  if (app.count("--depth") > 0) {
    const std::uint64_t levels = ParseCount("--depth", depth);
    options.depth =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(levels, 1'000'000));
  }
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

Invocation ParseStrategies(CLI::App& app, Words words) {
  StrategiesOptions options;
  TerminalWords terminal;
  app.add_flag("--json", options.json, "print JSON");
  terminal.Add(app);
  ReadWords(app, std::move(words));
  return {.command = options, .terminal = terminal.Take()};
}

}  // namespace onnx_tag::cli
