// What a batch says: of each model, and at the end.
#ifndef ONNX_TAG_COMMANDS_CHECK_BATCH_REPORT_H_
#define ONNX_TAG_COMMANDS_CHECK_BATCH_REPORT_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "commands/options.h"
#include "commands/write/tag_file.h"
#include "io/terminal.h"

namespace onnx_tag {

enum class FileStatus { kOk, kFindings, kCurrent, kFailed, kNotRun };
constexpr std::array<std::string_view, 5> kFileStatusNames = {
    "ok", "findings", "current", "failed", "not_run"};

struct FileResult {
  std::size_t index = 0;  // in the order of the inputs
  std::string path;
  FileStatus status = FileStatus::kNotRun;
  TagReport report;
  std::string error;  // of one that failed; its own lines start with "\n  "
  ExitCode exit_code = ExitCode::kOk;  // of a run with this model alone
  double seconds = 0;
};

struct BatchTotals {
  std::array<std::uint64_t, kFileStatusNames.size()> files = {};
  Coverage coverage;
  // Files without any tag, by reason.
  std::map<std::string, std::uint64_t> without_tags;
  double seconds = 0;

  void Add(const FileResult& result);
  std::uint64_t Of(FileStatus status) const {
    return files[static_cast<std::size_t>(status)];
  }
  std::uint64_t all_files() const;
  ExitCode exit_code() const;
};

class BatchReporter {
 public:
  virtual ~BatchReporter() = default;
  // Whether File() wants the models in the order of the inputs instead of that
  // in which they end.
  virtual bool in_order() const { return true; }
  // Not for models that were not run.
  virtual void File(const FileResult& result) = 0;
  virtual void End(const BatchTotals& totals) = 0;
};

// The one that `options` ask for; it prints to `terminal`.
std::unique_ptr<BatchReporter> MakeReporter(const TagOptions& options,
                                            Terminal& terminal);

// --format junit, --format github
std::unique_ptr<BatchReporter> MakeJunitReporter(Terminal& terminal);
std::unique_ptr<BatchReporter> MakeGithubReporter(Terminal& terminal);

// "3 files: 2 ok, 1 failed; 8 nodes, 5 tagged (62.5 %): 5 certain; 3 untagged"
std::string TotalsText(const BatchTotals& totals);

// "bert.onnx: 5 nodes, ... 0 untagged; wrote out/bert.tagged.onnx"
std::string FileLine(const FileResult& result);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_CHECK_BATCH_REPORT_H_
