#include "commands/check/batch_report.h"

#include <fmt/core.h>

#include <numeric>

#include "base/text.h"
#include "commands/commands.h"
#include "commands/read/why_untagged.h"
#include "json/writer.h"

namespace onnx_tag {
namespace {

// People: a line for each model, what is wrong on standard error.
class TextReporter : public BatchReporter {
 public:
  TextReporter(const TagOptions& options, Terminal& terminal)
      : options_(options), terminal_(terminal) {}

  void File(const FileResult& result) override {
    const std::string name = Printable(result.path);
    for (const std::string& warning : result.report.warnings) {
      terminal_.Err(fmt::format("onnx-tag: {}: warning: {}\n", name, warning));
    }
    if (result.status == FileStatus::kFailed) {
      terminal_.Complain(fmt::format("onnx-tag: {}\n", result.error));
      return;
    }
    if (ShowsLines()) Say(FileLine(result) + "\n");
    for (const std::string& finding : result.report.findings) {
      terminal_.Complain(fmt::format("onnx-tag: {}: {}\n", name, finding));
    }
  }

  void End(const BatchTotals& totals) override {
    terminal_.EndProgress();
    if (!options_.quiet) Say(TotalsText(totals) + "\n");
  }

 private:
  // On a screen the bar says it, and 10,000 lines would only pass by.
  bool ShowsLines() const {
    return !options_.quiet &&
           !(terminal_.out_is_terminal() && terminal_.shows_progress());
  }

  // Standard output may be the nodes'.
  void Say(const std::string& text) {
    if (options_.json_nodes) {
      terminal_.Err(text);
    } else {
      terminal_.Out(text);
      terminal_.Flush();
    }
  }

  const TagOptions& options_;
  Terminal& terminal_;
};

// Programs: a record for each model as it ends. docs/batch.schema.json.
class JsonReporter : public BatchReporter {
 public:
  explicit JsonReporter(Terminal& terminal) : terminal_(terminal) {}

  bool in_order() const override { return false; }

  void File(const FileResult& result) override {
    const TagReport& report = result.report;
    const bool failed = result.status == FileStatus::kFailed;
    JsonWriter json;
    json.BeginObject();
    json.Key("record").String("file");
    json.Key("index").Number(result.index);
    json.Key("path").String(result.path);
    json.Key("status").String(Word(result.status));
    json.Key("output").StringOrNull(failed ? "" : report.summary.output);
    json.Key("sidecar").StringOrNull(failed ? "" : report.summary.sidecar);
    if (failed) {
      for (const char* const key : {"nodes", "tagged", "untagged", "coverage",
                                    "by_confidence", "by_source"}) {
        json.Key(key).Null();
      }
    } else {
      AddCoverage(json, report.coverage);
    }
    json.Key("dialect").StringOrNull(failed ? "" : report.dialect);
    json.Key("root_class").StringOrNull(failed ? "" : report.root_class);
    json.Key("findings").BeginArray();
    for (const std::string& finding : report.findings) json.String(finding);
    json.EndArray();
    json.Key("warnings").BeginArray();
    for (const std::string& warning : report.warnings) json.String(warning);
    json.EndArray();
    json.Key("error").StringOrNull(result.error);
    json.Key("exit_code").Number(static_cast<std::uint64_t>(result.exit_code));
    json.Key("seconds").Share(result.seconds);
    json.EndObject();
    Say(json);
  }

  void End(const BatchTotals& totals) override {
    terminal_.EndProgress();
    JsonWriter json;
    json.BeginObject();
    json.Key("record").String("summary");
    json.Key("files").Number(totals.all_files());
    for (std::size_t i = 0; i < kFileStatusNames.size(); ++i) {
      json.Key(kFileStatusNames[i]).Number(totals.files[i]);
    }
    AddCoverage(json, totals.coverage);
    json.Key("without_tags").BeginObject();
    for (const auto& [why, count] : totals.without_tags) {
      json.Key(why).Number(count);
    }
    json.EndObject();
    json.Key("exit_code")
        .Number(static_cast<std::uint64_t>(totals.exit_code()));
    json.Key("seconds").Share(totals.seconds);
    json.EndObject();
    Say(json);
  }

 private:
  static std::string_view Word(FileStatus status) {
    return kFileStatusNames[static_cast<std::size_t>(status)];
  }
  void Say(const JsonWriter& json) {
    terminal_.Out(json.text() + "\n");
    terminal_.Flush();
  }

  Terminal& terminal_;
};

}  // namespace

void BatchTotals::Add(const FileResult& result) {
  ++files[static_cast<std::size_t>(result.status)];
  if (result.status == FileStatus::kFailed ||
      result.status == FileStatus::kNotRun) {
    return;
  }
  const Coverage& one = result.report.coverage;
  if (one.tagged == 0) {
    ++without_tags[WhyUntagged(one.nodes, result.report.dialect)];
  }
  coverage.nodes += one.nodes;
  coverage.tagged += one.tagged;
  const auto add = [](auto& sums, const auto& counts) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += counts[i];
  };
  add(coverage.by_confidence, one.by_confidence);
  add(coverage.by_source, one.by_source);
  add(coverage.by_type, one.by_type);
}

std::uint64_t BatchTotals::all_files() const {
  return std::accumulate(files.begin(), files.end(), std::uint64_t{0});
}

ExitCode BatchTotals::exit_code() const {
  if (Of(FileStatus::kFailed) > 0) return ExitCode::kSomeFailed;
  return Of(FileStatus::kFindings) > 0 ? ExitCode::kFindings : ExitCode::kOk;
}

std::string TotalsText(const BatchTotals& totals) {
  std::string text = Count(totals.all_files(), "file");
  constexpr std::array<std::string_view, kFileStatusNames.size()> kWords = {
      "ok", "with findings", "current", "failed", "not run"};
  std::string_view separator = ": ";
  for (std::size_t i = 0; i < kWords.size(); ++i) {
    if (totals.files[i] == 0) continue;
    text += fmt::format("{}{} {}", separator, WithThousands(totals.files[i]),
                        kWords[i]);
    separator = ", ";
  }
  const bool any = totals.all_files() > totals.Of(FileStatus::kFailed) +
                                            totals.Of(FileStatus::kNotRun);
  if (any) text += "; " + CoverageText(totals.coverage);
  for (const auto& [why, count] : totals.without_tags) {
    text += fmt::format("\n  {} got no tag: {}", Count(count, "file"), why);
  }
  return text;
}

std::string FileLine(const FileResult& result) {
  const TagSummary& summary = result.report.summary;
  std::string line = fmt::format("{}: {}", Printable(result.path),
                                 CoverageText(result.report.coverage));
  if (result.report.current) return line + "; up to date";
  const bool model = !summary.output.empty();
  const std::string& written = model ? summary.output : summary.sidecar;
  if (written.empty()) return line;
  return line +
         fmt::format("; {} {}",
                     Deed(model ? summary.output_fate : summary.sidecar_fate,
                          summary.dry_run),
                     Printable(written));
}

std::unique_ptr<BatchReporter> MakeReporter(const TagOptions& options,
                                            Terminal& terminal) {
  switch (options.format) {
    case ReportFormat::kJunit:
      return MakeJunitReporter(terminal);
    case ReportFormat::kGithub:
      return MakeGithubReporter(terminal);
    case ReportFormat::kText:
      break;
  }
  if (options.json) return std::make_unique<JsonReporter>(terminal);
  return std::make_unique<TextReporter>(options, terminal);
}

}  // namespace onnx_tag
