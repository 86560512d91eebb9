// Converts the values of options from text. Each function throws Error(kUsage)
// with the option, the invalid word and the nearest valid word.
#ifndef ONNX_TAG_CLI_OPTION_VALUES_H_
#define ONNX_TAG_CLI_OPTION_VALUES_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "commands/options.h"
#include "io/terminal.h"

namespace onnx_tag::cli {

inline constexpr std::array<std::string_view, 2> kGranularityNames = {
    "hf", "torch_nn"};
inline constexpr std::array<std::string_view, 3> kDataNames = {"keep", "link",
                                                               "copy"};
inline constexpr std::array<std::string_view, 4> kReportFormatNames = {
    "text", "junit", "github", "json"};
inline constexpr std::array<std::string_view, 3> kDiffFormatNames = {
    "text", "markdown", "json"};
inline constexpr std::array<std::string_view, 3> kColorNames = {
    "auto", "always", "never"};
inline constexpr std::array<std::string_view, 4> kKeyNames = {
    "tags", "namespace", "layer_ann", "class_hierarchy"};
// Data types of TensorRT.
inline constexpr std::array<std::string_view, 5> kPrecisionNames = {
    "float32", "float16", "bfloat16", "int8", "int32"};

// ", did you mean 'show'?", or "" if no word is similar.
std::string DidYouMean(std::string_view word,
                       std::span<const std::string_view> words);

std::string ParseStrategy(const std::string& word);
Confidence ParseConfidence(const std::string& word);
// True for torch_nn.
bool ParseGranularity(const std::string& word);
DataChoice ParseData(const std::string& word);
// `--format json` is the same as `--json`: it sets `json`.
ReportFormat ParseFormat(const std::string& word, bool& json);
// True for markdown.
bool ParseDiffFormat(const std::string& word, bool& json);
ProfileKey ParseProfileKey(const std::string& word);
ProfileFormat ParseProfileFormat(const std::string& word);
ColorMode ParseColor(const std::string& word);

// "tags,namespace" replaces the default choice.
KeyChoice ParseKeys(const std::string& list);

// "A,B" replaces the default list, "+A,B" adds to it, "" empties it.
std::vector<std::string> ParseExceptions(const std::string& list);

SelectTool ParseTool(const std::string& word);
SelectFormat ParseSelectFormat(const std::string& word);
ExportFormat ParseExportFormat(const std::string& word);
// A device of ONNX Runtime's layer assignment: cpu, gpu:1,
// QNNExecutionProvider.
std::string ParseDevice(const std::string& word);
// A data type of TensorRT.
std::string ParsePrecision(const std::string& word);

// 0 to 100.
double ParsePercent(std::string_view option, const std::string& word);
std::uint64_t ParseCount(std::string_view option, const std::string& word);

}  // namespace onnx_tag::cli

#endif  // ONNX_TAG_CLI_OPTION_VALUES_H_
