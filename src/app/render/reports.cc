// Tested by tests/app/cli/cases/batch.txt and tests/reports.
#include "app/render/reports.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "app/render/render.h"
#include "file/io/paths.h"

namespace onnx_tag {
namespace {

// "3 files: 2 ok, 1 failed; 8 nodes: 5 sure, 0 found, 0 guessed, 3 untagged"
std::string TotalsText(const RunTotals& totals) {
  constexpr std::array<std::string_view, kFileStatusNames.size()> kWords = {
      "ok", "with findings", "current", "failed", "not run"};
  std::vector<std::string> counts;
  for (std::size_t i = 0; i < kWords.size(); ++i) {
    if (totals.files[i] == 0) continue;
    counts.push_back(WithThousands(totals.files[i]) + " " +
                     std::string(kWords[i]));
  }
  std::string text = Count(totals.all_files(), "file");
  if (!counts.empty()) text += ": " + Join(counts);
  return text + totals.line;
}

// What the formats of CI say of the facts: coverage, sure_coverage and
// found_coverage.
Datum::Members Coverages(const Datum::Members& facts) {
  Datum::Members members;
  for (const auto& [key, value] : facts) {
    if (key.ends_with("coverage") && !value.IsNull()) {
      members.emplace_back(key, value);
    }
  }
  return members;
}

// People: a line for each file, what is wrong on standard error.
class TextReporter : public Reporter {
 public:
  TextReporter(Terminal& terminal, bool data_on_stdout)
      : terminal_(terminal), data_on_stdout_(data_on_stdout) {}

  void File(const FileReport& report) override {
    for (const std::string& warning : report.warnings) {
      terminal_.Note("{}: warning: {}", report.path, Ours{warning});
    }
    if (report.status == FileStatus::kFailed) {
      terminal_.Report("{}", Ours{report.error});
      return;
    }
    if (ShowsLines()) {
      Say(Message("{}: {}", report.path, Ours{report.line}) + "\n");
    }
    for (const Finding& finding : report.findings) {
      terminal_.Report("{}: {}", report.path, Ours{finding.Text()});
    }
  }

  void End(const RunTotals& totals) override {
    terminal_.EndProgress();
    if (!terminal_.quiet()) Say(TotalsText(totals) + "\n");
  }

 private:
  // On a screen the bar says it, and 10,000 lines would only pass by.
  bool ShowsLines() const {
    return !terminal_.quiet() &&
           !(terminal_.out_is_terminal() && terminal_.shows_progress());
  }
  void Say(const std::string& text) {
    if (data_on_stdout_) return terminal_.Err(text);
    terminal_.Out(text);
    terminal_.Flush();
  }

  Terminal& terminal_;
  const bool data_on_stdout_;
};

// Programs: a record for each file as it ends.
// docs/reference/schemas/batch.schema.json.
class JsonReporter : public Reporter {
 public:
  explicit JsonReporter(Terminal& terminal) : terminal_(terminal) {}

  bool in_order() const override { return false; }

  void File(const FileReport& report) override {
    Datum::List findings;
    for (const Finding& finding : report.findings) {
      findings.emplace_back(finding.Text());
    }
    Datum record = Datum::Object(
        {{"record", "file"},
         {"index", report.index},
         {"path", report.path},
         {"status",
          kFileStatusNames[static_cast<std::size_t>(report.status)]}});
    record.Add(report.facts);
    record.Add({{"findings", std::move(findings)},
                {"warnings", report.warnings},
                {"error", Datum::OrNull(report.error)},
                {"exit_code", static_cast<int>(report.exit_code)},
                {"seconds", Datum::Share(report.seconds)}});
    Say(record);
  }

  void End(const RunTotals& totals) override {
    terminal_.EndProgress();
    Datum record =
        Datum::Object({{"record", "summary"}, {"files", totals.all_files()}});
    for (std::size_t i = 0; i < kFileStatusNames.size(); ++i) {
      record.Set(std::string(kFileStatusNames[i]), totals.files[i]);
    }
    record.Add(totals.facts);
    record.Add({{"exit_code", static_cast<int>(totals.exit_code())},
                {"seconds", Datum::Share(totals.seconds)}});
    Say(record);
  }

 private:
  void Say(const Datum& record) {
    terminal_.Out(JsonText(record) + "\n");
    terminal_.Flush();
  }

  Terminal& terminal_;
};

// ---------------------------------------------------------------- JUnit
// XmlText() line by line.
std::string XmlLines(std::string_view text) {
  std::vector<std::string> lines;
  for (const std::string_view line : Split(text, '\n')) {
    lines.push_back(XmlText(line));
  }
  return Join(lines, "\n");
}

// A test suite with a case for each file, as Jenkins, GitLab and their like
// read it.
class JunitReporter : public Reporter {
 public:
  explicit JunitReporter(Terminal& terminal) : terminal_(terminal) {}

  void File(const FileReport& report) override {
    cases_ += fmt::format(
        "    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\">\n",
        XmlText(ParentFolder(report.path)), XmlText(report.path),
        report.seconds);
    const Datum::Members coverages = Coverages(report.facts);
    if (!coverages.empty()) cases_ += "      <properties>\n";
    for (const auto& [key, value] : coverages) {
      cases_ += fmt::format("        <property name=\"{}\" value=\"{}\"/>\n",
                            key, JsonText(value));
    }
    if (!coverages.empty()) cases_ += "      </properties>\n";
    for (const Finding& finding : report.findings) {
      cases_ += fmt::format(
          "      <failure type=\"gate\" message=\"{0}\">{0}</failure>\n",
          XmlText(finding.Text()));
    }
    if (report.status == FileStatus::kFailed) {
      const std::string first = report.error.substr(0, report.error.find('\n'));
      cases_ += fmt::format(
          "      <error type=\"exit {}\" message=\"{}\">{}</error>\n",
          static_cast<int>(report.exit_code), XmlText(first),
          XmlLines(report.error));
    } else {
      std::string said = Message("{}: {}", report.path, Ours{report.line});
      for (const std::string& warning : report.warnings) {
        said += "; warning: " + warning;
      }
      cases_ +=
          fmt::format("      <system-out>{}</system-out>\n", XmlText(said));
    }
    cases_ += "    </testcase>\n";
  }

  void End(const RunTotals& totals) override {
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

// ---------------------------------------------------------------- GitHub
// Each character of `special` as %XX.
std::string Encoded(std::string_view text, std::string_view special) {
  std::string result;
  for (const char c : text) {
    if (special.find(c) == std::string_view::npos) {
      result += c;
    } else {
      result += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return result;
}

// Workflow commands, which GitHub shows at the file they name.
//
// Nothing else of a model is printed: a name like "::set-env" at the start of
// a line would be a command, too.
class GithubReporter : public Reporter {
 public:
  explicit GithubReporter(Terminal& terminal) : terminal_(terminal) {}

  void File(const FileReport& report) override {
    for (const std::string& warning : report.warnings) {
      Say("warning", report.path, "weights", warning);
    }
    for (const Finding& finding : report.findings) {
      const bool gate = finding.rule.empty() || finding.rule == "gate";
      Say("error", report.path, gate ? "gate failed" : finding.rule,
          finding.Text());
    }
    if (report.status == FileStatus::kFailed) {
      Say("error", report.path, "not tagged", report.error);
    }
  }

  void End(const RunTotals& totals) override {
    terminal_.EndProgress();
    std::string text = TotalsText(totals);
    std::string coverages;
    for (const auto& [key, value] : Coverages(totals.facts)) {
      coverages += "; " + key + " " + JsonText(value);
    }
    text.insert(std::min(text.find('\n'), text.size()), coverages);
    terminal_.Out("onnx-tag: " + text + "\n");
  }

 private:
  // A line break would end the message; a colon or a comma also a property.
  void Say(std::string_view command, const std::string& path,
           std::string_view title, const std::string& message) {
    terminal_.Out(fmt::format("::{} file={},title=onnx-tag%3A {}::{}\n",
                              command,
                              Encoded(Printable(path, 4000), "%\r\n:,"), title,
                              Encoded(message, "%\r\n")));
    terminal_.Flush();
  }

  Terminal& terminal_;
};

// ---------------------------------------------------------------- SARIF
// SARIF 2.1.0, as GitHub's code scanning and editors read it.
class SarifReporter : public Reporter {
 public:
  explicit SarifReporter(Terminal& terminal) : terminal_(terminal) {}

  void File(const FileReport& report) override {
    for (const std::string& warning : report.warnings) {
      Add(report.path, "warning", {"weights", "", warning});
    }
    for (const Finding& finding : report.findings) {
      Add(report.path, "error", finding);
    }
    if (report.status == FileStatus::kFailed) {
      Add(report.path, "error", {"failed", "", report.error});
    }
  }

  void End(const RunTotals& totals) override {
    terminal_.EndProgress();
    Datum::List rules;
    for (const std::string& rule : rules_) {
      rules.push_back(Datum::Object({{"id", rule}}));
    }
    const Datum driver =
        Datum::Object({{"name", "onnx-tag"}, {"rules", std::move(rules)}});
    Datum run = Datum::Object({{"tool", Datum::Object({{"driver", driver}})},
                               {"results", std::move(results_)}});
    Datum::Members coverages = Coverages(totals.facts);
    if (!coverages.empty()) {
      run.Set("properties", Datum::Object(std::move(coverages)));
    }
    terminal_.Out(
        JsonText(Datum::Object(
            {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
             {"version", "2.1.0"},
             {"runs", Datum::List{run}}})) +
        "\n");
  }

 private:
  void Add(const std::string& path, std::string_view level,
           const Finding& finding) {
    const std::string rule = finding.rule.empty() ? "gate" : finding.rule;
    rules_.insert(rule);
    // A model has no lines, but code scanning asks for one.
    Datum location = Datum::Object(
        {{"physicalLocation",
          Datum::Object(
              {{"artifactLocation", Datum::Object({{"uri", UriText(path)}})},
               {"region", Datum::Object({{"startLine", 1}})}})}});
    if (!finding.where.empty()) {
      location.Set(
          "logicalLocations",
          Datum::List{Datum::Object({{"fullyQualifiedName", finding.where}})});
    }
    results_.push_back(
        Datum::Object({{"ruleId", rule},
                       {"level", level},
                       {"message", Datum::Object({{"text", finding.message}})},
                       {"locations", Datum::List{std::move(location)}}}));
  }

  Terminal& terminal_;
  std::set<std::string> rules_;
  Datum::List results_;
};

}  // namespace

std::string Finding::Text() const {
  std::string text = where.empty() ? message : where + ": " + message;
  return rule.empty() ? text : text + " [" + rule + "]";
}

std::uint64_t RunTotals::all_files() const {
  return std::accumulate(files.begin(), files.end(), std::uint64_t{0});
}

ExitCode RunTotals::exit_code() const {
  if (Of(FileStatus::kFailed) > 0) return ExitCode::kSomeFailed;
  return Of(FileStatus::kFindings) > 0 ? ExitCode::kFindings : ExitCode::kOk;
}

void ReportAlone(const std::string& path, const std::string& line,
                 const Datum::Members& facts,
                 const std::vector<Finding>& findings, std::string_view more,
                 ReportFormat format, Terminal& terminal) {
  const bool good = findings.empty();
  FileReport file;
  file.path = path;
  file.status = good ? FileStatus::kOk : FileStatus::kFindings;
  file.exit_code = good ? ExitCode::kOk : ExitCode::kFindings;
  file.line = line;
  file.facts = facts;
  file.findings = findings;
  RunTotals totals;
  ++totals.files[static_cast<std::size_t>(file.status)];
  totals.line = "; " + line + std::string(more);
  totals.facts = facts;
  const std::unique_ptr<Reporter> reporter = MakeReporter(format, terminal);
  reporter->File(file);
  reporter->End(totals);
}

std::unique_ptr<Reporter> MakeReporter(ReportFormat format, Terminal& terminal,
                                       bool data_on_stdout) {
  switch (format) {
    case ReportFormat::kJson:
      return std::make_unique<JsonReporter>(terminal);
    case ReportFormat::kJunit:
      return std::make_unique<JunitReporter>(terminal);
    case ReportFormat::kGithub:
      return std::make_unique<GithubReporter>(terminal);
    case ReportFormat::kSarif:
      return std::make_unique<SarifReporter>(terminal);
    case ReportFormat::kText:
      break;
  }
  return std::make_unique<TextReporter>(terminal, data_on_stdout);
}

}  // namespace onnx_tag
