#include "app/cli/options.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>

#include "base/parse_number.h"
#include "base/text.h"
#include "onnx_tag/error.h"

namespace onnx_tag::cli {
namespace {

std::int64_t ParseSize(std::string_view word) {
  std::int64_t size = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, size);
  if (error != std::errc() || stop != end || size < 0 ||
      size > (std::int64_t{1} << 62)) {
    Fail(ErrorKind::kUsage,
         "--shape: '{}' is not a size: a whole number from 0 to 2^62", word);
  }
  return size;
}

// "input_ids=1,128" or "batch=1,sequence=128"; names may have '=' in them,
// numbers may not.
void ParseShape(const std::string& word,
                std::vector<sizes::GivenShape>& shapes) {
  const std::size_t before = shapes.size();
  for (const std::string_view part : Split(word, ',')) {
    const std::size_t equals = part.rfind('=');
    if (equals == 0 ||
        (equals == std::string_view::npos && shapes.size() == before)) {
      Fail(ErrorKind::kUsage,
           "--shape: '{}' is not of the form NAME=128 or NAME=1,128: a "
           "dimension or an input, and its size",
           word);
    }
    if (equals != std::string_view::npos) {
      shapes.push_back(
          {.name = std::string(part.substr(0, equals)), .dims = {}});
    }
    const std::string_view number =
        equals == std::string_view::npos ? part : part.substr(equals + 1);
    if (number.empty()) continue;  // a scalar
    if (number.find("..") != number.npos) {
      Fail(ErrorKind::kUsage,
           "--shape: '{}' is a range, but a dimension has one size\n  a report "
           "has a slider for each dimension: onnx-tag report MODEL",
           part);
    }
    shapes.back().dims.push_back(ParseSize(number));
  }
}

// "tags,namespace" replaces the default choice.
KeyChoice ParseKeys(const std::string& list) {
  KeyChoice keys;
  bool* const choices[] = {&keys.tags, &keys.name_space, &keys.layer_ann,
                           &keys.class_hierarchy, &keys.source_line};
  keys.tags = false;
  for (const std::string_view word : Split(list, ',')) {
    *choices[Choose("key", word, kKeyNames)] = true;
  }
  return keys;
}

// "A,B" replaces the default list, "+A,B" adds to it, "" empties it.
std::vector<std::string> ParseExceptions(const std::string& list) {
  std::string_view rest = list;
  std::vector<std::string> exceptions;
  if (rest.starts_with('+')) {
    rest.remove_prefix(1);
    exceptions = TagFormat().exceptions;
  }
  for (const std::string_view name : Split(rest, ',')) {
    if (!name.empty()) exceptions.emplace_back(name);
  }
  return exceptions;
}

}  // namespace

std::size_t Choose(std::string_view what, std::string_view word,
                   std::span<const std::string_view> words) {
  const auto at = std::find(words.begin(), words.end(), word);
  if (at != words.end()) {
    return static_cast<std::size_t>(at - words.begin());
  }
  Fail(ErrorKind::kUsage, "unknown {} '{}'{}", what, word,
       Ours{DidYouMean(word, words, "\n  valid values: " + Join(words))});
}

void TerminalWords::Add(CLI::App& app) {
  app.add_option("--color", color, "auto, always or never")
      ->type_name("WHEN")
      ->group("Terminal");
}

void TerminalWords::AddProgress(CLI::App& app) {
  app.add_flag("--progress", progress,
               "show progress even if stderr is not a terminal")
      ->group("Terminal");
  AddQuiet(app);
}

void TerminalWords::AddQuiet(CLI::App& app) {
  app.add_flag("-q,--quiet", quiet, "print no summary and no notes")
      ->group("Terminal");
}

CLI::Option* TerminalWords::AddJson(CLI::App& app, const std::string& help) {
  return app.add_flag("--json", json, help);
}

TerminalOptions TerminalWords::Take() const {
  TerminalOptions options;
  options.color = Chosen<ColorMode>("choice for --color", color, kColorNames);
  options.progress = progress;
  options.quiet = quiet;
  return options;
}

void MappingWords::Add(CLI::App& app) {
  app.add_option("-s,--strategy", strategy,
                 "how modules are found; see: onnx-tag strategies")
      ->type_name("NAME")
      ->group("Mapping");
  app.add_option("--granularity", granularity,
                 "classes in tags: hf (default) omits most torch.nn\n"
                 "classes, torch_nn keeps all")
      ->type_name("NAME")
      ->group("Mapping");
  hierarchy_option =
      app.add_option("--hierarchy", hierarchy,
                     "module map recorded from the PyTorch model")
          ->type_name("FILE")
          ->group("Mapping");
  rules_option =
      app.add_option("--rules", rules, "JSON file with your own rules")
          ->type_name("FILE")
          ->group("Mapping");
  exceptions_option =
      app.add_option("--torch-nn-exceptions", exceptions,
                     "torch.nn classes that hf keeps: A,B; +A,B "
                     "adds\nto the default list")
          ->type_name("LIST")
          ->group("Mapping");
  app.add_option("--min-confidence", min_confidence,
                 "drop tags below low, medium, high or certain")
      ->type_name("LEVEL")
      ->group("Mapping");
  app.add_flag("--no-recipes", no_recipes, "do not consult the recipe book")
      ->group("Mapping");
  app.add_flag("--no-structure", no_structure,
               "leave nodes without evidence untagged; do not\nfind blocks in "
               "the graph alone")
      ->group("Mapping");
  AddRecordings(app);
}

void MappingWords::AddRecordings(CLI::App& app) {
  app.add_option("--trace", trace, "recorded run of the model")
      ->type_name("FILE")
      ->group("Mapping");
  app.add_option("--fx", fx, "recorded FX graph of the model")
      ->type_name("FILE")
      ->group("Mapping");
}

MappingOptions MappingWords::Take() const {
  MappingOptions options;
  std::vector<std::string_view> strategies;
  for (const StrategyInfo& info : Strategies()) strategies.push_back(info.name);
  options.strategy = strategies[Choose("strategy", strategy, strategies)];
  options.format.torch_nn =
      Choose("granularity", granularity, kGranularityNames) == 1;
  if (exceptions_option->count() > 0) {
    options.format.exceptions = ParseExceptions(exceptions);
  }
  options.min_confidence =
      Chosen<Confidence>("confidence level", min_confidence, kConfidenceNames);
  if (hierarchy_option->count() > 0 && hierarchy.empty()) {
    Fail(ErrorKind::kUsage, "--hierarchy: the file name is empty");
  }
  if (rules_option->count() > 0 && rules.empty()) {
    Fail(ErrorKind::kUsage, "--rules: the file name is empty");
  }
  options.hierarchy_file = hierarchy;
  options.trace_file = trace;
  options.fx_file = fx;
  options.rules_file = rules;
  options.recipes = !no_recipes;
  options.structure = !no_structure;
  return options;
}

void WriteWords::AddPath(CLI::App& app, const std::string& default_name) {
  path_option = app.add_option("-o,--output", options.path,
                               "output file; default " + default_name)
                    ->type_name("FILE")
                    ->group("Output");
}

void WriteWords::AddFolder(CLI::App& app) {
  folder_option = app.add_option("--out-dir", options.folder, "output folder")
                      ->type_name("DIR")
                      ->group("Output");
}

void WriteWords::AddCare(CLI::App& app) {
  app.add_flag("-f,--force", options.force,
               "replace files that onnx-tag did not write")
      ->group("Output");
  app.add_flag("--fsync", options.fsync, "wait until the output is on disk")
      ->group("Output");
  app.add_option("--data", data,
                 "external weights of an output in another folder:\n"
                 "keep the references, link or copy the files")
      ->type_name("CHOICE")
      ->group("Output");
  app.add_flag("-n,--dry-run", options.dry_run,
               "print what would be written, but write nothing")
      ->group("Output");
}

void WriteWords::Add(CLI::App& app, const std::string& default_name,
                     const std::string& follow) {
  AddPath(app, default_name);
  AddFolder(app);
  app.add_flag("--in-place", options.in_place, "replace the input file")
      ->group("Output");
  app.add_flag("--follow", options.follow,
               "with --in-place: follow a symbolic link" + follow)
      ->group("Output");
  AddCare(app);
}

void WriteWords::AddNew(CLI::App& app, const std::string& default_name) {
  AddPath(app, default_name);
  AddFolder(app);
  AddCare(app);
}

void WriteWords::AddNewFolder(CLI::App& app) {
  AddFolder(app);
  AddCare(app);
}

WriteOptions WriteWords::Take(bool recursive) const {
  WriteOptions result = options;
  if (!data.empty()) {
    constexpr std::array<DataChoice, 3> kChoices = {
        DataChoice::kKeep, DataChoice::kLink, DataChoice::kCopy};
    result.data = kChoices[Choose("choice for --data", data, kDataNames)];
  }
  if (path_option != nullptr && path_option->count() > 0 &&
      options.path.empty()) {
    Fail(ErrorKind::kUsage, "-o: the file name is empty");
  }
  if (folder_option->count() > 0 && options.folder.empty()) {
    Fail(ErrorKind::kUsage, "--out-dir: the folder name is empty");
  }
  const int places = !options.path.empty() + !options.folder.empty() +
                     (options.in_place ? 1 : 0);
  if (places > 1) {
    Fail(ErrorKind::kUsage, "use only one of -o, --out-dir and --in-place");
  }
  if (options.follow && !options.in_place && !recursive) {
    Fail(ErrorKind::kUsage, "--follow requires --in-place or --recursive");
  }
  return result;
}

void TagWords::AddOutput(CLI::App& app, TagOptions& options) {
  app.add_option("--keys", keys,
                 "metadata to write: tags (default), namespace,\n"
                 "layer_ann, class_hierarchy, source_line (file and\n"
                 "line of the Python code); separated by commas")
      ->type_name("LIST")
      ->group("Output");
  app.add_flag("--frames", frames,
               "all frames of tracebacks in the sidecar, not only\nthe line of "
               "the model's own code")
      ->group("Output");
  app.add_option("--sidecar", options.sidecar,
                 "sidecar (JSON); default MODEL.tags.json")
      ->type_name("FILE")
      ->group("Output");
  app.add_flag("--no-sidecar", options.no_sidecar, "do not write the sidecar")
      ->group("Output");
  app.add_flag("--sidecar-only", options.sidecar_only, "write only the sidecar")
      ->group("Output");
}

void TagWords::AddGates(CLI::App& app, TagOptions& options) {
  constexpr const char* kGates = "Gates (exit code 1 if one fails)";
  app.add_option(
         "--min-coverage", min_coverage,
         "minimum percentage of nodes tagged with\nconfidence medium or better")
      ->type_name("PCT")
      ->group(kGates);
  app.add_option("--require-module", options.require_modules,
                 "a module that must have nodes; repeatable;\n"
                 "* matches within a name, ** also matches dots")
      ->type_name("GLOB")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false)
      ->group(kGates);
  app.add_option("--max-untagged", max_untagged,
                 "maximum number of untagged nodes")
      ->type_name("N")
      ->group(kGates);
  app.add_flag("--count-structure", options.count_structure,
               "gates count blocks found in the graph alone;\notherwise these "
               "nodes count as untagged")
      ->group(kGates);
}

void TagWords::Take(const CLI::App& app, TagOptions& options) const {
  if (app.get_option_no_throw("--keys") != nullptr && app.count("--keys") > 0) {
    options.keys = ParseKeys(keys);
  }
  options.mapping.frames = frames;
  if (app.count("--min-coverage") > 0) {
    options.min_coverage = ParsePercent("--min-coverage", min_coverage);
  }
  if (app.count("--max-untagged") > 0) {
    options.max_untagged = ParseCount("--max-untagged", max_untagged);
  }
}

void TagSourceWords::Add(CLI::App& app) {
  app.add_option("--sidecar", options.sidecar,
                 "read the tags from this sidecar")
      ->type_name("FILE");
  app.add_flag("--remap", options.remap,
               "ignore existing tags and map the model");
  mapping.Add(app);
}

void TagSourceWords::AddStrict(CLI::App& app) {
  app.add_flag("--strict", options.strict,
               "refuse if the result rests on tags of low\nconfidence");
}

TagSourceOptions TagSourceWords::Take() const {
  TagSourceOptions result = options;
  result.mapping = mapping.Take();
  return result;
}

void ExpressionWords::Add(CLI::App& app, bool required) {
  app.add_option("EXPR", words,
                 "a query, such as: type=attention and layer=0;\n"
                 "see docs/query.md")
      ->required(required)
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

void ShapeWords::Add(CLI::App& app) {
  app.add_option("--shape", words,
                 "size of a dimension or of an input; repeatable")
      ->type_name("NAME=128");
}

std::vector<sizes::GivenShape> ShapeWords::Take() const {
  std::vector<sizes::GivenShape> shapes;
  for (const std::string& word : words) ParseShape(word, shapes);
  return shapes;
}

void BatchWords::Add(CLI::App& app, TagOptions& options) {
  constexpr const char* kGroup = "Several models";
  app.add_flag("-r,--recursive", options.inputs.recursive,
               "search folders and their subfolders for models")
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
        "files to use from folders; default *.onnx;\nrepeatable");
  globs("--exclude", options.inputs.exclude,
        "files and folders to skip; repeatable");
  app.add_option("--files-from", options.inputs.files_from,
                 "list of models, separated by newlines or NUL;\n- is stdin")
      ->type_name("FILE")
      ->group(kGroup);
  app.add_option("-j,--jobs", jobs,
                 "number of models processed at the same time;\n"
                 "default: the number of cores")
      ->type_name("N")
      ->group(kGroup);
  app.add_flag("--skip-current", options.skip_current,
               "skip models whose outputs are newer and were made\n"
               "with the same options")
      ->group(kGroup);
  app.add_flag("--keep-going,!--fail-fast", keep_going,
               "if a model fails, continue (default) or stop")
      ->group(kGroup);
  app.add_option("--format", format,
                 "output format: text, junit, github, sarif or json")
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
  options.format = Chosen<ReportFormat>("format", format, kReportFormatNames);
  options.fail_fast = app.count("--keep-going") > 0 && !keep_going;
}

void AddProfileWords(CLI::App& app, ProfileSource& profile) {
  app.add_option("--measure", profile.measure,
                 "time (default), a number of the kernel events such\n"
                 "as output_size, or a column of the table")
      ->type_name("NAME");
  app.add_option("--layers", profile.layers,
                 "TensorRT: the file of trtexec --exportLayerInfo")
      ->type_name("FILE");
}

void AddPlanWords(CLI::App& app, PlanWords& words,
                  const std::string& measures) {
  app.add_option("--budget", words.budget,
                 "the most bytes of a part: 500MB, 2GB, 1.5GiB")
      ->type_name("SIZE");
  app.add_option("--by", words.by, "what is compared: " + measures)
      ->type_name("MEASURE");
}

void AddModel(CLI::App& app, std::string& model, const std::string& help) {
  app.add_option("MODEL", model, help)->required()->type_name("");
}

double ParsePercent(std::string_view option, const std::string& word) {
  const std::optional<double> percent = ParseAllAsDouble(word);
  if (!percent || !std::isfinite(*percent) || *percent < 0 || *percent > 100) {
    Fail(ErrorKind::kUsage, "{}: '{}' is not a percentage from 0 to 100",
         option, word);
  }
  return *percent;
}

std::uint64_t ParseCount(std::string_view option, const std::string& word) {
  const auto count = ParseWhole<std::uint64_t>(word);
  if (!count) {
    Fail(ErrorKind::kUsage, "{}: '{}' is not a number", option, word);
  }
  return *count;
}

std::uint64_t ParseBytes(std::string_view option, const std::string& word) {
  std::size_t digits = 0;
  while (
      digits < word.size() &&
      ((word[digits] >= '0' && word[digits] <= '9') || word[digits] == '.')) {
    ++digits;
  }
  std::string unit = word.substr(digits);
  std::erase(unit, ' ');
  double factor = unit.empty() || unit == "B" ? 1 : 0;
  double decimal = 1;
  double binary = 1;
  for (const char letter : std::string_view("kMGT")) {
    decimal *= 1000;
    binary *= 1024;
    std::string name(1, letter);
    if (unit == name || unit == name + "B") factor = decimal;
    if (letter == 'k') name = "K";
    if (unit == name || unit == name + "B") factor = decimal;
    if (unit == name + "i" || unit == name + "iB") factor = binary;
  }
  const std::optional<double> number = ParseAllAsDouble(word.substr(0, digits));
  if (!number || factor == 0 || *number <= 0 || *number * factor > 9e18) {
    Fail(ErrorKind::kUsage,
         "{}: '{}' is not a size: 500MB, 2GB, 1.5GiB or a number of bytes",
         option, word);
  }
  return static_cast<std::uint64_t>(*number * factor);
}

}  // namespace onnx_tag::cli
