// The words that options take, turned into values. Each fails with the option,
// the word and the nearest one that would do.
#ifndef ONNX_TAG_CLI_OPTION_VALUES_H_
#define ONNX_TAG_CLI_OPTION_VALUES_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "commands/options.h"
#include "io/terminal.h"

namespace onnx_tag::cli {

// ", did you mean 'show'?", or "" where no word is near.
std::string DidYouMean(std::string_view word,
                       std::span<const std::string_view> words);

std::string ParseStrategy(const std::string& word);
Confidence ParseConfidence(const std::string& word);
// True for torch_nn.
bool ParseGranularity(const std::string& word);
DataChoice ParseData(const std::string& word);
ReportFormat ParseFormat(const std::string& word);
// True for markdown.
bool ParseDiffFormat(const std::string& word);
ProfileKey ParseProfileKey(const std::string& word);
ProfileFormat ParseProfileFormat(const std::string& word);
ColorMode ParseColor(const std::string& word);

// "tags,namespace": replaces the default choice.
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
