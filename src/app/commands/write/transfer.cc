#include "onnx_tag/transfer.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "app/commands/commands.h"
#include "app/commands/output/destinations.h"
#include "app/commands/read/coverage.h"
#include "app/commands/read/tagged_model.h"
#include "app/commands/write/tag_file.h"
#include "core/tagging/words.h"
#include "file/json/writer.h"
#include "mapping/mapping/laws.h"

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

// "found 110 by name, 9 by structure, 4 fused, 3 inserted by tools", what was
// not carried, and open nodes.
void AddCounts(const TransferCounts& counts, std::uint64_t mapped,
               std::uint64_t open, Result& result) {
  constexpr std::array<std::string_view, 5> kWords = {
      "by name", "by structure", "fused", "inserted by tools", "by neighbours"};
  std::vector<std::string> found;
  const Found by = FoundBy(counts);
  for (std::size_t i = 0; i < by.size(); ++i) {
    if (by[i].second == 0) continue;
    found.push_back(
        fmt::format("{} {}", WithThousands(by[i].second), kWords[i]));
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
  for (const auto& [key, count] : FoundBy(counts)) {
    found.Set(std::string(key), count);
  }
  found.Add({{"mapped", mapped},
             {"no_counterpart", counts.no_counterpart},
             {"open_in_from", counts.open_in_from}});
  data.Add({{"by_confidence", std::move(levels)}, {"found", std::move(found)}});
  return data;
}

// Names of nodes; the address where a name does not tell it from another.
class NodeLabels {
 public:
  explicit NodeLabels(const Model& model) : model_(model) {
    for (const NodeId node : model.Nodes()) ++times_[model[node].name];
  }
  std::string Of(NodeId node) const {
    const std::string_view name = model_[node].name;
    return name.empty() || times_.at(name) > 1 ? model_.Address(node)
                                               : std::string(name);
  }

 private:
  const Model& model_;
  std::unordered_map<std::string_view, std::uint32_t> times_;
};

// --map: JSON lines.
std::string LineageLines(const Lineage& lineage, const Model& from,
                         const Model& to) {
  const NodeLabels old_nodes(from);
  const NodeLabels nodes(to);
  std::string lines;
  const auto line = [&](auto fill) {
    JsonWriter json;
    json.BeginObject();
    fill(json);
    json.EndObject();
    lines += json.Take() + "\n";
  };
  for (const NodeId node : to.Nodes()) {
    const Lineage::Node& found = lineage.nodes[node];
    line([&](JsonWriter& json) {
      json.Key("node").String(nodes.Of(node)).Key("from").BeginArray();
      for (const NodeId old : found.from) json.String(old_nodes.Of(old));
      json.EndArray().Key("how").String(found.how).Key("confidence");
      json.String(EnumToWord(kConfidenceNames, found.confidence));
    });
  }
  for (const Lineage::Tensor& tensor : lineage.tensors) {
    line([&](JsonWriter& json) {
      json.Key("tensor").String(to.ValueName(tensor.to)).Key("from");
      if (tensor.from == kNo<ValueId>) {
        json.Null();
      } else {
        json.String(from.ValueName(tensor.from));
      }
      json.Key("how").String(tensor.how);
    });
  }
  for (const Lineage::Gone& gone : lineage.gone) {
    line([&](JsonWriter& json) {
      json.Key("gone").String(old_nodes.Of(gone.node));
      json.Key("why").String(gone.why);
      if (gone.into != kNo<NodeId>) {
        json.Key("into").String(nodes.Of(gone.into));
      }
    });
  }
  for (const auto& gone : lineage.gone_tensors) {
    line([&](JsonWriter& json) {
      json.Key("gone_tensor").String(from.ValueName(gone.first));
      json.Key("why").String(gone.second);
    });
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
