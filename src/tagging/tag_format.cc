#include "tagging/tag_format.h"

#include <algorithm>

#include "base/text.h"

namespace onnx_tag {
namespace {

std::string_view Wrote(std::span<const MetadataEntry> entries) {
  for (const MetadataEntry& entry : entries) {
    if (entry.key == keys::kWrote) return entry.value;
  }
  return {};
}

bool Lists(std::string_view comma_list, std::string_view key) {
  if (comma_list.empty()) return false;
  const std::vector<std::string_view> listed = Split(comma_list, ',');
  return std::find(listed.begin(), listed.end(), key) != listed.end();
}

}  // namespace

std::vector<const MetadataEntry*> OurEntries(const Model& model, NodeId node) {
  std::vector<const MetadataEntry*> ours;
  const std::span<const MetadataEntry> entries = model.Metadata(node);
  const std::string_view wrote = Wrote(entries);
  for (const MetadataEntry& entry : entries) {
    if (keys::IsOurs(entry.key) || Lists(wrote, entry.key)) {
      ours.push_back(&entry);
    }
  }
  return ours;
}

bool HasForeignKey(const Model& model, NodeId node, std::string_view key) {
  const std::span<const MetadataEntry> entries = model.Metadata(node);
  return std::any_of(entries.begin(), entries.end(),
                     [&](const MetadataEntry& entry) {
                       return entry.key == key;
                     }) &&
         !Lists(Wrote(entries), key);
}

std::string_view ForeignMetadata(const Model& model, NodeId node,
                                 std::string_view key) {
  const std::span<const MetadataEntry> entries = model.Metadata(node);
  for (const MetadataEntry& entry : entries) {
    if (entry.key == key && !entry.value.empty()) {
      return Lists(Wrote(entries), key) ? std::string_view() : entry.value;
    }
  }
  return {};
}

}  // namespace onnx_tag
