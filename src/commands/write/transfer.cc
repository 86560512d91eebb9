#include "onnx_tag/transfer.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/text.h"
#include "commands/commands.h"
#include "commands/output/external_data.h"
#include "commands/read/gates.h"
#include "commands/read/tag_source.h"
#include "commands/read/tag_summary.h"
#include "commands/write/write_tagged.h"
#include "json/writer.h"
#include "mapping/laws.h"
#include "onnx_tag/error.h"
#include "onnx_tag/mapping.h"

namespace onnx_tag {
namespace {

using Found = std::array<std::pair<std::string_view, std::uint64_t>, 5>;

Found FoundBy(const TransferCounts& counts) {
  return {{{"by_name", counts.by_name},
           {"by_structure", counts.by_structure},
           {"fused", counts.fused},
           {"helpers", counts.helpers},
           {"nearby", counts.nearby}}};
}

// "found 110 by name, 9 by structure, 4 fused, 3 inserted by tools"
std::string FoundText(const TransferCounts& counts) {
  constexpr std::array<std::string_view, 5> kWords = {
      "by name", "by structure", "fused", "inserted by tools", "by neighbours"};
  std::string text;
  std::size_t place = 0;
  for (const auto& [key, count] : FoundBy(counts)) {
    const std::string_view word = kWords[place++];
    if (count == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ",
                        WithThousands(count), word);
  }
  return text.empty() ? "" : "  found " + text + "\n";
}

// What was not carried: the tags of a mapping of TO, and open nodes.
std::string RestText(const TransferCounts& counts, std::uint64_t mapped,
                     std::uint64_t open) {
  std::string text;
  if (mapped > 0) {
    text += fmt::format(
        "  {} taken from a mapping of the file itself, which is surer there\n",
        Count(mapped, "tag"));
  }
  if (open == 0) return text;
  text += fmt::format("  {} left open", Count(open, "node"));
  // Taking tags may have filled some of them.
  if (mapped == 0 && counts.no_counterpart + counts.open_in_from == open) {
    text += fmt::format(
        ": {} without a counterpart, {} whose counterpart has no tag",
        WithThousands(counts.no_counterpart),
        WithThousands(counts.open_in_from));
  } else {
    text += ": neither a counterpart nor the file itself shows their module";
  }
  return text + "\n";
}

// TO, mapped with the strategy of FROM. Nothing if the strategy needs a
// recording.
std::optional<Tagging> MappedAgain(const Model& model, const Tagging& from,
                                   const MappingOptions& options) {
  MappingOptions mapping;
  mapping.recipes = options.recipes;
  // Invented names of two versions do not mix.
  mapping.structure = false;
  if (!from.strategy.empty()) mapping.strategy = from.strategy;
  mapping.format = from.format;
  try {
    return MapNodes(model, mapping);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUsage) throw;
    return std::nullopt;
  }
}

Confidence WeakestLevel(const Tagging& tagging) {
  Confidence weakest = Confidence::kCertain;
  for (const Tag& tag : tagging.tags) {
    if (tag.tagged()) weakest = std::min(weakest, tag.confidence);
  }
  return weakest;
}

std::string Json(const TransferOptions& options, const TagSummary& summary,
                 const TransferCounts& counts, std::uint64_t mapped,
                 const Coverage& coverage) {
  JsonWriter json;
  json.BeginObject();
  json.Key("from").String(options.from);
  json.Key("file").String(summary.file);
  json.Key("output").StringOrNull(summary.output);
  json.Key("sidecar").StringOrNull(summary.sidecar);
  AddTagged(json, coverage);
  json.Key("by_confidence").BeginObject();
  for (std::size_t i = 0; i < kConfidenceNames.size(); ++i) {
    json.Key(kConfidenceNames[i]).Number(coverage.by_confidence[i]);
  }
  json.EndObject();
  json.Key("found").BeginObject();
  for (const auto& [key, count] : FoundBy(counts)) json.Key(key).Number(count);
  json.Key("mapped").Number(mapped);
  json.Key("no_counterpart").Number(counts.no_counterpart);
  json.Key("open_in_from").Number(counts.open_in_from);
  json.EndObject();
  json.EndObject();
  return json.text() + "\n";
}

// Removes tags below `least`, and their origins.
void DropWeaker(Confidence least, Tagging& tagging) {
  for (Tag& tag : tagging.tags) {
    if (tag.tagged() && tag.confidence < least) tag = Tag();
  }
  std::erase_if(tagging.origins, [&](const Origin& origin) {
    return !tagging.tags[origin.node].tagged();
  });
}

// Two versions of one model share something; two models share a few names of
// inputs, and carrying tags from one to the other would be nonsense.
void WarnOfStrangers(const TransferOptions& options,
                     const TransferCounts& counts, std::uint64_t nodes,
                     Terminal& terminal) {
  const std::uint64_t counterparts =
      counts.by_name + counts.by_structure + counts.fused;
  if (4 * counterparts >= nodes) return;
  terminal.Complain(fmt::format(
      "onnx-tag: {}: only {} of {} have a counterpart in {}\n  are they "
      "versions "
      "of the same model?\n",
      Printable(options.tag.models.front()), WithThousands(counterparts),
      Count(nodes, "node"), Printable(options.from)));
}

}  // namespace

ExitCode RunTransfer(const TransferOptions& options, Terminal& terminal) {
  const TaggedModel from =
      TaggedModel::Load(options.from, options.source, terminal);
  const ModelFile file = ModelFile::Open(options.tag.models.front());
  TransferCounts counts;
  Tagging tagging = TransferTags({from.nodes(), from.model()}, from.tagging(),
                                 file.model(), &counts);
  WarnOfStrangers(options, counts, file.model().node_count(), terminal);
  std::uint64_t mapped = 0;
  if (const std::optional<Tagging> again = file.Map([&](const Model& model) {
        return MappedAgain(model, from.tagging(), options.tag.mapping);
      })) {
    mapped = TakeSurer(*again, WeakestLevel(from.tagging()), tagging);
  }
  ObeyLaws(CheckLaws(file.model(), tagging), tagging.tags);
  DropWeaker(options.tag.mapping.min_confidence, tagging);
  WarnOfExternalData(file, terminal);
  TagSummary summary;
  const bool streams =
      WriteTagged(file, tagging, from.inputs(),
                  DestinationsOf(options.tag.models.front(), options.tag),
                  options.tag, terminal, summary);

  const Coverage coverage = CountTags(tagging);
  if (!options.tag.quiet || options.tag.json) {
    const std::string text =
        options.tag.json ? Json(options, summary, counts, mapped, coverage)
                         : SummaryText(summary, tagging) + FoundText(counts) +
                               RestText(counts, mapped, coverage.untagged());
    if (streams) {
      terminal.Err(text);
    } else {
      terminal.Out(text);
    }
  }
  const std::vector<std::string> findings = UnmetGates(tagging, options.tag);
  for (const std::string& finding : findings) {
    terminal.Complain(
        fmt::format("onnx-tag: {}: {}\n", Printable(summary.file), finding));
  }
  return findings.empty() ? ExitCode::kOk : ExitCode::kFindings;
}

}  // namespace onnx_tag
