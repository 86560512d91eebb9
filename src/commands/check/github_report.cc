// --format github: workflow commands, which GitHub shows at the file they name.
//
// Nothing else of a model is printed: a name like "::set-env" at the start of
// a line would be a command, too.
#include <fmt/core.h>

#include "base/text.h"
#include "commands/check/batch_report.h"

namespace onnx_tag {
namespace {

// The message of a command: a line break would end it.
std::string CommandData(std::string_view text) {
  std::string data;
  for (const char c : text) {
    switch (c) {
      case '%':
        data += "%25";
        break;
      case '\r':
        data += "%0D";
        break;
      case '\n':
        data += "%0A";
        break;
      default:
        data += c;
    }
  }
  return data;
}

// A property, which also ends at a colon or a comma.
std::string CommandProperty(std::string_view text) {
  std::string property;
  for (const char c : CommandData(text)) {
    if (c == ':') {
      property += "%3A";
    } else if (c == ',') {
      property += "%2C";
    } else {
      property += c;
    }
  }
  return property;
}

class GithubReporter : public BatchReporter {
 public:
  explicit GithubReporter(Terminal& terminal) : terminal_(terminal) {}

  void File(const FileResult& result) override {
    for (const std::string& warning : result.report.warnings) {
      Say("warning", result.path, "weights", warning);
    }
    const TagReport& report = result.report;
    for (std::size_t i = 0; i < report.findings.size(); ++i) {
      Say("error", result.path,
          i < report.finding_titles.size() ? report.finding_titles[i]
                                           : "gate failed",
          report.findings[i]);
    }
    if (result.status == FileStatus::kFailed) {
      Say("error", result.path, "not tagged", result.error);
    }
  }

  void End(const BatchTotals& totals) override {
    terminal_.EndProgress();
    terminal_.Out("onnx-tag: " + TotalsText(totals) + "\n");
  }

 private:
  void Say(std::string_view command, const std::string& path,
           std::string_view title, const std::string& message) {
    terminal_.Out(fmt::format("::{} file={},title=onnx-tag%3A {}::{}\n",
                              command, CommandProperty(Printable(path, 4000)),
                              title, CommandData(message)));
    terminal_.Flush();
  }

  Terminal& terminal_;
};

}  // namespace

std::unique_ptr<BatchReporter> MakeGithubReporter(Terminal& terminal) {
  return std::make_unique<GithubReporter>(terminal);
}

}  // namespace onnx_tag
