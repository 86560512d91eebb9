#include <fmt/core.h>

#include <filesystem>
#include <map>
#include <optional>

#include "base/text.h"
#include "commands/check/batch_report.h"
#include "commands/check/check_tags.h"
#include "commands/commands.h"
#include "commands/read/fact_files.h"
#include "commands/read/gates.h"
#include "commands/read/tag_source.h"
#include "commands/read/tag_summary.h"
#include "io/mapped_file.h"
#include "json/writer.h"
#include "onnx_tag/error.h"
#include "protobuf/verify.h"
#include "tagging/node_list.h"

namespace onnx_tag {
namespace {

// Findings of one rule that the text shows; --json has all.
constexpr std::size_t kMostOfRule = 10;

// Everything that `check` looks at, and what it found.
struct Checked {
  std::string sidecar;  // the file; empty: none
  bool in_file = false;
  std::string tags_from;
  NodeList nodes;
  Tagging tagging;  // what gates are about
  std::vector<Finding> findings;
};

struct ReadSidecarFile {
  Sidecar sidecar;
  std::optional<SidecarGlance> glance;
};

ReadSidecarFile Read(const std::string& path) {
  const MappedFile file = MappedFile::Open(path);
  try {
    ReadSidecarFile read{ReadSidecar(file.bytes()),
                         GlanceAtSidecar(file.bytes())};
    file.CheckUnchanged();
    return read;
  } catch (const Error& error) {
    file.CheckUnchanged();
    throw error.In(Printable(path));
  }
}

const SidecarGlance* Pointer(const std::optional<SidecarGlance>& glance) {
  return glance ? &*glance : nullptr;
}

// The sidecar that is meant, also where it does not fit: that is a finding.
std::string SidecarToCheck(const CheckOptions& options) {
  if (!options.source.sidecar.empty()) return options.source.sidecar;
  if (options.model == "-") return "";
  for (const std::string& path : SidecarsBeside(options.model)) {
    std::error_code error;
    if (std::filesystem::is_regular_file(path, error)) return path;
  }
  return "";
}

Checked CheckSidecarAlone(const CheckOptions& options) {
  Checked checked;
  checked.sidecar = options.model;
  checked.tags_from = "sidecar";
  ReadSidecarFile read = Read(options.model);
  CheckSidecar(read.sidecar, Pointer(read.glance), checked.findings);
  checked.nodes = NodeList(std::move(read.sidecar.nodes));
  checked.tagging = std::move(read.sidecar.tagging);
  return checked;
}

Checked CheckModel(const CheckOptions& options, const ModelFile& file) {
  const Model& model = file.model();
  Checked checked;
  checked.nodes = NodeList(model);
  checked.in_file = HasTags(model);
  checked.sidecar = SidecarToCheck(options);
  if (options.verify) {
    for (ReadingDifference& difference :
         CompareWithProtobuf(model.bytes(), model)) {
      checked.findings.push_back(
          {"protobuf-differs", difference.node, std::move(difference.what)});
    }
  }
  CheckEntries(model, checked.findings);
  if (checked.in_file) {
    checked.tagging = ReadTagging(model);
    checked.tags_from = "tags in the file";
    CheckStale(model, checked.tagging, checked.findings);
  }
  if (!checked.sidecar.empty()) {
    ReadSidecarFile read = Read(checked.sidecar);
    CheckSidecar(read.sidecar, Pointer(read.glance), checked.findings);
    CheckSidecarOf(read.sidecar, model,
                   checked.in_file ? &checked.tagging : nullptr,
                   checked.findings);
    if (!checked.in_file && read.sidecar.nodes.size() == model.node_count()) {
      checked.tagging = std::move(read.sidecar.tagging);
      checked.tags_from = "sidecar";
    }
  }
  if (!checked.tags_from.empty()) {
    CheckTagsByLaws(model, checked.tagging, checked.findings);
  } else {
    checked.tagging = MapNodes(model, options.source.mapping,
                               ReadFacts(options.source.mapping));
    checked.tags_from = "mapped";
  }
  file.file().CheckUnchanged();
  return checked;
}

void CheckGates(const CheckOptions& options, Checked& checked) {
  Tagging& tagging = checked.tagging;
  for (Tag& tag : tagging.tags) {
    if (tag.confidence < options.source.mapping.min_confidence) tag = Tag();
  }
  for (std::string& gate : UnmetGates(tagging, options.gates)) {
    checked.findings.push_back({"gate", kNo<NodeId>, std::move(gate)});
  }
}

std::string Where(const Checked& checked, const Finding& finding) {
  if (finding.node == kNo<NodeId>) return "";
  std::string where = Printable(checked.nodes.Address(finding.node), 100) + " ";
  for (const std::string_view word :
       {checked.nodes.Op(finding.node), checked.nodes.Name(finding.node)}) {
    if (!word.empty()) where += Printable(word, 100) + " ";
  }
  where.back() = ':';
  return where + " ";
}

std::string Text(const CheckOptions& options, const Checked& checked) {
  std::string text;
  const std::string file = Printable(options.model);
  std::map<std::string_view, std::size_t> times;
  for (const Finding& finding : checked.findings) {
    if (++times[finding.rule] > kMostOfRule) continue;
    text += fmt::format("{}: {}{} [{}]\n", file, Where(checked, finding),
                        finding.message, finding.rule);
  }
  for (const auto& [rule, count] : times) {
    if (count <= kMostOfRule) continue;
    text += fmt::format("{}: {} more of [{}]; --json lists all\n", file,
                        WithThousands(count - kMostOfRule), rule);
  }
  const Coverage coverage = CountTags(checked.tagging);
  return text + fmt::format("{}: {}, {} tagged ({}), {}: {}\n", file,
                            Count(coverage.nodes, "node"),
                            WithThousands(coverage.tagged),
                            PercentText(coverage.tagged, coverage.nodes),
                            checked.tags_from,
                            checked.findings.empty()
                                ? "no findings"
                                : Count(checked.findings.size(), "finding"));
}

std::string Json(const CheckOptions& options, const Checked& checked) {
  const Coverage coverage = CountTags(checked.tagging);
  JsonWriter json;
  json.BeginObject();
  json.Key("file").String(options.model);
  json.Key("sidecar").StringOrNull(checked.sidecar);
  json.Key("tags_from").String(checked.tags_from);
  AddTagged(json, coverage);
  json.Key("findings").BeginArray();
  for (const Finding& finding : checked.findings) {
    json.BeginObject();
    json.Key("rule").String(finding.rule);
    if (finding.node == kNo<NodeId>) {
      json.Key("node").Null();
    } else {
      const NodeList& nodes = checked.nodes;
      json.Key("node").BeginObject();
      json.Key("graph").String(nodes.Graph(finding.node));
      json.Key("index").Number(nodes.IndexOf(finding.node));
      json.Key("name").String(nodes.Name(finding.node));
      json.Key("op").String(nodes.Op(finding.node));
      json.EndObject();
    }
    json.Key("message").String(finding.message);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return json.text() + "\n";
}

// As `tag` reports a model: the reporters take findings as sentences.
void Report(const CheckOptions& options, const Checked& checked,
            Terminal& terminal) {
  FileResult result;
  result.path = options.model;
  result.status =
      checked.findings.empty() ? FileStatus::kOk : FileStatus::kFindings;
  result.exit_code =
      checked.findings.empty() ? ExitCode::kOk : ExitCode::kFindings;
  result.report.summary.file = options.model;
  result.report.coverage = CountTags(checked.tagging);
  result.report.dialect = checked.tagging.dialect;
  for (const Finding& finding : checked.findings) {
    result.report.finding_titles.emplace_back(
        finding.rule == "gate" ? "gate failed" : finding.rule);
    result.report.findings.push_back(fmt::format(
        "{}{} [{}]", Where(checked, finding), finding.message, finding.rule));
  }
  const std::unique_ptr<BatchReporter> reporter =
      options.format == ReportFormat::kJunit ? MakeJunitReporter(terminal)
                                             : MakeGithubReporter(terminal);
  BatchTotals totals;
  totals.Add(result);
  reporter->File(result);
  reporter->End(totals);
}

}  // namespace

ExitCode RunCheck(const CheckOptions& options, Terminal& terminal) {
  std::optional<ModelFile> file;
  Checked checked;
  if (options.model.ends_with(".json")) {
    if (options.verify) {
      Fail(ErrorKind::kUsage, "--verify needs the model, but {} is a sidecar",
           Printable(options.model));
    }
    checked = CheckSidecarAlone(options);
  } else {
    file.emplace(ModelFile::Open(options.model));
    checked = CheckModel(options, *file);
  }
  if (checked.tags_from == "mapped") {
    terminal.Err(
        "onnx-tag: no tags to check; mapped the model for the gates\n");
  }
  CheckGates(options, checked);
  if (options.format != ReportFormat::kText) {
    Report(options, checked, terminal);
  } else {
    terminal.Out(options.json ? Json(options, checked)
                              : Text(options, checked));
  }
  return checked.findings.empty() ? ExitCode::kOk : ExitCode::kFindings;
}

}  // namespace onnx_tag
