#include "app/cli/options.h"

#include <array>

#include "base/parse_number.h"
#include "base/text.h"
#include "onnx_tag/error.h"

namespace onnx_tag::cli {
namespace {

constexpr std::array<std::string_view, 2> kGranularityNames = {"hf",
                                                               "torch_nn"};
constexpr std::array<std::string_view, 3> kDataNames = {"keep", "link", "copy"};
constexpr std::array<std::string_view, 3> kColorNames = {"auto", "always",
                                                         "never"};
constexpr std::array<std::string_view, 6> kKeyNames = {
    "tags",        "namespace",  "layer_ann", "class_hierarchy",
    "name_scopes", "source_line"};

std::vector<std::string_view> StrategyNames() {
  std::vector<std::string_view> names;
  for (const StrategyInfo& info : Strategies()) names.push_back(info.name);
  return names;
}

std::int64_t ParseSize(std::string_view word) {
  const auto size = ParseWhole<std::int64_t>(word);
  if (!size || *size < 0 || *size > (std::int64_t{1} << 62)) {
    Fail(ErrorKind::kUsage,
         "--shape: '{}' is not a size: a whole number from 0 to 2^62", word);
  }
  return *size;
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
    if (number.find("..") != std::string_view::npos) {
      Fail(ErrorKind::kUsage,
           "--shape: '{}' is a range, but a dimension has one size\n  a report "
           "has a slider for each dimension: onnx-tag report MODEL",
           part);
    }
    shapes.back().dims.push_back(ParseSize(number));
  }
}

// "tags,namespace" replaces the default choice.
KeyChoice ParseKeys(std::string_view, const std::string& list) {
  KeyChoice keys;
  bool* const choices[] = {&keys.tags, &keys.name_space, &keys.layer_ann,
                           // Neither list is read without the other.
                           &keys.class_hierarchy, &keys.class_hierarchy,
                           &keys.source_line};
  keys.tags = false;
  for (const std::string_view word : Split(list, ',')) {
    *choices[Choose("key", word, kKeyNames)] = true;
  }
  return keys;
}

// "A,B" replaces the default list, "+A,B" adds to it, "" empties it.
std::vector<std::string> ParseExceptions(std::string_view,
                                         const std::string& list) {
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

std::size_t ParseJobs(std::string_view option, const std::string& word) {
  constexpr std::size_t kMostJobs = 256;
  const std::uint64_t jobs = ParseCount(option, word);
  if (jobs == 0 || jobs > kMostJobs) {
    Fail(ErrorKind::kUsage, "-j: {} is not a number from 1 to {}", jobs,
         kMostJobs);
  }
  return jobs;
}

void AddPath(Parser& parser, const std::string& default_name,
             WriteOptions& options) {
  parser.Group("Output");
  parser.Text("-o,--output", options.path, "FILE",
              "output file; default " + default_name);
}

void AddFolder(Parser& parser, WriteOptions& options) {
  parser.Group("Output");
  parser.Text("--out-dir", options.folder, "DIR", "output folder");
}

void AddCare(Parser& parser, WriteOptions& options) {
  parser.Flag("-f,--force", options.force,
              "replace files that onnx-tag did not write");
  parser.Flag("--fsync", options.fsync, "wait until the output is on disk");
  parser.OneOf("--data", options.data, "CHOICE",
               "external weights of an output in another folder:\n"
               "keep the references, link or copy the files",
               kDataNames, "choice for --data");
  parser.Flag("-n,--dry-run", options.dry_run,
              "print what would be written, but write nothing");
  parser.Group("");
}

}  // namespace

Format Printing::format() const {
  if ((tsv || tsv_safe) && json) {
    Fail(ErrorKind::kUsage, "use only one of --tsv and --json");
  }
  return tsv_safe ? Format::kTsvSafe
         : tsv    ? Format::kTsv
         : json   ? Format::kJson
                  : Format::kText;
}

void AddColor(Parser& parser, Printing& printing) {
  parser.Group("Terminal");
  parser.OneOf("--color", printing.terminal.color, "WHEN",
               "auto, always or never", kColorNames, "choice for --color");
  parser.Group("");
}

void AddQuiet(Parser& parser, Printing& printing) {
  parser.Group("Terminal");
  parser.Flag("-q,--quiet", printing.terminal.quiet,
              "print no summary and no notes");
  parser.Group("");
}

void AddProgress(Parser& parser, Printing& printing) {
  parser.Group("Terminal");
  parser.Flag("--progress", printing.terminal.progress,
              "show progress even if stderr is not a terminal");
  AddQuiet(parser, printing);
}

void AddJson(Parser& parser, Printing& printing, std::string help) {
  parser.Flag("--json", printing.json, std::move(help));
}

void AddTsv(Parser& parser, Printing& printing, std::string help) {
  parser.Flag("--tsv", printing.tsv, std::move(help));
  parser.Flag("--tsv-safe", printing.tsv_safe,
              "the same for a spreadsheet: an apostrophe before\n"
              "cells that it would run");
}

void AddTerminalJson(Parser& parser, Printing& printing, std::string help) {
  parser.Group("Terminal");
  AddJson(parser, printing, std::move(help));
  parser.Group("");
}

void AddModel(Parser& parser, std::string help, std::string& model) {
  parser.Argument("MODEL", model, std::move(help));
}

void AddExpression(Parser& parser, bool required, std::string& query) {
  parser.Joined("EXPR", query,
                "a query, such as: type=attention and layer=0;\n"
                "see docs/reference/query.md",
                required);
}

void AddMapping(Parser& parser, MappingOptions& options) {
  parser.Group("Mapping");
  parser.OneOf("-s,--strategy", options.strategy, "NAME",
               "how modules are found; see: onnx-tag strategies",
               StrategyNames(), "strategy");
  parser.OneOf("--granularity", options.format.torch_nn, "NAME",
               "classes in tags: hf (default) omits most torch.nn\n"
               "classes, torch_nn keeps all",
               kGranularityNames, "granularity");
  parser.Text("--recording", options.recording_file, "FILE",
              "recording of the PyTorch model: its modules,\n"
              "calls, operations and source lines");
  parser.Text("--hierarchy", options.hierarchy_file, "FILE",
              "only the modules and calls of a recording, or a\n"
              "module map of another tool");
  parser.Text("--rules", options.rules_file, "FILE",
              "JSON file with your own rules");
  parser.Value("--torch-nn-exceptions", options.format.exceptions, "LIST",
               "torch.nn classes that hf keeps: A,B; +A,B adds\n"
               "to the default list",
               ParseExceptions);
  parser.OneOf("--min-confidence", options.min_confidence, "LEVEL",
               "drop tags below low, medium, high or certain", kConfidenceNames,
               "confidence level");
  parser.Flag("!--no-recipes", options.recipes,
              "do not consult the recipe book");
  parser.Flag("!--no-catalogue", options.catalogue,
              "give no classes that only the catalogue of model\n"
              "libraries knows");
  parser.Flag("!--no-structure", options.structure,
              "leave nodes without evidence untagged; do not\n"
              "find blocks in the graph alone");
  parser.Text("--trace", options.trace_file, "FILE",
              "recorded run of the model, with its modules");
  parser.Text("--fx", options.fx_file, "FILE",
              "recorded FX graph of the model");
  parser.Group("");
}

void AddSource(Parser& parser, TagSourceOptions& options) {
  parser.Text("--sidecar", options.sidecar, "FILE",
              "read the tags from this sidecar");
  parser.Flag("--remap", options.remap,
              "ignore existing tags and map the model");
  AddMapping(parser, options.mapping);
}

void AddStrict(Parser& parser, TagSourceOptions& options) {
  parser.Flag("--strict", options.strict,
              "refuse if the result rests on tags of low\nconfidence");
}

void AddShapes(Parser& parser, std::vector<sizes::GivenShape>& shapes) {
  parser.Several("--shape", "NAME=128",
                 "size of a dimension or of an input; repeatable", false,
                 [&shapes](const Words& words) {
                   for (const std::string& word : words) {
                     ParseShape(word, shapes);
                   }
                 });
}

void AddNewFolder(Parser& parser, WriteOptions& options) {
  AddFolder(parser, options);
  AddCare(parser, options);
}

void AddNew(Parser& parser, const std::string& default_name,
            WriteOptions& options) {
  AddPath(parser, default_name, options);
  AddNewFolder(parser, options);
}

void AddWrite(Parser& parser, const std::string& default_name,
              const std::string& follow, WriteOptions& options) {
  AddPath(parser, default_name, options);
  AddFolder(parser, options);
  parser.Flag("--in-place", options.in_place, "replace the input file");
  parser.Flag("--follow", options.follow,
              "with --in-place: follow a symbolic link" + follow);
  AddCare(parser, options);
}

void CheckWrite(const WriteOptions& options, bool recursive) {
  const int places = !options.path.empty() + !options.folder.empty() +
                     (options.in_place ? 1 : 0);
  if (places > 1) {
    Fail(ErrorKind::kUsage, "use only one of -o, --out-dir and --in-place");
  }
  if (options.follow && !options.in_place && !recursive) {
    Fail(ErrorKind::kUsage, "--follow requires --in-place or --recursive");
  }
}

std::string EitherOf(std::span<const std::string_view> words,
                     std::size_t width) {
  std::string text;
  std::size_t line = 0;  // where it begins
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t left = words.size() - i;
    std::string word(words[i]);
    if (left > 2) word += ',';
    if (left == 2) word.append(" or ").append(words[++i]);
    const bool fits =
        width == 0 || text.size() - line + 1 + word.size() <= width;
    if (!text.empty()) text += fits ? ' ' : '\n';
    if (!fits) line = text.size();
    text += word;
  }
  return text;
}

void AddTagOutput(Parser& parser, TagOptions& options) {
  parser.Group("Output");
  parser
      .Value("--keys", options.keys, "LIST",
             "metadata to write: tags (default), namespace,\n"
             "layer_ann, class_hierarchy, source_line (file and\n"
             "line of the Python code); separated by commas",
             ParseKeys)
      .words.assign(kKeyNames.begin(), kKeyNames.end());
  parser.Flag("--frames", options.mapping.frames,
              "all frames of tracebacks in the sidecar, not only\n"
              "the line of the model's own code");
  parser.Flag("--rename-nodes", options.rename_nodes,
              "name nodes by their module: <module>/<Op>; strip\n"
              "gives the old names back");
  parser.Text("--names", options.names, "FILE",
              "write old and new names of nodes, as JSON lines");
  parser.Text("--sidecar", options.sidecar, "FILE",
              "sidecar (JSON); default MODEL.tags.json");
  parser.Flag("--no-sidecar", options.no_sidecar, "do not write the sidecar");
  parser.Flag("--sidecar-only", options.sidecar_only, "write only the sidecar");
  parser.Group("");
}

void AddGates(Parser& parser, TagOptions& options) {
  parser.Group("Gates (exit code 1 if one fails)");
  parser.Value("--min-coverage", options.min_coverage, "PCT",
               "minimum sure coverage: the percentage of nodes\n"
               "tagged with confidence medium or better",
               ParsePercent);
  parser.Repeated("--require-module", options.require_modules, "GLOB",
                  "a module that must have nodes; repeatable;\n"
                  "* matches within a name, ** also matches dots");
  parser.Value("--max-untagged", options.max_untagged, "N",
               "maximum number of untagged nodes", ParseCount);
  parser.Flag("--count-structure", options.count_structure,
              "gates count blocks found in the graph alone;\n"
              "otherwise these nodes count as untagged");
  parser.Group("");
}

void AddBatch(Parser& parser, TagOptions& options) {
  parser.Group("Several models");
  parser.Flag("-r,--recursive", options.inputs.recursive,
              "search folders and their subfolders for models");
  parser.Repeated("--include", options.inputs.include, "GLOB",
                  "files to use from folders; default *.onnx;\nrepeatable");
  parser.Repeated("--exclude", options.inputs.exclude, "GLOB",
                  "files and folders to skip; repeatable");
  parser.Text("--files-from", options.inputs.files_from, "FILE",
              "list of models, separated by newlines or NUL;\n- is stdin");
  parser.Value("-j,--jobs", options.jobs, "N",
               "number of models processed at the same time;\n"
               "default: the number of cores",
               ParseJobs);
  parser.Flag("--skip-current", options.skip_current,
              "skip models whose outputs are newer and were made\n"
              "with the same options");
  parser.Flag("!--keep-going,--fail-fast", options.fail_fast,
              "if a model fails, continue (default) or stop");
  parser.Group("Terminal");
  parser.OneOf("--format", options.format, "NAME",
               "output format: text, junit, github, sarif or json",
               kReportFormatNames, "format");
  parser.Group("");
}

void AddProfileSource(Parser& parser, ProfileSource& profile) {
  parser.Text("--measure", profile.measure, "NAME",
              "time (default), a number of the kernel events such\n"
              "as output_size, or a column of the table");
  parser.Text("--layers", profile.layers, "FILE",
              "TensorRT: the file of trtexec --exportLayerInfo");
  parser.Text("--op-trace", profile.op_trace, "FILE",
              "QNN: its trace of operators (qnn_op_trace.json)");
}

void AddPlan(Parser& parser, const std::string& measures,
             std::optional<std::uint64_t>& budget, PlanBy& by) {
  parser.Value("--budget", budget, "SIZE",
               "maximum size of a part: 500MB, 2GB, 1.5GiB", ParseBytes);
  parser.OneOf("--by", by, "MEASURE", "measure to compare: " + measures,
               kPlanByNames, "measure for --by");
}

}  // namespace onnx_tag::cli
