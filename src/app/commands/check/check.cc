#include <fmt/core.h>

#include <map>
#include <optional>

#include "app/commands/check/check_tags.h"
#include "app/commands/commands.h"
#include "app/commands/read/coverage.h"
#include "app/commands/read/nodes.h"
#include "app/commands/read/tagged_model.h"
#include "app/render/reports.h"
#include "file/io/paths.h"
#include "file/protobuf/verify.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

// Findings of one rule that the text shows; --json has all.
constexpr std::size_t kMostOfRule = 10;

// Everything that `check` looks at, and what it found.
struct Checked {
  std::string sidecar;  // the file; empty: none
  bool in_file = false;
  std::string_view tags_from;
  const Model* file = nullptr;  // null: a sidecar alone, and
  Model graph;                  // ... what it says
  Tagging tagging;              // what gates are about
  std::vector<TagFinding> findings;

  const Model& model() const { return file != nullptr ? *file : graph; }
};

struct ReadSidecarFile {
  Sidecar sidecar;
  std::optional<SidecarGlance> glance;
};

ReadSidecarFile Read(const std::string& path) {
  return ReadMapped(path, [](Bytes bytes) {
    return ReadSidecarFile{ReadSidecar(bytes), GlanceAtSidecar(bytes)};
  });
}

const SidecarGlance* Pointer(const std::optional<SidecarGlance>& glance) {
  return glance ? &*glance : nullptr;
}

// The sidecar that is meant, also where it does not fit: that is a finding.
std::string SidecarToCheck(const CheckOptions& options) {
  if (!options.source.sidecar.empty()) return options.source.sidecar;
  if (options.model == "-") return "";
  for (const std::string& path : SidecarsBeside(options.model)) {
    if (IsRegularFile(path)) return path;
  }
  return "";
}

Checked CheckSidecarAlone(const CheckOptions& options) {
  Checked checked;
  checked.sidecar = options.model;
  checked.tags_from = TaggedModel::kSidecar;
  ReadSidecarFile read = Read(options.model);
  CheckSidecar(read.sidecar, Pointer(read.glance), checked.findings);
  checked.graph = std::move(read.sidecar.graph);
  checked.tagging = std::move(read.sidecar.tagging);
  return checked;
}

Checked CheckModel(const CheckOptions& options, const ModelFile& file) {
  const Model& model = file.model();
  Checked checked;
  checked.file = &model;
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
    checked.tags_from = TaggedModel::kInFile;
    CheckStale(model, checked.tagging, checked.findings);
  }
  if (!checked.sidecar.empty()) {
    ReadSidecarFile read = Read(checked.sidecar);
    CheckSidecar(read.sidecar, Pointer(read.glance), checked.findings);
    CheckSidecarOf(read.sidecar, model,
                   checked.in_file ? &checked.tagging : nullptr,
                   checked.findings);
    if (!checked.in_file &&
        read.sidecar.graph.node_count() == model.node_count()) {
      checked.tagging = std::move(read.sidecar.tagging);
      checked.tags_from = TaggedModel::kSidecar;
    }
  }
  if (!checked.tags_from.empty()) {
    CheckTagsByLaws(model, checked.tagging, checked.findings);
  } else {
    checked.tagging = MapNodes(model, options.source.mapping,
                               ReadFacts(options.source.mapping));
    checked.tags_from = TaggedModel::kMapped;
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

// "#17 MatMul /encoder/MatMul"
Finding Shown(const Checked& checked, const TagFinding& finding) {
  std::string where;
  if (finding.node != kNo<NodeId>) {
    const Model& model = checked.model();
    where = Message("{}", Short{model.Address(finding.node), 100});
    for (const std::string_view word :
         {model.OpType(finding.node), model[finding.node].name}) {
      if (!word.empty()) where += Message(" {}", Short{word, 100});
    }
  }
  return {std::string(finding.rule), where, finding.message};
}

void AddText(const CheckOptions& options, const Checked& checked,
             Result& result) {
  std::map<std::string_view, std::size_t> times;
  for (const TagFinding& finding : checked.findings) {
    if (++times[finding.rule] > kMostOfRule) continue;
    result.Line("{}: {}", options.model, Ours{Shown(checked, finding).Text()});
  }
  for (const auto& [rule, count] : times) {
    if (count <= kMostOfRule) continue;
    result.Line("{}: {} more of [{}]; --json lists all", options.model,
                WithThousands(count - kMostOfRule), rule);
  }
  const Coverage coverage = CountTags(checked.tagging);
  result.Line("{}: {}, {}: {}", options.model, CoverageText(coverage),
              checked.tags_from,
              checked.findings.empty()
                  ? "no findings"
                  : Count(checked.findings.size(), "finding"));
}

Datum Data(const CheckOptions& options, const Checked& checked) {
  Datum data = Datum::Object({{"file", options.model},
                              {"sidecar", Datum::OrNull(checked.sidecar)},
                              {"tags_from", checked.tags_from}});
  data.Add(TaggedMembers(CountTags(checked.tagging)));
  Datum::List findings;
  for (const TagFinding& finding : checked.findings) {
    findings.push_back(
        Datum::Object({{"rule", finding.rule},
                       {"node", finding.node == kNo<NodeId>
                                    ? Datum()
                                    : NodeValue(checked.model(), finding.node)},
                       {"message", finding.message}}));
  }
  data.Set("findings", std::move(findings));
  return data;
}

// As `tag` reports a model.
void Report(const CheckOptions& options, const Checked& checked,
            Terminal& terminal) {
  const bool good = checked.findings.empty();
  FileReport file;
  file.path = options.model;
  file.status = good ? FileStatus::kOk : FileStatus::kFindings;
  file.exit_code = good ? ExitCode::kOk : ExitCode::kFindings;
  file.line = CoverageText(CountTags(checked.tagging));
  for (const TagFinding& finding : checked.findings) {
    file.findings.push_back(Shown(checked, finding));
  }
  RunTotals totals;
  ++totals.files[static_cast<std::size_t>(file.status)];
  totals.line = "; " + file.line;
  const Coverage coverage = CountTags(checked.tagging);
  if (coverage.tagged == 0) {
    totals.line += "\n  1 file got no tag: " +
                   WhyUntagged(coverage.nodes, checked.tagging.dialect);
  }
  const std::unique_ptr<Reporter> reporter =
      MakeReporter(options.format, terminal);
  reporter->File(file);
  reporter->End(totals);
}

}  // namespace

Result RunCheck(const CheckOptions& options, Terminal& terminal) {
  std::optional<ModelFile> file;
  Checked checked;
  if (IsSidecarName(options.model)) {
    if (options.verify) {
      Fail(ErrorKind::kUsage, "--verify needs the model, but {} is a sidecar",
           options.model);
    }
    checked = CheckSidecarAlone(options);
  } else {
    file.emplace(OpenModel(options.model, terminal));
    checked = CheckModel(options, *file);
  }
  if (checked.tags_from == TaggedModel::kMapped) {
    terminal.Note("no tags to check; mapped the model for the gates");
  }
  CheckGates(options, checked);
  Result result;
  if (!checked.findings.empty()) result.exit_code = ExitCode::kFindings;
  if (IsForCi(options.format)) {
    Report(options, checked, terminal);
    return result;
  }
  AddText(options, checked, result);
  result.data = Data(options, checked);
  return result;
}

}  // namespace onnx_tag
