#include "core/tagging/tag_format.h"

#include <algorithm>
#include <array>

#include "base/lists.h"
#include "base/text.h"
#include "file/json/reader.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

// The keys for other programs that we write. If `wrote` lists another key, it
// is damaged or hostile, and strip must not remove that key.
constexpr std::array<std::string_view, 4> kWritable = {
    keys::kNamespace, keys::kLayerAnn, keys::kNameScopes,
    keys::kClassHierarchy};

// Those that we wrote on a node. Computed once per node, because both the list
// and the entries may be long.
std::vector<std::string_view> WroteOn(std::span<const MetadataEntry> entries) {
  const MetadataEntry* const entry = FindEntry(entries, keys::kWrote);
  if (entry == nullptr) return {};
  const std::vector<std::string_view> listed = Split(entry->value, ',');
  std::vector<std::string_view> wrote(kWritable.begin(), kWritable.end());
  std::erase_if(wrote, [&](auto key) { return !IsAmong(key, listed); });
  return wrote;
}

}  // namespace

std::vector<const MetadataEntry*> OurEntries(const Model& model, NodeId node) {
  std::vector<const MetadataEntry*> ours;
  const std::span<const MetadataEntry> entries = model.Metadata(node);
  const std::vector<std::string_view> wrote = WroteOn(entries);
  for (const MetadataEntry& entry : entries) {
    if (keys::IsOurs(entry.key) || IsAmong(entry.key, wrote)) {
      ours.push_back(&entry);
    }
  }
  return ours;
}

bool HasForeignKey(const Model& model, NodeId node, std::string_view key) {
  const std::span<const MetadataEntry> entries = model.Metadata(node);
  return FindEntry(entries, key) != nullptr && !IsAmong(key, WroteOn(entries));
}

std::string_view ForeignMetadata(const Model& model, NodeId node,
                                 std::string_view key) {
  const std::span<const MetadataEntry> entries = model.Metadata(node);
  for (const MetadataEntry& entry : entries) {
    if (entry.key == key && !entry.value.empty()) {
      return IsAmong(key, WroteOn(entries)) ? std::string_view() : entry.value;
    }
  }
  return {};
}

const MetadataEntry* FindEntry(std::span<const MetadataEntry> entries,
                               std::string_view key) {
  const auto at = std::find_if(
      entries.begin(), entries.end(),
      [&](const MetadataEntry& entry) { return entry.key == key; });
  return at == entries.end() ? nullptr : &*at;
}

std::optional<std::vector<std::string>> ReadPaths(std::string_view value) {
  try {
    return json::Reader(value, ErrorKind::kInput).Strings();
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace onnx_tag
