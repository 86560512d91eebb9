// Tested by tests/app/cli/cases/batch.txt and tests/reports.
#include "app/render/reports.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "app/render/render.h"
#include "file/io/paths.h"
#include "generated/ci_formats.h"

namespace onnx_tag {
namespace {

// "3 files: 2 ok, 1 failed; 8 nodes: certain or high 5, medium 0, ..."
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
    Datum record = Datum::Object(
        {{"record", "file"},
         {"index", report.index},
         {"path", report.path},
         {"status",
          kFileStatusNames[static_cast<std::size_t>(report.status)]}});
    record.Add(report.facts);
    record.Add({{"findings", Mapped(report.findings, &Finding::Text)},
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

// ---------------------------------------------------------------- CI
// A format of src/data/ci_formats.txt.
class CiReporter : public Reporter {
 public:
  CiReporter(std::string_view format, Terminal& terminal)
      : terminal_(terminal) {
    for (const std::string_view line : Split(kCiFormats, '\n')) {
      const std::vector<std::string_view> words = Split(line, ' ');
      if (words[0] != format) continue;
      std::string& text = parts_[words[1]];
      text = line.substr(words[0].size() + words[1].size() + 2);
      for (std::size_t at = 0; (at = text.find("\\n", at)) != text.npos;) {
        text.replace(at, 2, "\n");
      }
    }
    if (parts_.contains("between")) between_ = parts_["between"] + " ";
  }

  void File(const FileReport& report) override {
    std::string said = Message("{}: {}", report.path, Ours{report.line});
    for (const std::string& warning : report.warnings) {
      said += "; warning: " + warning;
    }
    const std::string& error = report.error;
    Values values = {
        {"path", report.path},
        {"folder", ParentFolder(report.path)},
        {"seconds", Seconds(report.seconds)},
        {"said", said},
        {"code", std::to_string(static_cast<int>(report.exit_code))},
        {"first", error.substr(0, error.find('\n'))},
        {"coverages", CoveragesOf(report.facts)}};
    std::vector<std::string> items;
    const auto add = [&](std::string_view part, std::string_view level,
                         const Finding& finding) {
      const bool gate = finding.rule.empty() || finding.rule == "gate";
      values["rule"] = gate ? "gate" : finding.rule;
      values["title"] = gate ? "gate failed" : finding.rule;
      values["level"] = level;
      values["message"] = finding.message;
      values["text"] = finding.Text();
      values["where"] = finding.where;
      values["place"] = finding.where.empty() ? "" : Make("where", values);
      rules_.insert(values["rule"]);
      Add(Make(parts_.contains(part) ? part : "item", values), items);
    };
    for (const std::string& warning : report.warnings) {
      add("warning", "warning", {"weights", "", warning});
    }
    for (const Finding& finding : report.findings) {
      add("finding", "error", finding);
    }
    if (report.status == FileStatus::kFailed) {
      add("failed", "error", {"failed", "", error});
    } else {
      Add(Make("passed", values), items);
    }
    values["items"] = Join(items, between_);
    const std::string file =
        parts_.contains("file") ? Make("file", values) : values["items"];
    if (parts_["end"].find("{files}") != std::string::npos) {
      Add(file, files_);
    } else if (!file.empty()) {
      terminal_.Out(file);
      terminal_.Flush();
    }
  }

  void End(const RunTotals& totals) override {
    terminal_.EndProgress();
    const std::string coverages = CoveragesOf(totals.facts);
    std::string text = TotalsText(totals);
    text.insert(std::min(text.find('\n'), text.size()), coverages);
    const auto count = [&](FileStatus status) {
      return std::to_string(totals.Of(status));
    };
    const auto rule_text = [&](const std::string& rule) {
      return Make("rule", {{"rule", rule}});
    };
    Values values = {{"run", std::to_string(totals.all_files() -
                                            totals.Of(FileStatus::kNotRun))},
                     {"findings", count(FileStatus::kFindings)},
                     {"failed", count(FileStatus::kFailed)},
                     {"seconds", Seconds(totals.seconds)},
                     {"coverages", coverages},
                     {"totals", text},
                     {"rules", Join(Mapped(rules_, rule_text), between_)},
                     {"files", Join(files_, between_)}};
    values["counts"] = Make("counts", values);
    terminal_.Out(Make("end", values));
  }

 private:
  static std::string Seconds(double seconds) {
    return fmt::format("{:.3f}", seconds);
  }
  static void Add(std::string text, std::vector<std::string>& texts) {
    if (!text.empty()) texts.push_back(std::move(text));
  }

  // Coverage, sure_coverage and found_coverage.
  std::string CoveragesOf(const Datum::Members& facts) const {
    std::vector<std::string> each;
    for (const auto& [key, value] : facts) {
      if (!key.ends_with("coverage") || value.IsNull()) continue;
      each.push_back(
          Make("coverage", {{"key", key}, {"value", JsonText(value)}}));
    }
    return each.empty() ? ""
                        : Make("coverages", {{"each", Join(each, between_)}});
  }

  // The part with its words replaced; "" if the format has no such part.
  std::string Make(std::string_view part, const Values& values) const {
    const auto at = parts_.find(part);
    return at == parts_.end() ? "" : Filled(at->second, values);
  }

  Terminal& terminal_;
  std::map<std::string_view, std::string> parts_;
  std::string between_;
  std::set<std::string> rules_;
  std::vector<std::string> files_;  // that are written at the end
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
  if (format == ReportFormat::kJson) {
    return std::make_unique<JsonReporter>(terminal);
  }
  if (IsForCi(format)) {
    return std::make_unique<CiReporter>(
        kReportFormatNames[static_cast<std::size_t>(format)], terminal);
  }
  return std::make_unique<TextReporter>(terminal, data_on_stdout);
}

}  // namespace onnx_tag
