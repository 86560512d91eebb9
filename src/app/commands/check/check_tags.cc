#include "app/commands/check/check_tags.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "app/commands/read/modules.h"
#include "base/parse_number.h"
#include "base/text.h"
#include "core/tagging/module_format.h"
#include "core/tagging/module_table.h"
#include "core/tagging/renames.h"
#include "core/tagging/tag_format.h"
#include "core/tagging/words.h"
#include "mapping/mapping/laws.h"

namespace onnx_tag {
namespace {

constexpr std::array<std::string_view, 13> kNodeKeys = {
    keys::kHierarchyTag, keys::kModule,        keys::kClass,
    keys::kTagModule,    keys::kSemantic,      keys::kSemanticConfidence,
    keys::kLayer,        keys::kAttentionKind, keys::kConfidence,
    keys::kSource,       keys::kSourceLine,    keys::kOrigins,
    keys::kWrote};
constexpr std::array<std::string_view, 5> kModelKeys = {
    keys::kVersion, keys::kStrategy, keys::kModules, keys::kLayout,
    keys::kRenamed};

template <std::size_t kCount>
bool Has(const std::array<std::string_view, kCount>& words,
         std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string Quoted(std::string_view text) {
  return Message("'{}'", Short{text, 100});
}

// The entries of one node.
class NodeEntries {
 public:
  NodeEntries(const Model& model, NodeId node,
              std::vector<TagFinding>& findings)
      : entries_(model.Metadata(node)), node_(node), findings_(findings) {}

  bool any() const {
    return std::any_of(
        entries_.begin(), entries_.end(),
        [](const MetadataEntry& entry) { return keys::IsOurs(entry.key); });
  }

  void Check() {
    std::array<int, kNodeKeys.size()> times = {};
    for (const MetadataEntry& entry : entries_) {
      if (!keys::IsOurs(entry.key)) continue;
      const auto at = std::find(kNodeKeys.begin(), kNodeKeys.end(), entry.key);
      if (at == kNodeKeys.end()) {
        Add("unknown-key", Quoted(entry.key) + " is not a key of onnx-tag");
        continue;
      }
      if (++times[static_cast<std::size_t>(at - kNodeKeys.begin())] == 2) {
        Add("duplicate-key", Quoted(entry.key) + " occurs twice");
      }
      CheckValue(entry);
    }
    CheckComplete();
  }

  std::string_view Value(std::string_view key) const {
    for (const MetadataEntry& entry : entries_) {
      if (entry.key == key) return entry.value;
    }
    return {};
  }
  bool Has(std::string_view key) const {
    return std::any_of(
        entries_.begin(), entries_.end(),
        [&](const MetadataEntry& entry) { return entry.key == key; });
  }

 private:
  void Add(std::string_view rule, std::string message) {
    findings_.push_back({rule, node_, std::move(message)});
  }

  void CheckValue(const MetadataEntry& entry) {
    const std::string_view value = entry.value;
    bool good = true;
    if (entry.key == keys::kConfidence ||
        entry.key == keys::kSemanticConfidence) {
      good = WordToEnum<Confidence>(kConfidenceNames, value).has_value();
    } else if (entry.key == keys::kSource) {
      good = WordToEnum<Source>(kSourceNames, value).has_value();
    } else if (entry.key == keys::kSemantic) {
      good =
          WordToEnum<RoleType>(kRoleTypeNames, value.substr(0, value.find('/')))
              .has_value();
    } else if (entry.key == keys::kOrigins) {
      good = ReadPaths(value).has_value();
    } else if (entry.key == keys::kHierarchyTag) {
      good = value.starts_with('/');
    } else if (entry.key == keys::kLayer) {
      good = ParseWhole<std::uint32_t>(value).has_value();
    }
    if (!good) {
      Add("bad-value", Message("{} has the invalid value {}", Quoted(entry.key),
                               Quoted(value)));
    }
  }

  void CheckComplete() {
    for (const std::string_view key : {keys::kModule, keys::kHierarchyTag,
                                       keys::kConfidence, keys::kSource}) {
      // Keys for other programs may stand without ours.
      if (Has(key) || OnlyWrote()) continue;
      Add("incomplete-tag", Message("{} is missing", Quoted(key)));
    }
    for (const std::string_view key : Split(Value(keys::kWrote), ',')) {
      if (key.empty() || Has(key)) continue;
      Add("missing-key", Message("{} is missing, but {} lists it", Quoted(key),
                                 Quoted(keys::kWrote)));
    }
  }

  bool OnlyWrote() const {
    return std::all_of(
        entries_.begin(), entries_.end(), [](const MetadataEntry& entry) {
          return !keys::IsOurs(entry.key) || entry.key == keys::kWrote;
        });
  }

  std::span<const MetadataEntry> entries_;
  NodeId node_;
  std::vector<TagFinding>& findings_;
};

void CheckModelEntries(const Model& model, bool tagged,
                       std::vector<TagFinding>& findings) {
  std::array<int, kModelKeys.size()> times = {};
  for (const MetadataEntry& entry : model.metadata()) {
    if (!keys::IsOurs(entry.key)) continue;
    const auto at = std::find(kModelKeys.begin(), kModelKeys.end(), entry.key);
    if (at == kModelKeys.end()) {
      findings.push_back({"unknown-key", kNo<NodeId>,
                          Quoted(entry.key) + " is not a key of onnx-tag"});
    } else if (++times[static_cast<std::size_t>(at - kModelKeys.begin())] ==
               2) {
      findings.push_back(
          {"duplicate-key", kNo<NodeId>, Quoted(entry.key) + " occurs twice"});
    }
  }
  const std::string fault = ReadRenames(model).fault;
  if (!fault.empty()) {
    findings.push_back(
        {"bad-value", kNo<NodeId>, Quoted(keys::kRenamed) + ": " + fault});
  }
  if (tagged && times[0] == 0) {
    findings.push_back(
        {"incomplete-tag", kNo<NodeId>,
         Message("nodes are tagged, but the model entry {} is missing",
                 Quoted(keys::kVersion))});
  }
}

// The list of modules in the model's metadata.
class ModuleEntry {
 public:
  ModuleEntry(const Model& model, std::vector<TagFinding>& findings)
      : fault_(ReadModuleTable(model, listed_)), format_(listed_) {
    if (fault_.empty()) return;
    findings.push_back(
        {"bad-value", kNo<NodeId>,
         Message("{}: {}", Quoted(keys::kModules), Short{fault_, 200})});
  }

  // What the first node of a module says of it.
  void Compare(NodeId node, std::string_view path, std::string_view class_name,
               std::string_view tag, std::vector<TagFinding>& findings) const {
    if (listed_.facts.empty()) return;
    const ModuleId id = listed_.modules.Find(path);
    if (id == kNo<ModuleId>) {
      findings.push_back({"missing-module", node,
                          Message("its module {} is not in {}", ShownPath(path),
                                  Quoted(keys::kModules))});
      return;
    }
    const std::string_view listed_class = listed_.modules.Class(id);
    const std::string listed_tag = format_.HierarchyTag(id);
    if (class_name == listed_class && tag == listed_tag) return;
    findings.push_back(
        {"module-conflict", node,
         Message("module {} has {} {} here, but {} {} in {}", ShownPath(path),
                 Quoted(class_name), Quoted(tag), Quoted(listed_class),
                 Quoted(listed_tag), Quoted(keys::kModules))});
  }

 private:
  Tagging listed_;
  const std::string fault_;
  const ModuleFormat format_;
};

// Sources that the file's own names cannot contradict.
bool IsFromOutside(Source source) {
  return source == Source::kTransfer || source == Source::kRule ||
         source == Source::kHierarchy || source == Source::kTrace ||
         source == Source::kFx || source == Source::kAuxiliary ||
         source == Source::kStructure;
}

}  // namespace

void CheckEntries(const Model& model, std::vector<TagFinding>& findings) {
  struct Said {
    NodeId node;
    std::string_view class_name;
    std::string_view tag;
  };
  std::unordered_map<std::string_view, Said> modules;
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
    const Said said{node, entries.Value(keys::kClass),
                    entries.Value(keys::kHierarchyTag)};
    const auto [at, added] =
        modules.try_emplace(entries.Value(keys::kModule), said);
    if (added) {
      listed.Compare(node, at->first, said.class_name, said.tag, findings);
      continue;
    }
    if (said.class_name != at->second.class_name ||
        said.tag != at->second.tag) {
      findings.push_back(
          {"module-conflict", node,
           Message("module {} has {} {} here, but {} {} at an earlier node",
                   ShownPath(at->first), Quoted(said.class_name),
                   Quoted(said.tag), Quoted(at->second.class_name),
                   Quoted(at->second.tag))});
    }
  }
  CheckModelEntries(model, tagged, findings);
}

void CheckStale(const Model& model, const Tagging& tags,
                std::vector<TagFinding>& findings) {
  const auto strategies = Strategies();
  MappingOptions options;
  options.strategy = tags.strategy;
  const bool known = std::any_of(
      strategies.begin(), strategies.end(),
      [&](const StrategyInfo& info) { return info.name == tags.strategy; });
  if (!known) return;
  Tagging now;
  try {
    now = MapNodes(model, options);
  } catch (const std::exception&) {
    return;  // a strategy that needs a recording
  }
  for (const NodeId node : model.Nodes()) {
    const Tag& tag = tags.tags[node];
    const Tag& fresh = now.tags[node];
    if (!tag.tagged() || !fresh.tagged() || IsFromOutside(tag.source) ||
        fresh.confidence < Confidence::kHigh) {
      continue;
    }
    const std::string said = tags.modules.Path(tag.module);
    const std::string is = now.modules.Path(fresh.module);
    if (said == is) continue;
    findings.push_back(
        {"stale-tag", node,
         Message("the tag names {}, but the file now indicates {} ({})",
                 ShownPath(said), ShownPath(is),
                 EnumToWord(kConfidenceNames, fresh.confidence))});
  }
}

void CheckTagsByLaws(const Model& model, Tagging& tags,
                     std::vector<TagFinding>& findings) {
  for (const LawFinding& law : CheckLaws(model, tags)) {
    if (!law.is_breach()) continue;
    findings.push_back({EnumToWord(kLawNames, law.law), law.node,
                        LawText(law, tags.modules, tags.tags[law.node])});
  }
}

namespace {

// What rows of `modules` say of their nodes, against the rows of `nodes`.
void CheckModuleCounts(const Sidecar& sidecar,
                       std::vector<TagFinding>& findings) {
  const ModuleTree& tree = sidecar.tagging.modules;
  const ModuleCounts counts(sidecar.tagging);
  const auto compare = [&](ModuleId id, std::optional<std::uint64_t> said,
                           std::uint64_t is, std::string_view what) {
    if (!said || *said == is) return;
    findings.push_back(
        {"wrong-count", kNo<NodeId>,
         Message("module {} has {} {}, but the list of nodes has {}; tag the "
                 "model again with --force to write a new sidecar",
                 tree.Shown(id), WithThousands(*said), what,
                 WithThousands(is))});
  };
  for (const ModuleId id : AllIds<ModuleId>(sidecar.counts.size())) {
    const SidecarCounts& said = sidecar.counts[id];
    compare(id, said.nodes, counts.Own(id), "nodes of its own");
    compare(id, said.total_nodes, counts.Total(id),
            "nodes with its submodules");
  }
}

}  // namespace

void CheckSidecar(const Sidecar& sidecar, const SidecarGlance* glance,
                  std::vector<TagFinding>& findings) {
  const Tagging& tagging = sidecar.tagging;
  CheckModuleCounts(sidecar, findings);
  // Modules are listed before nodes; one that came later is on no list.
  std::size_t listed = tagging.facts.size();
  for (const NodeId node : AllIds<NodeId>(tagging.tags.size())) {
    const Tag& tag = tagging.tags[node];
    if (!tag.tagged() || Index(tag.module) < listed) continue;
    findings.push_back(
        {"missing-module", node,
         Message("its module {} is not in the sidecar's list of modules",
                 tagging.modules.Shown(tag.module))});
  }
  if (glance == nullptr) return;
  const Coverage counted = CountTags(tagging);
  const auto compare = [&](std::string_view what, std::uint64_t said,
                           std::uint64_t is) {
    if (said == is) return;
    findings.push_back(
        {"wrong-count", kNo<NodeId>,
         Message("the statistics count {} {}, but the list of nodes has {}",
                 WithThousands(said), what, WithThousands(is))});
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

void CheckSidecarOf(const Sidecar& sidecar, const Model& model,
                    const Tagging* tags, std::vector<TagFinding>& findings) {
  if (IsOldFingerprint(sidecar.model.fingerprint)) {
    const bool fits = BelongsTo(sidecar, model);
    findings.push_back(
        {"old-fingerprint", kNo<NodeId>,
         Message("the sidecar's fingerprint was made the old way, by "
                 "version 0.1; its nodes {} the model: tag the model again",
                 fits ? "fit" : "do not fit")});
    if (!fits) return;
  } else if (sidecar.model.fingerprint != Fingerprint(model)) {
    findings.push_back(
        {"other-graph", kNo<NodeId>,
         Message("the sidecar belongs to another graph: fingerprint {} and {}, "
                 "not {} and {}",
                 Quoted(sidecar.model.fingerprint),
                 Count(sidecar.graph.node_count(), "node"),
                 Quoted(Fingerprint(model)),
                 Count(model.node_count(), "node"))});
    return;
  }
  if (sidecar.graph.node_count() != model.node_count()) {
    findings.push_back({"wrong-count", kNo<NodeId>,
                        Message("the sidecar has {}, but the model has {}",
                                Count(sidecar.graph.node_count(), "node"),
                                Count(model.node_count(), "node"))});
    return;
  }
  if (tags == nullptr) return;
  for (const NodeId node : model.Nodes()) {
    const auto module = [&](const Tagging& tagging) {
      const Tag& tag = tagging.tags[node];
      return tag.tagged() ? tagging.modules.Shown(tag.module)
                          : std::string("nothing");
    };
    const std::string in_file = module(*tags);
    const std::string beside = module(sidecar.tagging);
    if (in_file == beside) continue;
    findings.push_back({"sidecar-differs", node,
                        Message("the tag names {}, but the sidecar names {}",
                                in_file, beside)});
  }
}

}  // namespace onnx_tag
