#include "commands/read/tag_summary.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/text.h"
#include "json/writer.h"

namespace onnx_tag {
namespace {

using Fate = PendingOutputs::Fate;

std::string NameOf(const std::string& path) {
  return path == "-" ? "standard output" : Printable(path);
}

}  // namespace

std::string Deed(Fate fate, bool dry_run) {
  switch (fate) {
    case Fate::kUnchanged:
      return "unchanged";
    case Fate::kReplaced:
      return dry_run ? "would replace" : "replaced";
    case Fate::kStreamed:
    case Fate::kCreated:
    case Fate::kUnknown:
      break;
  }
  return dry_run ? "would write" : "wrote";
}

std::string ConfidenceText(const Coverage& coverage) {
  std::string text;
  for (std::size_t level = kConfidenceNames.size(); level-- > 0;) {
    if (coverage.by_confidence[level] == 0) continue;
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {}", WithThousands(coverage.by_confidence[level]),
                        kConfidenceNames[level]);
  }
  return text;
}

std::string PercentText(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0 || part == whole) return "100 %";
  if (part == 0) return "0 %";
  const double percent =
      100.0 * static_cast<double>(part) / static_cast<double>(whole);
  return fmt::format("{:.1f} %", std::clamp(percent, 0.1, 99.9));
}

std::string CoverageText(const Coverage& coverage) {
  std::string text =
      fmt::format("{}, {} tagged ({})", Count(coverage.nodes, "node"),
                  WithThousands(coverage.tagged),
                  PercentText(coverage.tagged, coverage.nodes));
  const std::string confidence = ConfidenceText(coverage);
  if (!confidence.empty()) text += ": " + confidence;
  // Tagged, since the strategy promises it, but no module was found for them.
  const std::uint64_t auxiliary =
      coverage.by_source[static_cast<std::size_t>(Source::kAuxiliary)];
  if (auxiliary > 0) {
    text += fmt::format(" ({} of them auxiliary)", WithThousands(auxiliary));
  }
  return text +
         fmt::format("; {} untagged", WithThousands(coverage.untagged()));
}

std::string SummaryText(const TagSummary& summary, const Tagging& tagging) {
  return SummaryText(summary, CountTags(tagging));
}

std::string SummaryText(const TagSummary& summary, const Coverage& coverage) {
  std::string text = fmt::format(
      "{}: {}\n",
      summary.file == "-" ? "standard input" : Printable(summary.file),
      CoverageText(coverage));

  const std::string deed = Deed(summary.output_fate, summary.dry_run);
  const std::string sidecar_deed = Deed(summary.sidecar_fate, summary.dry_run);
  if (!summary.output.empty()) {
    text += fmt::format("  {} {}", deed, NameOf(summary.output));
  }
  if (!summary.sidecar.empty()) {
    if (summary.output.empty() || sidecar_deed != deed) {
      text += fmt::format("{} {} {}", summary.output.empty() ? " " : ";",
                          sidecar_deed, NameOf(summary.sidecar));
    } else {
      text += fmt::format(" and {}", NameOf(summary.sidecar));
    }
  }
  if (!summary.output.empty() || !summary.sidecar.empty()) text += "\n";
  return text;
}

void AddTagged(JsonWriter& json, const Coverage& coverage) {
  json.Key("nodes").Number(coverage.nodes);
  json.Key("tagged").Number(coverage.tagged);
  json.Key("untagged").Number(coverage.untagged());
  json.Key("coverage").Share(coverage.share());
}

void AddCoverage(JsonWriter& json, const Coverage& coverage) {
  AddTagged(json, coverage);
  AddCounts(json, "by_confidence", kConfidenceNames, coverage.by_confidence);
  AddCounts(json, "by_source", kSourceNames, coverage.by_source);
}

std::string SummaryJson(const TagSummary& summary, const Tagging& tagging) {
  return SummaryJson(summary, CountTags(tagging), tagging.dialect,
                     tagging.root.name);
}

std::string SummaryJson(const TagSummary& summary, const Coverage& coverage,
                        std::string_view dialect, std::string_view root_class) {
  JsonWriter json;
  json.BeginObject();
  json.Key("file").String(summary.file);
  json.Key("output").StringOrNull(summary.output);
  json.Key("sidecar").StringOrNull(summary.sidecar);
  AddCoverage(json, coverage);
  json.Key("dialect").StringOrNull(dialect);
  json.Key("root_class").StringOrNull(root_class);
  json.EndObject();
  return json.text() + "\n";
}

}  // namespace onnx_tag
