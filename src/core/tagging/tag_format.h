// The storage of a tag in a node's metadata_props. The writer, the reader and
// strip use it. docs/reference/tag-format.md describes the same format.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onnx_tag/model.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag::keys {

inline constexpr std::string_view kPrefix = "pkg.onnx_tag.";

// On nodes.
inline constexpr std::string_view kHierarchyTag = "pkg.onnx_tag.hierarchy_tag";
inline constexpr std::string_view kModule = "pkg.onnx_tag.module";
inline constexpr std::string_view kClass = "pkg.onnx_tag.class";
// The module that the last segment of the hierarchy tag names.
inline constexpr std::string_view kTagModule = "pkg.onnx_tag.tag_module";
// The weakest class in the hierarchy tag.
inline constexpr std::string_view kTagClassConfidence =
    "pkg.onnx_tag.tag_class_confidence";
inline constexpr std::string_view kSemantic = "pkg.onnx_tag.semantic";
inline constexpr std::string_view kLayer = "pkg.onnx_tag.layer";
inline constexpr std::string_view kAttentionKind =
    "pkg.onnx_tag.attention_kind";
inline constexpr std::string_view kSemanticConfidence =
    "pkg.onnx_tag.semantic_confidence";
inline constexpr std::string_view kConfidence = "pkg.onnx_tag.confidence";
inline constexpr std::string_view kSource = "pkg.onnx_tag.source";
// The kind of evidence.
inline constexpr std::string_view kEvidence = "pkg.onnx_tag.evidence";
// The line of code, as `source_line` in the sidecar.
inline constexpr std::string_view kSourceLine = "pkg.onnx_tag.source_line";
// The other modules of a fused node, a JSON list of paths.
inline constexpr std::string_view kOrigins = "pkg.onnx_tag.origins";
// The name before `tag --rename-nodes`; without a value: the node had none.
inline constexpr std::string_view kNodeName = "pkg.onnx_tag.node_name";
// Lists the keys for other programs that we wrote on this node.
inline constexpr std::string_view kWrote = "pkg.onnx_tag.wrote";

// On the model.
inline constexpr std::string_view kVersion = "pkg.onnx_tag.version";
inline constexpr std::string_view kStrategy = "pkg.onnx_tag.strategy";
// What a sidecar says of modules and of the root (WriteModuleTable).
inline constexpr std::string_view kModules = "pkg.onnx_tag.modules";
// Initializers that were renamed, {"new name": "old name"}: strip undoes it.
inline constexpr std::string_view kRenamed = "pkg.onnx_tag.renamed";
// Widths of padded length prefixes that cannot be computed from the lengths:
// "<message>:<width>,...", with messages numbered along the file's spine.
inline constexpr std::string_view kLayout = "pkg.onnx_tag.layout";

// Keys for other programs, written on request if they are missing.
inline constexpr std::string_view kNamespace = "namespace";
inline constexpr std::string_view kLayerAnn = "layer_ann";
inline constexpr std::string_view kNameScopes = "pkg.torch.onnx.name_scopes";
inline constexpr std::string_view kClassHierarchy =
    "pkg.torch.onnx.class_hierarchy";

inline bool IsOurs(std::string_view key) { return key.starts_with(kPrefix); }

}  // namespace onnx_tag::keys

namespace onnx_tag {

// The entries of a node that strip removes: ours, and those in `wrote`.
std::vector<const MetadataEntry*> OurEntries(const Model& model, NodeId node);

// Whether another program gave the node this key, even with an empty value.
bool HasForeignKey(const Model& model, NodeId node, std::string_view key);

// A metadata value that the exporter wrote; "" if we wrote it.
std::string_view ForeignMetadata(const Model& model, NodeId node,
                                 std::string_view key);

// The first entry with this key; null if there is none.
const MetadataEntry* FindEntry(std::span<const MetadataEntry> entries,
                               std::string_view key);

// The entry with the old name of a renamed node; else null.
inline const MetadataEntry* OldNameEntry(const Model& model, NodeId node) {
  return FindEntry(model.Metadata(node), keys::kNodeName);
}

// The name that the exporter gave the node.
inline std::string_view ExporterName(const Model& model, NodeId node) {
  if (model[node].metadata_count == 0) return model[node].name;  // as most
  const MetadataEntry* const old = OldNameEntry(model, node);
  return old == nullptr ? model[node].name : old->value;
}

// The value of `origins`; none if it is damaged.
std::optional<std::vector<std::string>> ReadPaths(std::string_view value);

// The modules of a tagged model as one entry of its metadata: what a sidecar
// says of modules and of the root, and no node can say.

// The place of each module in All(). Ids also count modules that a mapping left
// out, places are the same whatever the tree was read from.
IdVector<ModuleId, std::uint32_t> PlacesOf(const ModuleTree& tree);

// 20 to 25 bytes for a usual module.
std::string WriteModuleTable(const Tagging& tagging);

// Adds what the entry says to an empty tagging. Returns what is wrong with a
// malformed entry, of which nothing is added; "" if nothing is.
std::string ReadModuleTable(std::string_view entry, Tagging& tagging);

// The same for the entry of a model that has one.
std::string ReadModuleTable(const Model& model, Tagging& tagging);

}  // namespace onnx_tag
