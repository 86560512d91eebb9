// What is wrong with the tags of a model.
#include <map>
#include <optional>
#include <unordered_map>

#include "app/commands/check/entries.h"
#include "app/commands/commands.h"
#include "app/commands/read/coverage.h"
#include "app/commands/read/modules.h"
#include "app/commands/read/nodes.h"
#include "app/commands/read/tagged_model.h"
#include "app/render/render.h"
#include "app/render/reports.h"
#include "core/tagging/module_format.h"
#include "core/tagging/renames.h"
#include "core/tagging/sidecar.h"
#include "core/tagging/source_trust.h"
#include "core/tagging/tag_format.h"
#include "core/tagging/words.h"
#include "file/io/paths.h"
#include "mapping/mapping/laws.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

void CheckModelEntries(const Model& model, bool tagged, Findings& findings) {
  CheckKeys(std::span<const MetadataEntry>(model.metadata()), kModelKeys,
            kNo<NodeId>, findings, [](const MetadataEntry&) {});
  const std::string fault = ReadRenames(model).fault;
  if (!fault.empty()) {
    findings.Add("bad-value", kNo<NodeId>, "{}: {}", Quoted(keys::kRenamed),
                 Ours{fault});
  }
  if (tagged && !HasTags(model)) {
    findings.Add("incomplete-tag", kNo<NodeId>,
                 "nodes are tagged, but the model entry {} is missing",
                 Quoted(keys::kVersion));
  }
}

// The list of modules in the model's metadata.
class ModuleEntry {
 public:
  ModuleEntry(const Model& model, Findings& findings)
      : fault_(ReadModuleTable(model, listed_)), format_(listed_) {
    if (fault_.empty()) return;
    findings.Add("bad-value", kNo<NodeId>, "{}: {}", Quoted(keys::kModules),
                 Short{fault_, 200});
  }

  // What the first node of a module says of it.
  void Compare(NodeId node, std::string_view path, std::string_view class_name,
               std::string_view tag, Findings& findings) const {
    if (listed_.facts.empty()) return;
    const ModuleId id = listed_.modules.Find(path);
    if (id == kNo<ModuleId>) {
      findings.Add("missing-module", node, "its module {} is not in {}",
                   ShownPath(path), Quoted(keys::kModules));
      return;
    }
    const std::string_view listed_class = listed_.modules.Class(id);
    const std::string listed_tag = format_.HierarchyTag(id);
    if (class_name == listed_class && tag == listed_tag) return;
    findings.Add("module-conflict", node,
                 "module {} has {} {} here, but {} {} in {}", ShownPath(path),
                 Quoted(class_name), Quoted(tag), Quoted(listed_class),
                 Quoted(listed_tag), Quoted(keys::kModules));
  }

 private:
  Tagging listed_;
  const std::string fault_;
  const ModuleFormat format_;
};

// Entries that nobody can read, or that contradict each other.
void CheckEntries(const Model& model, Findings& findings) {
  // What the first node of each module says: its class and its tag.
  std::unordered_map<std::string_view,
                     std::pair<std::string_view, std::string_view>>
      modules;
  const ModuleEntry listed(model, findings);
  bool tagged = false;
  for (const NodeId node : model.Nodes()) {
    NodeEntries entries(model, node, findings);
    if (!entries.any()) continue;
    tagged = true;
    entries.Check();
    // An auxiliary operation has its own tag, not the tag of its module.
    if (!entries.Has(keys::kModule) ||
        entries.Value(keys::kSource) ==
            EnumToWord(kSourceNames, Source::kAuxiliary)) {
      continue;
    }
    const std::pair said(entries.Value(keys::kClass),
                         entries.Value(keys::kHierarchyTag));
    const auto [at, added] =
        modules.try_emplace(entries.Value(keys::kModule), said);
    if (added) {
      listed.Compare(node, at->first, said.first, said.second, findings);
    } else if (said != at->second) {
      findings.Add("module-conflict", node,
                   "module {} has {} {} here, but {} {} at an earlier node",
                   ShownPath(at->first), Quoted(said.first),
                   Quoted(said.second), Quoted(at->second.first),
                   Quoted(at->second.second));
    }
  }
  CheckModelEntries(model, tagged, findings);
}

bool IsWithin(std::string_view path, std::string_view outer) {
  return outer.empty() || path == outer ||
         (path.starts_with(outer) && path[outer.size()] == '.');
}

// Tags that the names in the file contradict: it was changed after tagging. A
// guess proves no change, as the recipe book may know more; nor do names that
// `rename-weights` gave, as they follow from the tags.
void CheckStale(const Model& model, const Tagging& tags, Findings& findings) {
  if (!ReadRenames(model).names.empty()) return;
  MappingOptions options;
  options.strategy = tags.strategy;
  Tagging now;
  try {
    now = MapNodes(model, options);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUsage) throw;
    return;  // a strategy that needs a recording, or that we do not have
  }
  for (const NodeId node : model.Nodes()) {
    const Tag& tag = tags.tags[node];
    const Tag& fresh = now.tags[node];
    // What is known from outside, the file's own names cannot contradict.
    if (!tag.tagged() || !fresh.tagged() ||
        (ConfirmsModules(tag.source) && tag.source != Source::kMetadata) ||
        tag.confidence == Confidence::kLow ||
        fresh.confidence < Confidence::kHigh) {
      continue;
    }
    const std::string said = tags.modules.Path(tag.module);
    const std::string is = now.modules.Path(fresh.module);
    // A part of a model has fewer neighbours and other first calls: there a tag
    // may be deeper or less deep, and a function's body has that of another
    // call.
    if (IsWithin(said, is) || IsWithin(is, said) ||
        model[model[node].graph].kind == GraphKind::kFunction) {
      continue;
    }
    findings.Add("stale-tag", node,
                 "the tag names {}, but the file now indicates {} ({})",
                 ShownPath(said), ShownPath(is),
                 EnumToWord(kConfidenceNames, fresh.confidence));
  }
}

// Tags that contradict the parameters that the nodes read. Adds the modules of
// the parameters to `tags`.
void CheckTagsByLaws(const Model& model, Tagging& tags, Findings& findings) {
  for (const LawFinding& law : CheckLaws(model, tags)) {
    if (!law.is_breach()) continue;
    findings.Add(EnumToWord(kLawNames, law.law), law.node, "{}",
                 Ours{LawText(law, tags.modules, tags.tags[law.node])});
  }
}

// What rows of `modules` say of their nodes, against the rows of `nodes`.
void CheckModuleCounts(const Sidecar& sidecar, Findings& findings) {
  const ModuleTree& tree = sidecar.tagging.modules;
  const ModuleCounts counts(sidecar.tagging);
  const auto compare = [&](ModuleId id, std::optional<std::uint64_t> said,
                           std::uint64_t is, std::string_view what) {
    if (!said || *said == is) return;
    findings.Add("wrong-count", kNo<NodeId>,
                 "module {} has {} {}, but the list of nodes has {}; tag the "
                 "model again with --force to write a new sidecar",
                 tree.Shown(id), WithThousands(*said), what, WithThousands(is));
  };
  for (const ModuleId id : AllIds<ModuleId>(sidecar.counts.size())) {
    const SidecarCounts& said = sidecar.counts[id];
    compare(id, said.nodes, counts.Own(id), "nodes of its own");
    compare(id, said.total_nodes, counts.Total(id),
            "nodes with its submodules");
  }
}

// A sidecar in itself: counts, and modules that it does not list. `glance` is
// what its head and its statistics say.
void CheckSidecar(const Sidecar& sidecar,
                  const std::optional<SidecarGlance>& glance,
                  Findings& findings) {
  const Tagging& tagging = sidecar.tagging;
  CheckModuleCounts(sidecar, findings);
  // Modules are listed before nodes; one that came later is on no list.
  std::size_t listed = tagging.facts.size();
  for (const NodeId node : AllIds<NodeId>(tagging.tags.size())) {
    const Tag& tag = tagging.tags[node];
    if (!tag.tagged() || Index(tag.module) < listed) continue;
    findings.Add("missing-module", node,
                 "its module {} is not in the sidecar's list of modules",
                 tagging.modules.Shown(tag.module));
  }
  if (!glance) return;
  const Coverage counted = CountTags(tagging);
  const auto compare = [&](std::string_view what, std::uint64_t said,
                           std::uint64_t is) {
    if (said == is) return;
    findings.Add("wrong-count", kNo<NodeId>,
                 "the statistics count {} {}, but the list of nodes has {}",
                 WithThousands(said), what, WithThousands(is));
  };
  compare("nodes", glance->coverage.nodes, counted.nodes);
  compare("tagged nodes", glance->coverage.tagged, counted.tagged);
  for (std::size_t i = 0; i < kConfidenceNames.size(); ++i) {
    compare(Message("nodes of confidence {}", kConfidenceNames[i]),
            glance->coverage.by_confidence[i], counted.by_confidence[i]);
  }
  for (std::size_t i = 0; i < kSourceNames.size(); ++i) {
    compare(Message("nodes of source {}", kSourceNames[i]),
            glance->coverage.by_source[i], counted.by_source[i]);
  }
}

// A sidecar against the model it lies beside. `tags` are those in the file,
// where there are some.
void CheckSidecarOf(const Sidecar& sidecar, const Model& model,
                    const Tagging* tags, Findings& findings) {
  if (!BelongsTo(sidecar, model)) {
    findings.Add("other-graph", kNo<NodeId>,
                 "the sidecar belongs to another graph: fingerprint {} and {}, "
                 "not {} and {}",
                 Quoted(sidecar.model.fingerprint),
                 Count(sidecar.graph.node_count(), "node"),
                 Quoted(Fingerprint(model)), Count(model.node_count(), "node"));
    return;
  }
  if (tags == nullptr) return;
  for (const NodeId node : model.Nodes()) {
    const std::string in_file = ModuleOf(*tags, node, "nothing");
    const std::string beside = ModuleOf(sidecar.tagging, node, "nothing");
    if (in_file == beside) continue;
    findings.Add("sidecar-differs", node,
                 "the tag names {}, but the sidecar names {}", in_file, beside);
  }
}

// Findings of one rule that the text shows; --json has all.
constexpr std::size_t kMostOfRule = 10;

// Everything that `check` looks at, and what it found.
struct Checked {
  std::string sidecar;  // the file; empty: none
  std::string_view tags_from;
  const Model* file = nullptr;  // null: a sidecar alone, and
  Model graph;                  // ... what it says
  Tagging tagging;              // what gates are about
  Findings findings;

  const Model& model() const { return file != nullptr ? *file : graph; }
};

// The sidecar in a file, once it is checked in itself.
Sidecar ReadChecked(const std::string& path, Findings& findings) {
  return ReadMapped(path, [&](Bytes bytes) {
    Sidecar sidecar = ReadSidecar(bytes);
    CheckSidecar(sidecar, GlanceAtSidecar(bytes), findings);
    return sidecar;
  });
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
  Sidecar sidecar = ReadChecked(options.model, checked.findings);
  checked.graph = std::move(sidecar.graph);
  checked.tagging = std::move(sidecar.tagging);
  return checked;
}

Checked CheckModel(const CheckOptions& options, const ModelFile& file) {
  const Model& model = file.model();
  Checked checked;
  checked.file = &model;
  checked.sidecar = SidecarToCheck(options);
  CheckEntries(model, checked.findings);
  if (HasTags(model)) checked.tagging = ReadTagging(model);
  // None where only keys for other programs were written.
  const bool in_file = CountTags(checked.tagging).tagged > 0;
  if (in_file) {
    checked.tags_from = TaggedModel::kInFile;
    CheckStale(model, checked.tagging, checked.findings);
  }
  if (!checked.sidecar.empty()) {
    Sidecar sidecar = ReadChecked(checked.sidecar, checked.findings);
    CheckSidecarOf(sidecar, model, in_file ? &checked.tagging : nullptr,
                   checked.findings);
    if (!in_file && sidecar.graph.node_count() == model.node_count()) {
      checked.tagging = std::move(sidecar.tagging);
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

// "#17 MatMul /encoder/MatMul"
Finding Shown(const Checked& checked, const TagFinding& finding) {
  const std::string where = finding.node == kNo<NodeId>
                                ? ""
                                : NodeText(checked.model(), finding.node, 100);
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
  data.Set("findings", ListOf(checked.findings, [&](const TagFinding& finding) {
             return Datum::Object(
                 {{"rule", finding.rule},
                  {"node", finding.node == kNo<NodeId>
                               ? Datum()
                               : NodeValue(checked.model(), finding.node)},
                  {"message", finding.message}});
           }));
  return data;
}

// As `tag` reports a model.
void Report(const CheckOptions& options, const Checked& checked,
            Terminal& terminal) {
  const Coverage coverage = CountTags(checked.tagging);
  const auto findings = Mapped(
      checked.findings,
      [&](const TagFinding& finding) { return Shown(checked, finding); });
  ReportAlone(options.model, CoverageText(coverage), TaggedMembers(coverage),
              findings,
              coverage.tagged > 0
                  ? ""
                  : "\n  1 file got no tag: " +
                        WhyUntagged(coverage.nodes, checked.tagging.dialect),
              options.format, terminal);
}

}  // namespace

Result RunCheck(const CheckOptions& options, Terminal& terminal) {
  std::optional<ModelFile> file;
  Checked checked;
  if (IsSidecarName(options.model)) {
    checked = CheckSidecarAlone(options);
  } else {
    file.emplace(OpenModel(options.model, terminal));
    checked = CheckModel(options, *file);
  }
  if (checked.tags_from == TaggedModel::kMapped) {
    terminal.Note("no tags to check; mapped the model for the gates");
  }
  DropWeaker(options.source.mapping.min_confidence, checked.tagging);
  for (std::string& gate : UnmetGates(checked.tagging, options.gates)) {
    checked.findings.push_back({"gate", kNo<NodeId>, std::move(gate)});
  }
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
