#include "commands/read/gates.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "base/glob.h"
#include "base/text.h"
#include "commands/read/module_counts.h"

namespace onnx_tag {
namespace {

// Finds the modules that a pattern requires and that have no nodes. `*` in the
// place of an index stands for every index that the model has; other wildcards
// are met by one module.
class RequiredModules {
 public:
  RequiredModules(const Tagging& tagging, const TagOptions& options,
                  const std::string& glob)
      : tagging_(tagging),
        tree_(tagging.modules),
        with_found_(options.count_structure),
        counts_(tagging, with_found_),
        glob_(glob) {
    for (const std::string_view atom : Split(glob, '.')) atoms_.push_back(atom);
  }

  // Empty if the pattern is met.
  std::vector<std::string> FindMissing() {
    // `**` says nothing about lists.
    if (glob_.find("**") != std::string::npos) {
      if (!HasMatch()) missing_.push_back(glob_);
    } else {
      Check(ModuleTree::kRoot, 0);
    }
    return std::move(missing_);
  }

 private:
  bool HasMatch() const {
    for (const ModuleId id : tree_.All()) {
      if (counts_.Total(id) > 0 && MatchesPattern(glob_, tree_.Path(id), '.')) {
        return true;
      }
    }
    return false;
  }

  // Whether the rest of the pattern is met below `id`. Adds what is missing.
  bool Check(ModuleId id, std::size_t place) {
    if (place == atoms_.size()) {
      if (counts_.Total(id) > 0) return true;
      missing_.push_back(tree_.Path(id));
      return false;
    }
    const std::string_view atom = atoms_[place];
    bool any = false;
    bool all = true;
    const std::size_t before = missing_.size();
    std::vector<std::string> missing;
    for (const ModuleId child : tree_.Children(id)) {
      if (!MatchesPattern(atom, tree_.Atom(child), '.')) continue;
      if (!with_found_ && tagging_.FindFound(child) != nullptr) continue;
      const bool met = Check(child, place + 1);
      any |= met;
      all &= met || !IsIndex(tree_.Atom(child));
      std::move(missing_.begin() + static_cast<std::ptrdiff_t>(before),
                missing_.end(), std::back_inserter(missing));
      missing_.resize(before);
    }
    if (any && all) return true;
    if (missing.empty()) missing.push_back(PathWithRest(id, place));
    std::move(missing.begin(), missing.end(), std::back_inserter(missing_));
    return false;
  }

  static bool IsIndex(std::string_view atom) {
    return atom.find_first_not_of("0123456789") == std::string_view::npos;
  }

  std::string PathWithRest(ModuleId id, std::size_t place) const {
    std::string path = tree_.Path(id);
    for (std::size_t i = place; i < atoms_.size(); ++i) {
      if (!path.empty()) path += '.';
      path += atoms_[i];
    }
    return path;
  }

  const Tagging& tagging_;
  const ModuleTree& tree_;
  const bool with_found_;
  const ModuleCounts counts_;
  const std::string& glob_;
  std::vector<std::string_view> atoms_;
  std::vector<std::string> missing_;
};

// "encoder.layer.3.attention, encoder.layer.7.attention and 4 more"
std::string FirstOf(const std::vector<std::string>& modules) {
  constexpr std::size_t kMost = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(modules.size(), kMost); ++i) {
    if (!text.empty()) text += ", ";
    text += Printable(modules[i], 200);
  }
  if (modules.size() > kMost) {
    text += fmt::format(" and {} more", WithThousands(modules.size() - kMost));
  }
  return text;
}

}  // namespace

std::vector<std::string> UnmetCounts(const Coverage& coverage,
                                     const TagOptions& options) {
  std::vector<std::string> findings;
  const bool with_found = options.count_structure;
  const std::uint64_t counted =
      coverage.sure + (with_found ? coverage.found() : 0);
  const double percent = coverage.nodes == 0
                             ? 100.0
                             : 100.0 * static_cast<double>(counted) /
                                   static_cast<double>(coverage.nodes);
  if (percent < options.min_coverage) {
    std::string without;
    if (coverage.guessed() > 0) {
      without = fmt::format(" without {} of low confidence",
                            Count(coverage.guessed(), "tag"));
    }
    if (!with_found && coverage.found() > 0) {
      without += fmt::format("{} {} found in the graph alone",
                             without.empty() ? " without" : " and",
                             Count(coverage.found(), "tag"));
    }
    findings.push_back(fmt::format(
        "coverage is {:.2f} %{}, but --min-coverage requires {:g} %", percent,
        without, options.min_coverage));
  }
  const std::uint64_t untagged =
      coverage.untagged() + (with_found ? 0 : coverage.found());
  if (options.max_untagged && untagged > *options.max_untagged) {
    findings.push_back(fmt::format("{} untagged, but --max-untagged allows {}",
                                   Count(untagged, "node"),
                                   WithThousands(*options.max_untagged)));
  }
  return findings;
}

std::vector<std::string> UnmetGates(const Tagging& tagging,
                                    const TagOptions& options) {
  std::vector<std::string> findings = UnmetCounts(CountTags(tagging), options);
  for (const std::string& glob : options.require_modules) {
    const std::vector<std::string> missing =
        RequiredModules(tagging, options, glob).FindMissing();
    if (missing.empty()) continue;
    findings.push_back(
        missing.size() == 1 && missing[0] == glob
            ? fmt::format(
                  "no module that has nodes matches '{}' (--require-module)",
                  Printable(glob))
            : fmt::format("'{}' (--require-module) needs nodes in {}",
                          Printable(glob), FirstOf(missing)));
  }
  return findings;
}

}  // namespace onnx_tag
