#include "commands/write/gates.h"

#include <fmt/core.h>

#include "base/glob.h"
#include "base/text.h"
#include "commands/read/module_counts.h"

namespace onnx_tag {
namespace {

// The number of tagged nodes without the fallback for auxiliary operations.
std::uint64_t CountedNodes(const Coverage& coverage) {
  return coverage.tagged -
         coverage.by_source[static_cast<std::size_t>(Source::kAuxiliary)];
}

bool HasNodes(const Tagging& tagging, const ModuleCounts& counts,
              const std::string& glob) {
  const ModuleTree& tree = tagging.modules;
  for (const ModuleId id : AllIds<ModuleId>(tree.size())) {
    if (counts.Total(id) > 0 && MatchesPattern(glob, tree.Path(id), '.'))
      return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> UnmetCounts(const Coverage& coverage,
                                     const TagOptions& options) {
  std::vector<std::string> findings;
  const std::uint64_t counted = CountedNodes(coverage);
  const double percent = coverage.nodes == 0
                             ? 100.0
                             : 100.0 * static_cast<double>(counted) /
                                   static_cast<double>(coverage.nodes);
  if (percent < options.min_coverage) {
    findings.push_back(
        fmt::format("coverage is {:.2f} %, but --min-coverage requires {:g} %",
                    percent, options.min_coverage));
  }
  if (options.max_untagged && coverage.untagged() > *options.max_untagged) {
    findings.push_back(fmt::format("{} untagged, but --max-untagged allows {}",
                                   Count(coverage.untagged(), "node"),
                                   WithThousands(*options.max_untagged)));
  }
  return findings;
}

std::vector<std::string> UnmetGates(const Tagging& tagging,
                                    const TagOptions& options) {
  std::vector<std::string> findings = UnmetCounts(CountTags(tagging), options);
  if (options.require_modules.empty()) return findings;
  const ModuleCounts counts(tagging);
  for (const std::string& glob : options.require_modules) {
    if (HasNodes(tagging, counts, glob)) continue;
    findings.push_back(
        fmt::format("no module that has nodes matches '{}' (--require-module)",
                    Printable(glob)));
  }
  return findings;
}

}  // namespace onnx_tag
