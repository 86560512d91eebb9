#include "app/commands/read/coverage.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>

#include "app/commands/read/modules.h"
#include "base/glob.h"
#include "base/word_list.h"
#include "core/hierarchy/name_parts.h"
#include "generated/command_words.h"

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
        glob_(glob),
        atoms_(Split(glob, '.')) {}

  // Empty if the pattern is met.
  std::vector<std::string> FindMissing() const {
    // `**` says nothing about lists.
    if (glob_.find("**") == std::string::npos) {
      return MissingBelow(ModuleTree::kRoot, 0);
    }
    if (HasMatch()) return {};
    return {glob_};
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

  // The same for the rest of the pattern.
  std::vector<std::string> MissingBelow(ModuleId id, std::size_t place) const {
    std::vector<std::string> missing;
    if (place == atoms_.size()) {
      if (counts_.Total(id) == 0) missing.push_back(tree_.Path(id));
      return missing;
    }
    bool any = false;
    bool all = true;
    for (const ModuleId child : tree_.Children(id)) {
      if (!MatchesPattern(atoms_[place], tree_.Atom(child), '.')) continue;
      if (!with_found_ && tagging_.FindFound(child) != nullptr) continue;
      const std::vector<std::string> below = MissingBelow(child, place + 1);
      any |= below.empty();
      all &= below.empty() || !hierarchy::IsNumeric(tree_.Atom(child));
      missing.insert(missing.end(), below.begin(), below.end());
    }
    if (any && all) return {};
    if (missing.empty()) missing.push_back(PathWithRest(id, place));
    return missing;
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
  const std::vector<std::string_view> atoms_;
};

// The framework of the file, if it is not PyTorch; or "".
std::string_view FrameworkOf(std::string_view dialect,
                             std::string_view producer) {
  for (const auto& row : RowsOf(kCommandWords, "dialect")) {
    if (row[0] == dialect) return row[1];
  }
  for (const auto& row : RowsOf(kCommandWords, "producer")) {
    if (producer.starts_with(row[0])) return row[1];
  }
  return "";
}

// A sentence or two.
std::string AdviceFor(std::string_view dialect, std::string_view producer) {
  const std::string_view framework = FrameworkOf(dialect, producer);
  std::vector<std::string> lines;
  for (const auto& row : RowsOf(kCommandWords, "advice")) {
    if (row[0] != (framework.empty() ? "-" : framework)) continue;
    lines.push_back(Join(std::span(row).subspan(1), " "));
  }
  if (!lines.empty()) return Join(lines, "\n");
  return fmt::format(
      "The exporter of {} does not write paths\nof layers. Rules (--rules "
      "FILE) can name the modules of such a file.",
      framework);
}

// Nodes that the root got for want of anything better are covered, but
// nobody would say that they were found.
std::uint64_t PlacedNodes(const Tagging& tagging) {
  return static_cast<std::uint64_t>(std::count_if(
      tagging.tags.begin(), tagging.tags.end(), [](const Tag& tag) {
        return tag.tagged() && tag.source != Source::kStructure &&
               (tag.module != ModuleTree::kRoot ||
                tag.confidence > Confidence::kLow);
      }));
}

}  // namespace

std::string OrUnknown(std::string_view text) {
  return Message("{}", text.empty() ? "unknown" : text);
}

std::string ConfidenceText(const Coverage& coverage) {
  std::vector<std::string> words;
  for (std::size_t level = kConfidenceNames.size(); level-- > 0;) {
    if (coverage.by_confidence[level] == 0) continue;
    words.push_back(WithThousands(coverage.by_confidence[level]) + " " +
                    std::string(kConfidenceNames[level]));
  }
  return Join(words);
}

std::string PercentText(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0 || part == whole) return "100 %";
  if (part == 0) return "0 %";
  const double percent =
      100.0 * static_cast<double>(part) / static_cast<double>(whole);
  return fmt::format("{:.1f} %", std::clamp(percent, 0.1, 99.9));
}

std::string TagCountsText(const Coverage& coverage, bool percent) {
  // Modules found in the graph alone are never high.
  const std::uint64_t surest =
      coverage.by_confidence[Index(Confidence::kCertain)] +
      coverage.by_confidence[Index(Confidence::kHigh)];
  const auto text = [&](std::uint64_t nodes) {
    return WithThousands(nodes) +
           (percent ? " (" + PercentText(nodes, coverage.nodes) + ")" : "");
  };
  return fmt::format("certain or high {}, medium {}, found {}, guessed {}",
                     text(surest), text(coverage.sure - surest),
                     text(coverage.found()), WithThousands(coverage.guessed()));
}

std::string CoverageText(const Coverage& coverage) {
  std::string text =
      Count(coverage.nodes, "node") + ": " + TagCountsText(coverage);
  // Tagged, since the strategy promises it, but no module was found for them.
  const std::uint64_t auxiliary = coverage.by_source[Index(Source::kAuxiliary)];
  if (auxiliary > 0) {
    text += fmt::format(" ({} of them auxiliary)", WithThousands(auxiliary));
  }
  return text +
         fmt::format(", untagged {}", WithThousands(coverage.untagged()));
}

Datum::Members TaggedMembers(const Coverage& coverage) {
  return {
      {"nodes", coverage.nodes},
      {"tagged", coverage.tagged},
      {"untagged", coverage.untagged()},
      {"coverage", Datum::Share(coverage.ShareOf(coverage.tagged))},
      {"sure_coverage", Datum::Share(coverage.ShareOf(coverage.sure))},
      {"found_coverage", Datum::Share(coverage.ShareOf(coverage.found(), 0))}};
}

Datum::Members CoverageMembers(const Coverage& coverage) {
  Datum::Members members = TaggedMembers(coverage);
  members.emplace_back("by_confidence",
                       CountsValue(kConfidenceNames, coverage.by_confidence));
  members.emplace_back("by_source",
                       CountsValue(kSourceNames, coverage.by_source));
  return members;
}

std::vector<std::string> UnmetCounts(const Coverage& coverage,
                                     const TagOptions& options) {
  std::vector<std::string> findings;
  const bool with_found = options.count_structure;
  const std::uint64_t counted =
      coverage.sure + (with_found ? coverage.found() : 0);
  const double percent = 100.0 * coverage.ShareOf(counted);
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
        "coverage of medium or better{} is {:.2f} %{}, but --min-coverage "
        "requires {:g} %",
        with_found ? ", with found tags," : "", percent, without,
        options.min_coverage));
  }
  const std::uint64_t found = with_found ? 0 : coverage.found();
  const std::uint64_t untagged = coverage.untagged() + found;
  if (options.max_untagged && untagged > *options.max_untagged) {
    findings.push_back(fmt::format(
        "{} untagged{}, but --max-untagged allows {}", Count(untagged, "node"),
        found == 0 ? ""
                   : fmt::format(", with {} found in the graph alone",
                                 WithThousands(found)),
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
    const bool is_found = std::any_of(
        tagging.found.begin(), tagging.found.end(),
        [&](const FoundBlock& block) {
          return MatchesPattern(glob, tagging.modules.Path(block.module), '.');
        });
    findings.push_back(
        missing.size() == 1 && missing[0] == glob
            ? Message(
                  "no module that has nodes matches '{}' (--require-module){}",
                  glob,
                  Ours{is_found ? "; modules found in the graph alone do "
                                  "not count"
                                : ""})
            : Message("'{}' (--require-module) needs nodes in {}", glob,
                      Ours{FirstOf(missing, 5, 200)}));
  }
  return findings;
}

std::string WhyUntagged(std::uint64_t nodes, std::string_view dialect) {
  if (nodes == 0) return "no nodes";
  const std::string_view framework = FrameworkOf(dialect, "");
  if (framework.empty()) {
    return fmt::format("names say nothing about modules (dialect {})",
                       dialect.empty() ? "unknown" : dialect);
  }
  return fmt::format("{}'s exporter wrote no names of modules", framework);
}

void AddAdvice(const Tagging& tagging, const Coverage& coverage,
               const SidecarModel& about, Result& result) {
  if (!tagging.found.empty()) {
    result.Line("\n{} found in the graph alone: the names are invented.",
                tagging.found.size() == 1
                    ? "1 module is"
                    : WithThousands(tagging.found.size()) + " modules are");
  }
  const std::uint64_t placed = PlacedNodes(tagging);
  if (2 * placed >= coverage.nodes) return;
  if (tagging.strategy == "usage_based") {
    result.Line(
        "\nusage_based uses direct evidence only. It also needs a class "
        "outside torch.nn, or\none of --torch-nn-exceptions, on the path. A "
        "model of plain torch.nn modules can\nget no tags. Use "
        "enhanced_semantic for more tags.");
    return;
  }
  // Most nodes may be tagged, and still only the root may be known.
  const std::string share =
      2 * (coverage.tagged - coverage.found()) < coverage.nodes
          ? "less than half of the nodes have evidence of a module"
          : fmt::format(
                "{} of {} tags only name the root, with low confidence",
                WithThousands(coverage.tagged - coverage.found() - placed),
                WithThousands(coverage.tagged));
  result.Line("\n{}: the names say little about modules\n(dialect {}). {}",
              share, OrUnknown(about.dialect),
              Ours{AdviceFor(about.dialect, about.producer)});
}

}  // namespace onnx_tag
