// How many nodes have tags, whether that is enough, and what to do if not.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/commands/commands.h"
#include "app/render/result.h"
#include "core/tagging/sidecar.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag {

// "certain or high 3, medium 1, found 3, guessed 1"; `percent`: with shares.
std::string TagCountsText(const Coverage& coverage, bool percent = false);

// "9 nodes: certain or high 3, medium 1, found 3, guessed 1, untagged 1"
std::string CoverageText(const Coverage& coverage);

// "120 certain, 16 high"; "" where nothing is tagged.
std::string ConfidenceText(const Coverage& coverage);

// "99.3 %", and 100 or 0 only where it is all or nothing.
std::string PercentText(std::uint64_t part, std::uint64_t whole);

// `"nodes": 5, "tagged": 4, ..., "coverage": 0.8`, and beside it the share of
// sure tags, which gates count, and of those found in the graph alone.
Datum::Members TaggedMembers(const Coverage& coverage);
// The same, with `by_confidence` and `by_source`.
Datum::Members CoverageMembers(const Coverage& coverage);

// {"attention": 12, ...}, without zeros.
template <typename Counts, std::size_t kCount>
Datum CountsValue(const std::array<std::string_view, kCount>& words,
                  const Counts& counts) {
  Datum object = Datum::Object({});
  for (std::size_t i = 0; i < kCount; ++i) {
    if (counts[i] != 0) object.Set(std::string(words[i]), counts[i]);
  }
  return object;
}

// One sentence for each gate that `tagging` does not pass.
std::vector<std::string> UnmetGates(const Tagging& tagging,
                                    const TagOptions& options);

// The same for those that need no more than counts: all but --require-module.
std::vector<std::string> UnmetCounts(const Coverage& coverage,
                                     const TagOptions& options);

// "names say nothing about modules (dialect torchscript-old)", for the summary
// of many files.
std::string WhyUntagged(std::uint64_t nodes, std::string_view dialect);

// What the user of a file with few tags can do, for the framework that exported
// it; and how many modules were found in the graph alone.
void AddAdvice(const Tagging& tagging, const Coverage& coverage,
               const SidecarModel& about, Result& result);

// The text, or "unknown"; printable.
std::string OrUnknown(std::string_view text);

}  // namespace onnx_tag
