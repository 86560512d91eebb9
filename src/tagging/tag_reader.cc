// Reads the tags of a tagged file.
#include <algorithm>
#include <charconv>
#include <optional>

#include "onnx_tag/error.h"
#include "onnx_tag/tagging.h"
#include "tagging/line_json.h"
#include "tagging/role_index.h"
#include "tagging/tag_format.h"
#include "tagging/words.h"

namespace onnx_tag {

bool HasTags(const Model& model) {
  for (const MetadataEntry& entry : model.metadata()) {
    if (entry.key == keys::kVersion) return true;
  }
  return false;
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

}  // namespace

Tagging ReadTagging(const Model& model) {
  Tagging tagging;
  RoleIndex roles(tagging);
  tagging.tags.resize(model.node_count());
  for (const MetadataEntry& entry : model.metadata()) {
    if (entry.key == keys::kStrategy) tagging.strategy = entry.value;
  }
  for (const NodeId node : model.Nodes()) {
    Tag& tag = tagging.tags[node];
    Role role;
    std::string_view name;
    std::string_view hierarchy_tag;
    const MetadataEntry* tag_module = nullptr;
    for (const MetadataEntry& entry : model.Metadata(node)) {
      if (!keys::IsOurs(entry.key)) continue;
      if (entry.key == keys::kModule) {
        tag.module = tagging.modules.Add(entry.value);
      } else if (entry.key == keys::kClass) {
        name = entry.value;
      } else if (entry.key == keys::kHierarchyTag) {
        hierarchy_tag = entry.value;
      } else if (entry.key == keys::kSemantic) {
        const std::size_t slash = entry.value.find('/');
        role.type =
            WordToEnum<RoleType>(kRoleTypeNames, entry.value.substr(0, slash))
                .value_or(RoleType::kOther);
        if (slash != std::string_view::npos) {
          role.component = entry.value.substr(slash + 1);
        }
      } else if (entry.key == keys::kTagModule) {
        tag_module = &entry;
      } else if (entry.key == keys::kAttentionKind) {
        role.attention_kind =
            WordToEnum<AttentionKind>(kAttentionKindNames, entry.value)
                .value_or(AttentionKind::kNone);
      } else if (entry.key == keys::kLayer) {
        std::from_chars(entry.value.data(),
                        entry.value.data() + entry.value.size(), role.layer);
      } else if (entry.key == keys::kSemanticConfidence) {
        role.confidence = WordToEnum<Confidence>(kConfidenceNames, entry.value)
                              .value_or(Confidence::kLow);
      } else if (entry.key == keys::kConfidence) {
        tag.confidence = WordToEnum<Confidence>(kConfidenceNames, entry.value)
                             .value_or(Confidence::kLow);
      } else if (entry.key == keys::kSourceLine) {
        ReadLine(entry.value, node, tagging.lines);
      } else if (entry.key == keys::kSource) {
        tag.source = WordToEnum<Source>(kSourceNames, entry.value)
                         .value_or(Source::kScope);
      }
    }
    if (!tag.tagged()) continue;
    tag.role = roles.Add(role);
    if (!name.empty()) tagging.modules.SetClass(tag.module, name);
    if (tagging.facts.size() < tagging.modules.size()) {
      tagging.facts.resize(tagging.modules.size());
    }
    // An auxiliary operation has its own tag, not the tag of its module.
    if (tag.source != Source::kAuxiliary) {
      tagging.Give(tag.module).hierarchy_tag = hierarchy_tag;
      if (tag_module != nullptr) {
        ShareTag(tagging, tag.module, tag_module->value);
      }
    }
    if (tag.module == ModuleId{0}) tagging.root.name = name;
  }
  // The first segment of any tag is the root's class.
  for (const GivenPaths& given : tagging.given) {
    if (!tagging.root.name.empty() || given.hierarchy_tag.size() < 2) continue;
    const std::string_view tag = given.hierarchy_tag;
    const std::string_view root = tag.substr(1, tag.find('/', 1) - 1);
    if (root != "Model") tagging.root.name = root;
  }
  ListFound(tagging);
  return tagging;
}

}  // namespace onnx_tag
