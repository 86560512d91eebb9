// --format junit: a test suite with a case for each model, as Jenkins, GitLab
// and their like read it.
#include <fmt/core.h>

#include "base/text.h"
#include "commands/check/batch_report.h"
#include "commands/read/xml_text.h"
#include "io/paths.h"

namespace onnx_tag {
namespace {

// XmlText() line by line.
std::string XmlLines(std::string_view text) {
  std::string xml;
  for (const std::string_view line : Split(text, '\n')) {
    if (!xml.empty()) xml += '\n';
    xml += XmlText(line);
  }
  return xml;
}

std::string FirstLine(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

class JunitReporter : public BatchReporter {
 public:
  explicit JunitReporter(Terminal& terminal) : terminal_(terminal) {}

  void File(const FileResult& result) override {
    cases_ += fmt::format(
        "    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\">\n",
        XmlText(ParentFolder(result.path)), XmlText(result.path),
        result.seconds);
    for (const std::string& finding : result.report.findings) {
      cases_ += fmt::format(
          "      <failure type=\"gate\" message=\"{0}\">{0}</failure>\n",
          XmlText(finding));
    }
    if (result.status == FileStatus::kFailed) {
      cases_ += fmt::format(
          "      <error type=\"exit {}\" message=\"{}\">{}</error>\n",
          static_cast<int>(result.exit_code), XmlText(FirstLine(result.error)),
          XmlLines(result.error));
    } else {
      std::string said = FileLine(result);
      for (const std::string& warning : result.report.warnings) {
        said += "; warning: " + warning;
      }
      cases_ +=
          fmt::format("      <system-out>{}</system-out>\n", XmlText(said));
    }
    cases_ += "    </testcase>\n";
  }

  void End(const BatchTotals& totals) override {
    terminal_.EndProgress();
    const std::uint64_t run =
        totals.all_files() - totals.Of(FileStatus::kNotRun);
    const std::string counts = fmt::format(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"{:.3f}\"", run,
        totals.Of(FileStatus::kFindings), totals.Of(FileStatus::kFailed),
        totals.seconds);
    terminal_.Out(
        fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                    "<testsuites name=\"onnx-tag\" {0}>\n"
                    "  <testsuite name=\"onnx-tag\" {0} skipped=\"0\">\n{1}"
                    "  </testsuite>\n</testsuites>\n",
                    counts, cases_));
  }

 private:
  Terminal& terminal_;
  std::string cases_;  // the counts come first in the file
};

}  // namespace

std::unique_ptr<BatchReporter> MakeJunitReporter(Terminal& terminal) {
  return std::make_unique<JunitReporter>(terminal);
}

}  // namespace onnx_tag
