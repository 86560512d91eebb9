#include "onnx_tag/transfer.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "app/commands/commands.h"
#include "app/commands/output/destinations.h"
#include "app/commands/read/coverage.h"
#include "app/commands/read/nodes.h"
#include "app/commands/read/tagged_model.h"
#include "app/commands/write/tag_file.h"
#include "app/render/render.h"
#include "core/tagging/words.h"
#include "mapping/mapping/laws.h"

namespace onnx_tag {
namespace {

struct FoundBy {
  std::string_view key, words;
  std::uint64_t count;
};

std::array<FoundBy, 5> WaysOf(const TransferCounts& counts) {
  return {{{"by_name", "by name", counts.by_name},
           {"by_structure", "by structure", counts.by_structure},
           {"fused", "fused", counts.fused},
           {"helpers", "inserted by tools", counts.helpers},
           {"nearby", "by neighbours", counts.nearby}}};
}

// "found 110 by name, 9 by structure, 4 fused, 3 inserted by tools", what was
// not carried, and open nodes.
void AddCounts(const TransferCounts& counts, std::uint64_t mapped,
               std::uint64_t open, Result& result) {
  std::vector<std::string> found;
  for (const auto& [key, words, count] : WaysOf(counts)) {
    if (count == 0) continue;
    found.push_back(fmt::format("{} {}", WithThousands(count), words));
  }
  if (!found.empty()) result.Line("  found {}", Join(found));
  if (mapped > 0) {
    result.Line(
        "  {} from mapping TO itself, which is more certain for these nodes",
        Count(mapped, "tag"));
  }
  if (open == 0) return;
  // Taking tags may have filled some of them.
  if (mapped == 0 && counts.no_counterpart + counts.open_in_from == open) {
    result.Line(
        "  {} left open: {} without a counterpart, {} whose counterpart has no "
        "tag",
        Count(open, "node"), WithThousands(counts.no_counterpart),
        WithThousands(counts.open_in_from));
  } else {
    result.Line(
        "  {} left open: neither a counterpart nor the file itself shows their "
        "module",
        Count(open, "node"));
  }
}

Datum Data(const TransferOptions& options, const TagReport& report,
           const TransferCounts& counts, std::uint64_t mapped) {
  Datum data = Datum::Object({{"from", options.from},
                              {"file", report.file},
                              {"output", Datum::OrNull(report.output)},
                              {"sidecar", Datum::OrNull(report.sidecar)}});
  data.Add(TaggedMembers(report.coverage));
  Datum levels = Datum::Object({});
  for (std::size_t i = 0; i < kConfidenceNames.size(); ++i) {
    levels.Set(std::string(kConfidenceNames[i]),
               report.coverage.by_confidence[i]);
  }
  Datum found = Datum::Object({});
  for (const FoundBy& way : WaysOf(counts)) {
    found.Set(std::string(way.key), way.count);
  }
  found.Add({{"mapped", mapped},
             {"no_counterpart", counts.no_counterpart},
             {"open_in_from", counts.open_in_from}});
  data.Add({{"by_confidence", std::move(levels)}, {"found", std::move(found)}});
  return data;
}

// --map: JSON lines.
std::string LineageLines(const Lineage& lineage, const Model& from,
                         const Model& to) {
  const NameUses old_nodes(from);
  const NameUses nodes(to);
  std::string lines;
  const auto line = [&](const Datum::Members& members) {
    lines += JsonText(Datum::Object(members)) + "\n";
  };
  for (const NodeId node : to.Nodes()) {
    const Lineage::Node& found = lineage.nodes[node];
    line({{"node", nodes.Label(node)},
          {"from",
           ListOf(found.from,
                  [&](NodeId old) { return Datum(old_nodes.Label(old)); })},
          {"how", found.how},
          {"confidence", EnumToWord(kConfidenceNames, found.confidence)}});
  }
  for (const Lineage::Tensor& tensor : lineage.tensors) {
    line({{"tensor", to.ValueName(tensor.to)},
          {"from", tensor.from == kNo<ValueId>
                       ? Datum()
                       : Datum(from.ValueName(tensor.from))},
          {"how", tensor.how}});
  }
  for (const Lineage::Gone& gone : lineage.gone) {
    Datum::Members members = {{"gone", old_nodes.Label(gone.node)},
                              {"why", gone.why}};
    if (gone.into != kNo<NodeId>) {
      members.emplace_back("into", nodes.Label(gone.into));
    }
    line(members);
  }
  for (const auto& [tensor, why] : lineage.gone_tensors) {
    line({{"gone_tensor", from.ValueName(tensor)}, {"why", why}});
  }
  return lines;
}

}  // namespace

Result RunTransfer(const TransferOptions& options, Terminal& terminal) {
  TagSourceOptions source = options.source;
  source.mapping.frames = options.tag.mapping.frames;
  const TaggedModel from = TaggedModel::Load(options.from, source, terminal);
  ModelFile file = OpenModel(options.tag.models.front(), terminal);
  Lineage lineage;
  Transferred transferred = file.Map([&](const Model& model) {
    return TransferOrMap(from.model(), from.tagging(), model,
                         options.tag.mapping,
                         options.map.empty() ? nullptr : &lineage);
  });
  Tagging& tagging = transferred.tagging;
  if (!transferred.same_model) {
    const TransferCounts& counts = transferred.counts;
    terminal.Report(
        "{}: only {} of {} have a counterpart in {}\n  are they versions of "
        "the same model?",
        options.tag.models.front(), WithThousands(counts.counterparts()),
        Count(file.model().node_count(), "node"), options.from);
  }
  ObeyLaws(CheckLaws(file.model(), tagging), tagging.tags);
  DropWeaker(options.tag.mapping.min_confidence, tagging);
  WarnOfExternalData(file, terminal);
  TagReport report;
  Documents documents;
  if (!options.map.empty()) {
    documents.push_back({options.map, R"({"node":)",
                         LineageLines(lineage, from.model(), file.model())});
  }
  WriteTagged(file, tagging, from.inputs(),
              DestinationsOf(options.tag.models.front(), options.tag),
              options.tag, documents, terminal, report);

  Result result;
  result.streams = report.streams;
  AddSummary(report, result);
  AddCounts(transferred.counts, transferred.mapped, report.coverage.untagged(),
            result);
  result.data = Data(options, report, transferred.counts, transferred.mapped);
  for (const std::string& finding : report.findings) {
    result.Finding("{}: {}", report.file, Ours{finding});
  }
  return result;
}

}  // namespace onnx_tag
