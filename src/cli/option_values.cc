#include "cli/option_values.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "onnx_tag/error.h"

namespace onnx_tag::cli {
namespace {

std::string Join(std::span<const std::string_view> words) {
  std::string joined;
  for (const std::string_view word : words) {
    if (!joined.empty()) joined += ", ";
    joined += word;
  }
  return joined;
}

// The position of `word` in `words`.
std::size_t Choose(std::string_view what, std::string_view word,
                   std::span<const std::string_view> words) {
  const auto at = std::find(words.begin(), words.end(), word);
  if (at != words.end()) {
    return static_cast<std::size_t>(at - words.begin());
  }
  const std::string near = DidYouMean(word, words);
  Fail(ErrorKind::kUsage, "unknown {} '{}'{}", what, Printable(word),
       near.empty() ? fmt::format("\n  valid values: {}", Join(words)) : near);
}

}  // namespace

std::string DidYouMean(std::string_view word,
                       std::span<const std::string_view> words) {
  std::string_view near = NearestWord(word, words);
  // A prefix has a large edit distance, but it is clear.
  if (near.empty() && word.size() >= 3) {
    const auto at = std::find_if(words.begin(), words.end(), [&](auto whole) {
      return whole.starts_with(word);
    });
    if (at != words.end()) near = *at;
  }
  return near.empty() ? "" : fmt::format(", did you mean '{}'?", near);
}

std::string ParseStrategy(const std::string& word) {
  std::vector<std::string_view> names;
  for (const StrategyInfo& strategy : Strategies()) {
    names.push_back(strategy.name);
  }
  return std::string(names[Choose("strategy", word, names)]);
}

Confidence ParseConfidence(const std::string& word) {
  return static_cast<Confidence>(
      Choose("confidence level", word, kConfidenceNames));
}

bool ParseGranularity(const std::string& word) {
  return Choose("granularity", word, kGranularityNames) == 1;
}

DataChoice ParseData(const std::string& word) {
  constexpr std::array<DataChoice, 3> kChoices = {
      DataChoice::kKeep, DataChoice::kLink, DataChoice::kCopy};
  return kChoices[Choose("choice for --data", word, kDataNames)];
}

ReportFormat ParseFormat(const std::string& word, bool& json) {
  constexpr std::array<ReportFormat, 4> kFormats = {
      ReportFormat::kText, ReportFormat::kJunit, ReportFormat::kGithub,
      ReportFormat::kText};
  const std::size_t choice = Choose("format", word, kReportFormatNames);
  json |= kReportFormatNames[choice] == "json";
  return kFormats[choice];
}

bool ParseDiffFormat(const std::string& word, bool& json) {
  const std::size_t choice = Choose("format", word, kDiffFormatNames);
  json |= kDiffFormatNames[choice] == "json";
  return kDiffFormatNames[choice] == "markdown";
}

ProfileKey ParseProfileKey(const std::string& word) {
  return static_cast<ProfileKey>(
      Choose("choice for --by", word, kProfileKeyNames));
}

ProfileFormat ParseProfileFormat(const std::string& word) {
  return static_cast<ProfileFormat>(
      Choose("format", word, kProfileFormatNames));
}

ColorMode ParseColor(const std::string& word) {
  constexpr std::array<ColorMode, 3> kModes = {
      ColorMode::kAuto, ColorMode::kAlways, ColorMode::kNever};
  return kModes[Choose("choice for --color", word, kColorNames)];
}

KeyChoice ParseKeys(const std::string& list) {
  KeyChoice keys;
  bool* const choices[] = {&keys.tags, &keys.name_space, &keys.layer_ann,
                           &keys.class_hierarchy};
  keys.tags = false;
  for (const std::string_view word : Split(list, ',')) {
    *choices[Choose("key", word, kKeyNames)] = true;
  }
  return keys;
}

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

SelectTool ParseTool(const std::string& word) {
  return static_cast<SelectTool>(
      Choose("tool for --for", word, kSelectToolNames));
}

SelectFormat ParseSelectFormat(const std::string& word) {
  return static_cast<SelectFormat>(Choose("format", word, kSelectFormatNames));
}

ExportFormat ParseExportFormat(const std::string& word) {
  return static_cast<ExportFormat>(
      Choose("format for --to", word, kExportFormatNames));
}

std::string ParseDevice(const std::string& word) {
  // ONNX Runtime's setting trims blanks and uses these characters as
  // separators.
  if (word.empty() || word.find_first_of("(),;= \t\n") != std::string::npos) {
    Fail(ErrorKind::kUsage,
         "--device: '{}' is not a valid device\n  use cpu, gpu, cuda, npu, "
         "gpu:1, or the name of an execution provider",
         Printable(word));
  }
  return word;
}

std::string ParsePrecision(const std::string& word) {
  return std::string(
      kPrecisionNames[Choose("precision", word, kPrecisionNames)]);
}

double ParsePercent(std::string_view option, const std::string& word) {
  double percent = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, percent);
  if (error != std::errc() || stop != end || !std::isfinite(percent) ||
      percent < 0 || percent > 100) {
    Fail(ErrorKind::kUsage, "{}: '{}' is not a percentage from 0 to 100",
         option, Printable(word));
  }
  return percent;
}

std::uint64_t ParseCount(std::string_view option, const std::string& word) {
  std::uint64_t count = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, count);
  if (error != std::errc() || stop != end) {
    Fail(ErrorKind::kUsage, "{}: '{}' is not a number", option,
         Printable(word));
  }
  return count;
}

}  // namespace onnx_tag::cli
