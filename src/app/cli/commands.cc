// The functions that src/data/commands.txt names: what options make of their
// words, and which options go together.
#include "app/commands/commands.h"

#include <algorithm>
#include <array>

#include "app/cli/command_table.h"
#include "base/parse_number.h"
#include "base/text.h"
#include "onnx_tag/error.h"

namespace onnx_tag::cli {
namespace {

using WordList = std::initializer_list<std::string_view>;

std::vector<std::string_view> StrategyNames() { return NamesOf(Strategies()); }

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

constexpr std::array<std::string_view, 6> kKeyNames = {
    "tags",        "namespace",  "layer_ann", "class_hierarchy",
    "name_scopes", "source_line"};

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

// "layer,op"
std::vector<std::string> ParseByKeys(std::string_view,
                                     const std::string& list) {
  const auto words = Split(list, ',');
  return {words.begin(), words.end()};
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

std::uint32_t ParseDepth(std::string_view option, const std::string& word) {
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(ParseCount(option, word), 1'000'000));
}

// ---------------------------------------------------------------- conditions
bool HasPlace(const WriteOptions& options) {
  return options.in_place || !options.path.empty() || !options.folder.empty();
}

std::string_view NameOf(ReportFormat format) {
  return kReportFormatNames[Index(format)];
}

// The model or its sidecar goes to standard output.
bool UsesOutput(const TagOptions& options) {
  return options.write.path == "-" || options.sidecar == "-";
}

bool AreSeveral(const TagOptions& options) {
  return options.models.size() > 1 || options.inputs.recursive ||
         !options.inputs.files_from.empty();
}

bool IsPiped(const TagOptions& options) {
  return std::find(options.models.begin(), options.models.end(), "-") !=
         options.models.end();
}

// Of what a command can do, how much is asked for.
int WaysOf(const Parser& parser, const SplitOptions& options) {
  return (options.at.empty() ? 0 : 1) + (parser.Count("--parts") > 0 ? 1 : 0) +
         (options.budget ? 1 : 0);
}

// ---------------------------------------------------------------- checks
// --json and --format json are the same.
void MergeJson(const Parser&, auto& options, Printing& printing) {
  if (printing.json) options.format = ReportFormat::kJson;
  printing.json = options.format == ReportFormat::kJson;
}

void CheckTransfer(const Parser&, TransferOptions& options, const Printing&) {
  options.tag.models = {options.to};
  // --min-confidence drops tags after the transfer, not before it.
  options.source.mapping = options.tag.mapping;
  options.source.mapping.min_confidence = Confidence::kLow;
  // Ways to map are for TO, and for FROM if it has no tags.
  options.source.facts_only = true;
}

// ---------------------------------------------------------------- select
// A device of ONNX Runtime's layer assignment: cpu, gpu:1,
// QNNExecutionProvider. ONNX Runtime's setting trims blanks and uses these
// characters as separators.
void CheckDevice(const std::string& word) {
  if (!word.empty() && word.find_first_of("(),;= \t\n") == std::string::npos) {
    return;
  }
  Fail(ErrorKind::kUsage,
       "--device: '{}' is not a valid device\n  use cpu, gpu, cuda, npu, "
       "gpu:1, or the name of an execution provider",
       word);
}

// Refuses a format or an option that is for other tools.
void CheckFor(std::string_view tool, std::string_view option,
              std::string_view row, std::string_view word) {
  if (FindSelectTool(tool).Has(row, word)) return;
  std::vector<std::string_view> tools;
  for (const SelectTool& other : SelectTools()) {
    if (other.Has(row, word)) tools.push_back(other.name);
  }
  Fail(ErrorKind::kUsage, "{} requires --for {}", option, EitherOf(tools));
}

void CheckSelect(const Parser& parser, SelectOptions& options,
                 Printing& printing) {
  // With a budget and without a query, every module counts.
  if (options.query.empty()) options.query = "not untagged";
  if (parser.Count("--format") == 0) {
    // The format that is most common for the tool.
    options.format =
        printing.json
            ? "json"
            : Split(FindSelectTool(options.tool).Text("formats"), ' ').front();
  }
  printing.json = false;
  // "fp16" is "float16".
  if (options.precision.starts_with("fp")) {
    options.precision.replace(0, 2, "float");
  }
  CheckDevice(options.device);
  for (const std::string_view option :
       {"--device", "--budget", "--exclude", "--precision", "--bits",
        "--group-size", "--type", "--weights"}) {
    if (parser.Count(option) == 0) continue;
    CheckFor(options.tool, option, "options", option);
  }
  CheckFor(options.tool, "--format " + options.format, "formats",
           options.format);
}

// ---------------------------------------------------------------- others
void CheckProfile(const Parser&, ProfileOptions& options, Printing& printing) {
  // What is no key, and not like one, is a column of the table.
  std::vector<std::string_view> keys = RowKeyNames();
  keys.push_back("provider");
  if (std::find(keys.begin(), keys.end(), options.by) == keys.end() &&
      !NearestWord(options.by, keys).empty()) {
    Choose("choice for --by", options.by, keys);
  }
  if (!printing.json) {
    printing.json = printing.word == "json";
    if (printing.word == "folded") options.stacks = StackFormat::kFolded;
    if (printing.word == "speedscope") {
      options.stacks = StackFormat::kSpeedscope;
    }
  }
}

void CheckFilt(const Parser&, FiltOptions& options, Printing& printing) {
  options.json |= std::exchange(printing.json, false);
}

void CheckDiff(const Parser&, const DiffOptions&, Printing& printing) {
  printing.json |= printing.word == "json";
  printing.markdown = printing.word == "markdown";
}

}  // namespace

#include "generated/command_rows.inc"

}  // namespace onnx_tag::cli
