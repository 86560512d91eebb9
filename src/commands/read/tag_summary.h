// What `tag` prints of a model: text for people, a line of JSON for programs.
#ifndef ONNX_TAG_COMMANDS_READ_TAG_SUMMARY_H_
#define ONNX_TAG_COMMANDS_READ_TAG_SUMMARY_H_

#include <array>
#include <string>
#include <string_view>

#include "commands/output/pending_outputs.h"
#include "json/writer.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag {

struct TagSummary {
  std::string file;
  std::string output;   // empty: none
  std::string sidecar;  // empty: none
  PendingOutputs::Fate output_fate = PendingOutputs::Fate::kUnknown;
  PendingOutputs::Fate sidecar_fate = PendingOutputs::Fate::kUnknown;
  bool dry_run = false;
};

std::string SummaryText(const TagSummary& summary, const Tagging& tagging);
std::string SummaryText(const TagSummary& summary, const Coverage& coverage);
std::string SummaryJson(const TagSummary& summary, const Tagging& tagging);
std::string SummaryJson(const TagSummary& summary, const Coverage& coverage,
                        std::string_view dialect, std::string_view root_class);

// "5 nodes, 4 tagged (80.0 %): 4 certain; 1 untagged"
std::string CoverageText(const Coverage& coverage);

// "wrote", "would replace", "unchanged"
std::string Deed(PendingOutputs::Fate fate, bool dry_run);

// Members of an open object: `"nodes": 5, "tagged": 4, ..., "coverage": 0.8`.
void AddTagged(JsonWriter& json, const Coverage& coverage);
// The same, with `by_confidence` and `by_source`.
void AddCoverage(JsonWriter& json, const Coverage& coverage);
// `"by_type": {"attention": 12, ...}`, without zeros.
template <typename Counts, std::size_t kCount>
void AddCounts(JsonWriter& json, std::string_view key,
               const std::array<std::string_view, kCount>& words,
               const Counts& counts) {
  json.Key(key).BeginObject();
  for (std::size_t i = 0; i < kCount; ++i) {
    if (counts[i] != 0) json.Key(words[i]).Number(counts[i]);
  }
  json.EndObject();
}

// "120 certain, 16 high"; "none" where nothing is tagged.
std::string ConfidenceText(const Coverage& coverage);

// "99.3 %", and 100 or 0 only where it is all or nothing.
std::string PercentText(std::uint64_t part, std::uint64_t whole);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_READ_TAG_SUMMARY_H_
