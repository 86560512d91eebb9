#include "cli/option_words.h"

#include <CLI/CLI.hpp>

#include "cli/option_values.h"
#include "onnx_tag/error.h"

namespace onnx_tag::cli {

void TerminalWords::Add(CLI::App& app) {
  app.add_option("--color", color, "auto, always or never")
      ->type_name("WHEN")
      ->group("Terminal");
}

void TerminalWords::AddProgress(CLI::App& app) {
  app.add_flag("--progress", progress, "also where stderr is no terminal")
      ->group("Terminal");
  app.add_flag("-q,--quiet", quiet, "no summary, no notes")->group("Terminal");
}

TerminalOptions TerminalWords::Take() const {
  TerminalOptions options;
  options.color = ParseColor(color);
  options.progress = progress;
  options.quiet = quiet;
  return options;
}

void MappingWords::Add(CLI::App& app) {
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
  exceptions_option = app.add_option("--torch-nn-exceptions", exceptions,
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

void MappingWords::AddRecordings(CLI::App& app) {
  app.add_option("--trace", trace, "a recorded run, for htp")
      ->type_name("FILE")
      ->group("Mapping");
  app.add_option("--fx", fx, "a recorded FX graph, for fx_graph")
      ->type_name("FILE")
      ->group("Mapping");
}

MappingOptions MappingWords::Take() const {
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

void WriteWords::Add(CLI::App& app, const std::string& default_name,
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

WriteOptions WriteWords::Take(bool recursive) const {
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
    Fail(ErrorKind::kUsage, "-o, --out-dir and --in-place exclude each other");
  }
  if (options.follow && !options.in_place && !recursive) {
    Fail(ErrorKind::kUsage, "--follow goes with --in-place or --recursive");
  }
  return result;
}

void TagWords::AddOutput(CLI::App& app, TagOptions& options) {
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

void TagWords::AddGates(CLI::App& app,
                        std::vector<std::string>& require_modules) {
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
  app.add_option("--max-untagged", max_untagged, "nodes that may stay untagged")
      ->type_name("N")
      ->group("Gates (exit 1 where not met)");
}

void TagWords::Take(const CLI::App& app, TagOptions& options) const {
  if (app.get_option_no_throw("--keys") != nullptr && app.count("--keys") > 0) {
    options.keys = ParseKeys(keys);
  }
  if (app.count("--min-coverage") > 0) {
    options.min_coverage = ParsePercent("--min-coverage", min_coverage);
  }
  if (app.count("--max-untagged") > 0) {
    options.max_untagged = ParseCount("--max-untagged", max_untagged);
  }
}

void TagSourceWords::Add(CLI::App& app) {
  app.add_option("--sidecar", options.sidecar, "where the tags are")
      ->type_name("FILE");
  app.add_flag("--remap", options.remap, "map now, whatever tags there are");
  mapping.Add(app);
}

TagSourceOptions TagSourceWords::Take() const {
  TagSourceOptions result = options;
  result.mapping = mapping.Take();
  return result;
}

void ExpressionWords::Add(CLI::App& app) {
  app.add_option("EXPR", words,
                 "what to look for: type=attention and layer=0;\n"
                 "see docs/query.md")
      ->required()
      ->type_name("");
}

std::string ExpressionWords::Take() const {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ' ';
    text += word;
  }
  return text;
}

void BatchWords::Add(CLI::App& app, TagOptions& options) {
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

void BatchWords::Take(const CLI::App& app, TagOptions& options) const {
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

void AddModel(CLI::App& app, std::string& model, const std::string& help) {
  app.add_option("MODEL", model, help)->required()->type_name("");
}

}  // namespace onnx_tag::cli
