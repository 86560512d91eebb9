// The entries of metadata that onnx-tag writes, and what may be wrong with
// those of a node.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/parse_number.h"
#include "base/text.h"
#include "core/tagging/tag_format.h"
#include "core/tagging/words.h"
#include "onnx_tag/model.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag {

struct TagFinding {
  std::string_view rule;      // "duplicate-key"; docs/guide/clean.md lists them
  NodeId node = kNo<NodeId>;  // kNo: of the model, or of the sidecar
  std::string message;
};
struct Findings : std::vector<TagFinding> {
  template <typename... Args>
  void Add(std::string_view rule, NodeId node,
           message::Format<std::type_identity_t<Args>...> format,
           const Args&... args) {
    push_back({rule, node, Message(format, args...)});
  }
};

inline constexpr std::array<std::string_view, 16> kNodeKeys = {
    keys::kHierarchyTag, keys::kModule,        keys::kClass,
    keys::kTagModule,    keys::kSemantic,      keys::kSemanticConfidence,
    keys::kLayer,        keys::kAttentionKind, keys::kConfidence,
    keys::kSource,       keys::kSourceLine,    keys::kOrigins,
    keys::kWrote,        keys::kEvidence,      keys::kTagClassConfidence,
    keys::kNodeName};
inline constexpr std::array<std::string_view, 5> kModelKeys = {
    keys::kVersion, keys::kStrategy, keys::kModules, keys::kLayout,
    keys::kRenamed};

inline std::string Quoted(std::string_view text) {
  return Message("'{}'", Short{text, 100});
}

// Keys of ours that nobody knows, or that occur twice. Calls `use` with the
// entries of known keys.
template <std::size_t kCount, typename Use>
void CheckKeys(std::span<const MetadataEntry> entries,
               const std::array<std::string_view, kCount>& known, NodeId node,
               Findings& findings, const Use& use) {
  std::array<int, kCount> times = {};
  for (const MetadataEntry& entry : entries) {
    if (!keys::IsOurs(entry.key)) continue;
    const auto at = std::find(known.begin(), known.end(), entry.key);
    if (at == known.end()) {
      findings.Add("unknown-key", node, "{} is not a key of onnx-tag",
                   Quoted(entry.key));
      continue;
    }
    if (++times[static_cast<std::size_t>(at - known.begin())] == 2) {
      findings.Add("duplicate-key", node, "{} occurs twice", Quoted(entry.key));
    }
    use(entry);
  }
}

// The entries of one node.
class NodeEntries {
 public:
  NodeEntries(const Model& model, NodeId node, Findings& findings)
      : entries_(model.Metadata(node)), node_(node), findings_(findings) {}

  bool any() const {
    return std::any_of(
        entries_.begin(), entries_.end(),
        [](const MetadataEntry& entry) { return keys::IsOurs(entry.key); });
  }

  void Check() {
    CheckKeys(entries_, kNodeKeys, node_, findings_,
              [&](const MetadataEntry& entry) { CheckValue(entry); });
    CheckComplete();
  }

  std::string_view Value(std::string_view key) const {
    const MetadataEntry* const entry = FindEntry(entries_, key);
    return entry == nullptr ? std::string_view() : entry->value;
  }
  bool Has(std::string_view key) const {
    return FindEntry(entries_, key) != nullptr;
  }

 private:
  void CheckValue(const MetadataEntry& entry) {
    const std::string_view value = entry.value;
    bool good = true;
    if (entry.key == keys::kConfidence ||
        entry.key == keys::kSemanticConfidence ||
        entry.key == keys::kTagClassConfidence) {
      good = WordToEnum<Confidence>(kConfidenceNames, value).has_value();
    } else if (entry.key == keys::kSource) {
      good = WordToEnum<Source>(kSourceNames, value).has_value();
    } else if (entry.key == keys::kEvidence) {
      good = WordToEnum<EvidenceKind>(kEvidenceNames, value).has_value();
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
      findings_.Add("bad-value", node_, "{} has the invalid value {}",
                    Quoted(entry.key), Quoted(value));
    }
  }

  void CheckComplete() {
    for (const std::string_view key : {keys::kModule, keys::kHierarchyTag,
                                       keys::kConfidence, keys::kSource}) {
      // Keys for other programs and lines of code may stand without a tag.
      if (Has(key) || HasNoTag()) continue;
      findings_.Add("incomplete-tag", node_, "{} is missing", Quoted(key));
    }
    for (const std::string_view key : Split(Value(keys::kWrote), ',')) {
      if (key.empty() || Has(key)) continue;
      findings_.Add("missing-key", node_, "{} is missing, but {} lists it",
                    Quoted(key), Quoted(keys::kWrote));
    }
  }

  bool HasNoTag() const {
    constexpr std::array kOther = {keys::kWrote, keys::kSourceLine,
                                   keys::kNodeName};
    // No std::ranges: the page is compiled with a library that lacks it.
    return std::all_of(
        entries_.begin(), entries_.end(), [&](const MetadataEntry& entry) {
          return !keys::IsOurs(entry.key) ||
                 std::find(kOther.begin(), kOther.end(), entry.key) !=
                     kOther.end();
        });
  }

  std::span<const MetadataEntry> entries_;
  NodeId node_;
  Findings& findings_;
};

}  // namespace onnx_tag
