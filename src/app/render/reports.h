// What a run says of each of its files and at the end: text for people, JSON
// for programs, and the formats that CI shows.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/render/result.h"
#include "file/io/terminal.h"

namespace onnx_tag {

enum class ReportFormat { kText, kJunit, kGithub, kJson, kSarif };
constexpr std::array<std::string_view, 5> kReportFormatNames = {
    "text", "junit", "github", "json", "sarif"};
// Formats that a Reporter writes, and no Result.
constexpr bool IsForCi(ReportFormat format) {
  return format != ReportFormat::kText && format != ReportFormat::kJson;
}

enum class FileStatus { kOk, kFindings, kCurrent, kFailed, kNotRun };
constexpr std::array<std::string_view, 5> kFileStatusNames = {
    "ok", "findings", "current", "failed", "not_run"};

struct Finding {
  std::string rule;   // "stale-tag"; empty: a gate of `tag`
  std::string where;  // "#17 MatMul /encoder/MatMul"; empty: the whole file
  std::string message;

  // "#17 MatMul: the tag names ... [stale-tag]"
  std::string Text() const;
};

struct FileReport {
  std::size_t index = 0;  // in the order of the inputs
  std::string path;
  FileStatus status = FileStatus::kNotRun;
  std::string line;      // what became of it: "5 nodes, ...; wrote out.onnx"
  Datum::Members facts;  // the same for programs
  std::vector<std::string> warnings;
  std::vector<Finding> findings;
  std::string error;  // of one that failed; its own lines start with "\n  "
  ExitCode exit_code = ExitCode::kOk;  // of a run with this file alone
  double seconds = 0;
};

struct RunTotals {
  std::array<std::uint64_t, kFileStatusNames.size()> files = {};
  std::string line;  // after the counts of files; may have further lines
  Datum::Members facts;
  double seconds = 0;

  std::uint64_t Of(FileStatus status) const {
    return files[static_cast<std::size_t>(status)];
  }
  std::uint64_t all_files() const;
  ExitCode exit_code() const;
};

class Reporter {
 public:
  virtual ~Reporter() = default;
  // Whether File() wants the files in the order of the inputs instead of that
  // in which they end.
  virtual bool in_order() const { return true; }
  // Not for files that were not run.
  virtual void File(const FileReport& report) = 0;
  virtual void End(const RunTotals& totals) = 0;
};

// Reports the run of a command on one file. `more` follows the line at the end.
void ReportAlone(const std::string& path, const std::string& line,
                 const Datum::Members& facts,
                 const std::vector<Finding>& findings, std::string_view more,
                 ReportFormat format, Terminal& terminal);

// It prints to `terminal`. With `data_on_stdout`, standard output is for other
// data, and text goes to standard error.
std::unique_ptr<Reporter> MakeReporter(ReportFormat format, Terminal& terminal,
                                       bool data_on_stdout = false);

}  // namespace onnx_tag
