// Reads the tags of a tagged file.
#include <charconv>
#include <optional>

#include "base/text.h"
#include "core/tagging/module_format.h"
#include "core/tagging/node_json.h"
#include "core/tagging/role_index.h"
#include "core/tagging/tag_format.h"
#include "core/tagging/words.h"
#include "onnx_tag/error.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag {

bool HasTags(const Model& model) {
  return FindEntry(model.metadata(), keys::kVersion) != nullptr;
}

namespace {

// Modules up to the one that the tag names have the same tag.
void ShareTag(Tagging& tagging, ModuleId module, std::string_view tag_module) {
  const ModuleId last = tagging.modules.Find(tag_module);
  if (last == kNo<ModuleId>) return;
  const std::string tag = tagging.Give(module).hierarchy_tag;
  while (module != last && module != ModuleTree::kRoot) {
    module = tagging.modules.Parent(module);
    if (tagging.given[module].hierarchy_tag == tag) return;
    tagging.given[module].hierarchy_tag = tag;
  }
}

// A damaged entry is no line.
void ReadLine(std::string_view value, NodeId node, SourceLines& lines) {
  try {
    json::Reader json(value, ErrorKind::kInput);
    if (const std::optional<ReadSourceLine> line = TakeSourceLine(json)) {
      lines.Set(node, line->view());
    }
  } catch (const Error&) {
  }
}

// What nodes say of their modules. Views of the file.
struct SaidPaths {
  std::string_view hierarchy_tag;
  std::string_view tag_module;
};

// Gives the modules the tags that their nodes have, except those that are made
// from the classes anyway.
void GiveTags(const IdVector<ModuleId, SaidPaths>& said, Tagging& tagging) {
  std::vector<ModuleId> others;
  {
    const ModuleFormat format(tagging);
    for (const ModuleId id : AllIds<ModuleId>(said.size())) {
      if (!said[id].hierarchy_tag.empty() &&
          (tagging.facts.empty() ||
           format.HierarchyTag(id) != said[id].hierarchy_tag)) {
        others.push_back(id);
      }
    }
  }
  for (const ModuleId id : others) {
    tagging.Give(id).hierarchy_tag = said[id].hierarchy_tag;
    if (said[id].tag_module.data() != nullptr) {
      ShareTag(tagging, id, said[id].tag_module);
    }
  }
}

// What a model of version 0.2 does not say itself: the root's class, and which
// modules were found in the graph.
void CompleteOld(Tagging& tagging) {
  // The first segment of any tag is the root's class.
  for (const GivenPaths& given : tagging.given) {
    if (!tagging.root.name.empty() || given.hierarchy_tag.size() < 2) continue;
    const std::string_view tag = given.hierarchy_tag;
    const std::string_view root = tag.substr(1, tag.find('/', 1) - 1);
    if (root != "Model") tagging.root.name = root;
  }
  ListFound(tagging);
}

}  // namespace

std::string ReadModuleTable(const Model& model, Tagging& tagging) {
  const MetadataEntry* const entry =
      FindEntry(model.metadata(), keys::kModules);
  return entry == nullptr ? "" : ReadModuleTable(entry->value, tagging);
}

Tagging ReadTagging(const Model& model) {
  Tagging tagging;
  const std::string fault = ReadModuleTable(model, tagging);
  if (!fault.empty()) {
    tagging.notes.push_back(
        Message("the model entry '{}' cannot be read, so the classes of "
                "modules without nodes are not known; tag the model again: {}",
                keys::kModules, Short{fault, 200}));
  }
  const bool old = tagging.facts.empty();
  RoleIndex roles(tagging);
  IdVector<ModuleId, SaidPaths> said;
  tagging.tags.resize(model.node_count());
  for (const MetadataEntry& entry : model.metadata()) {
    if (entry.key == keys::kStrategy) tagging.strategy = entry.value;
  }
  for (const NodeId node : model.Nodes()) {
    Tag& tag = tagging.tags[node];
    Role role;
    std::string_view name;
    std::string_view hierarchy_tag;
    std::string_view tag_module;
    std::optional<EvidenceKind> evidence;
    for (const auto& [key, value, whole] : model.Metadata(node)) {
      if (!keys::IsOurs(key)) continue;
      if (key == keys::kModule) tag.module = tagging.modules.Add(value);
      if (key == keys::kClass) name = value;
      if (key == keys::kHierarchyTag) hierarchy_tag = value;
      if (key == keys::kTagModule) tag_module = value;
      if (key == keys::kSemantic) {
        const std::string_view type = value.substr(0, value.find('/'));
        role.type = WordOr(kRoleTypeNames, type, RoleType::kOther);
        if (type != value) role.component = value.substr(type.size() + 1);
      }
      if (key == keys::kAttentionKind) {
        role.attention_kind =
            WordOr(kAttentionKindNames, value, AttentionKind::kNone);
      }
      if (key == keys::kLayer) {
        std::from_chars(value.data(), value.data() + value.size(), role.layer);
      }
      if (key == keys::kSemanticConfidence) {
        role.confidence = WordOr(kConfidenceNames, value, Confidence::kLow);
      }
      if (key == keys::kConfidence) {
        tag.confidence = WordOr(kConfidenceNames, value, Confidence::kLow);
      }
      if (key == keys::kSource) {
        tag.source = WordOr(kSourceNames, value, Source::kScope);
      }
      if (key == keys::kEvidence) {
        evidence = WordToEnum<EvidenceKind>(kEvidenceNames, value);
      }
      if (key == keys::kOrigins) {
        // A damaged entry names none.
        for (const std::string& path :
             ReadPaths(value).value_or(std::vector<std::string>())) {
          tagging.origins.push_back({node, tagging.modules.Add(path)});
        }
      }
      if (key == keys::kSourceLine) ReadLine(value, node, tagging.lines);
    }
    if (!tag.tagged()) continue;
    tag.evidence = evidence.value_or(EvidenceOf(tag.source, tag.confidence));
    tag.role = roles.Add(role);
    if (!name.empty()) tagging.modules.SetClass(tag.module, name);
    // An auxiliary operation has its own tag, not the tag of its module.
    if (tag.source != Source::kAuxiliary) {
      said.Grown(tag.module) = {hierarchy_tag, tag_module};
    }
    if (old && tag.module == ModuleTree::kRoot) tagging.root.name = name;
  }
  GiveTags(said, tagging);
  if (old) CompleteOld(tagging);
  return tagging;
}

}  // namespace onnx_tag
