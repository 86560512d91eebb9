#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "app/commands/commands.h"
#include "app/commands/output/pending_outputs.h"
#include "app/commands/read/modules.h"
#include "app/commands/read/nodes.h"
#include "app/commands/read/tagged_model.h"
#include "app/render/render.h"
#include "base/text.h"
#include "core/graph/neighbours.h"
#include "core/tagging/module_format.h"
#include "core/tagging/tag_format.h"
#include "core/tagging/words.h"
#include "onnx_tag/error.h"
#include "uses/weights/weight_map.h"

namespace onnx_tag {
namespace {

// A line for each node.
template <Format kFormat>
void WriteTsv(const TaggedModel& model, const Sink& write) {
  const NodeTable nodes(model.model(), model.tagging());
  Result result;
  result.rows.push_back({NodeTable::Columns(), {}, [&](const Table::Use& use) {
                           for (const NodeId node : model.model().Nodes())
                             use(nodes.Row(node));
                         }});
  Render(result, kFormat, false, write);
}

// An attachment of Netron: a JSON file opened while the model is. Netron shows
// it beside the metadata of a node or a tensor.
class Attachment {
 public:
  Attachment(const TaggedModel& model, const Datum::Use& use)
      : model_(model), tagging_(model.tagging()), use_(use) {}

  void AddNodes() {
    const ModuleFormat format(tagging_);
    const ModuleTree& tree = tagging_.modules;
    for (const NodeId node : model_.model().Nodes()) {
      const Tag& tag = tagging_.tags[node];
      if (!tag.tagged() || !Aim("node", model_.model()[node].name)) continue;
      const Role& role = tagging_.roles[tag.role];
      Add(keys::kModule, tree.Shown(tag.module));
      Add(keys::kClass, tree.Class(tag.module));
      Add(keys::kHierarchyTag, format.HierarchyTag(tag));
      Add(keys::kTagModule, tree.Path(format.TagModule(tag.module)));
      Add(keys::kSemantic, RoleText(role));
      if (role.layer >= 0) Add(keys::kLayer, std::to_string(role.layer));
      Add(keys::kConfidence, EnumToWord(kConfidenceNames, tag.confidence));
      Add(keys::kSource, EnumToWord(kSourceNames, tag.source));
      Add(keys::kEvidence, EnumToWord(kEvidenceNames, tag.evidence));
      Add(keys::kTagClassConfidence, format.TagClassConfidence(tag.module));
      Add(keys::kOrigins,
          Join(Mapped(tagging_.OriginsOf(node), [&](const Origin& origin) {
            return tree.Shown(origin.module);
          })));
      if (const auto line = tagging_.lines.Of(node)) {
        Add(keys::kSourceLine, fmt::format("{}:{}", line->file, line->line));
      }
    }
  }

  // The parameter that each initializer holds. A sidecar does not know them.
  void AddTensors() {
    if (model_.file() == nullptr) return;
    const Model& file = model_.model();
    for (const weights::Weight& weight : weights::MapWeights(file, tagging_)) {
      const ValueId value = file.initializers()[weight.initializer].value;
      if (weight.parameters.empty() || !Aim("tensor", file.ValueName(value))) {
        continue;
      }
      Add("pkg.onnx_tag.parameter", Join(weight.parameters));
      Add("pkg.onnx_tag.change",
          EnumToWord(weights::kChangeNames, weight.change));
    }
  }

 private:
  // Netron finds a node or a tensor by the first line of its name. False if
  // there is none.
  bool Aim(std::string_view kind, std::string_view name) {
    kind_ = kind;
    target_ = name.substr(0, name.find('\n'));
    return !target_.empty();
  }
  void Add(std::string_view key, std::string_view value) const {
    if (value.empty()) return;
    use_(Datum::Object({{"kind", kind_},
                        {"target", target_},
                        {"name", key},
                        {"value", value}}));
  }

  const TaggedModel& model_;
  const Tagging& tagging_;
  const Datum::Use& use_;
  std::string_view kind_;
  std::string_view target_;
};

void WriteNetron(const TaggedModel& model, const Sink& write) {
  Result result;
  result.data =
      Datum::Object({{"signature", "netron:attachment"},
                     {"metadata", Datum::Stream([&](const Datum::Use& use) {
                        Attachment attachment(model, use);
                        attachment.AddNodes();
                        attachment.AddTensors();
                      })}});
  Render(result, Format::kJson, false, write);
}

void WriteSidecarOf(const TaggedModel& model, const Sink& write) {
  if (model.file() == nullptr) {
    Fail(ErrorKind::kUsage, "--to sidecar needs the model, not a sidecar");
  }
  WriteSidecar(model.model(), model.tagging(), model.about(), write);
}

// Model and tags as a graph, for programs that draw or analyse graphs.

// Who reads what: from the node that makes a value to the one that reads it,
// subgraphs included, in the order of readers. Each pair once.
std::vector<std::pair<NodeId, NodeId>> DataEdges(const Model& model) {
  std::vector<std::pair<NodeId, NodeId>> edges;
  for (const NodeId node : model.Nodes()) {
    const auto first = edges.size();
    for (const ValueId input : model.Inputs(node)) {
      const NodeId maker = ProducerOf(model, input);
      if (maker != kNo<NodeId>) edges.emplace_back(maker, node);
    }
    const auto begin = edges.begin() + static_cast<std::ptrdiff_t>(first);
    std::sort(begin, edges.end());
    edges.erase(std::unique(begin, edges.end()), edges.end());
  }
  return edges;
}

// ---------------------------------------------------------------- GraphML
void AddData(std::string& out, std::string_view key, std::string_view value) {
  if (value.empty()) return;
  out += fmt::format("<data key=\"{}\">{}</data>", key,
                     XmlText(value, value.size()));
}

constexpr std::string_view kHead =
    R"(<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
)";

// What a module says of itself beside what nodes do.
constexpr std::string_view kCounts[] = {"nodes", "total_nodes", "parameters"};

// A column of the nodes, by the name that readers of graphs know; "" if it is
// in another column.
std::string_view KeyOf(const Column& column) {
  constexpr std::pair<std::string_view, std::string_view> kKeys[] = {
      {"name", "label"}, {"hierarchy_tag", "tag"}, {"role_path", "role"}};
  for (const auto& [heading, key] : kKeys) {
    if (column.heading == heading) return key;
  }
  return column.heading;
}

class GraphmlWriter {
 public:
  GraphmlWriter(const TaggedModel& model, const Sink& write)
      : model_(model),
        tagging_(model.tagging()),
        write_(write),
        format_(model.tagging()),
        nodes_(model.model(), model.tagging()),
        places_(PlacesOf(model.tagging().modules)) {}

  void Run() {
    write_(kHead);
    WriteKey("kind", "string");
    for (const Column& column : columns_) {
      const std::string_view key = KeyOf(column);
      if (key.empty()) continue;
      WriteKey(key,
               IsOneOf(key, {"index", "layer", "line"}) ? "long" : "string");
    }
    for (const std::string_view key : kCounts) WriteKey(key, "long");
    write_(
        "<key id=\"edge\" for=\"edge\" attr.name=\"kind\" "
        "attr.type=\"string\"/>\n<graph id=\"G\" edgedefault=\"directed\">\n");
    Modules();
    for (const NodeId node : model_.model().Nodes()) Node(node);
    Edges();
    write_("</graph>\n</graphml>\n");
  }

 private:
  std::string IdOf(ModuleId id) const {
    return fmt::format("m{}", places_[id]);
  }
  static std::string IdOf(NodeId node) {
    return fmt::format("n{}", Index(node));
  }

  void WriteKey(std::string_view key, std::string_view type) {
    write_(
        fmt::format("<key id=\"{0}\" for=\"node\" attr.name=\"{0}\" "
                    "attr.type=\"{1}\"/>\n",
                    key, type));
  }

  void Modules() {
    const ModuleCounts counts(tagging_);
    const ParameterCounts parameters = model_.parameters();
    const ModuleTree& tree = tagging_.modules;
    for (const ModuleId id : tree.All()) {
      std::string out = fmt::format("<node id=\"{}\">", IdOf(id));
      const std::string path = tree.Path(id);
      AddData(out, "kind", "module");
      AddData(out, "label", path.empty() ? kRootText : tree.Atom(id));
      AddData(out, "module", path);
      AddData(out, "class", tree.Class(id));
      AddData(out, "tag", format_.HierarchyTag(id));
      AddData(out, "role", format_.RolePath(id));
      AddData(out, "nodes", std::to_string(counts.Own(id)));
      AddData(out, "total_nodes", std::to_string(counts.Total(id)));
      AddData(out, "parameters", std::to_string(parameters.own[id]));
      write_(out + "</node>\n");
    }
  }

  void Node(NodeId node) {
    std::string out = fmt::format("<node id=\"{}\">", IdOf(node));
    AddData(out, "kind", "node");
    const Table::Row row = nodes_.Row(node);
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string_view key = KeyOf(columns_[i]);
      const auto* const text = row[i].As<std::string>();
      const auto* const list = row[i].As<Datum::List>();
      if (key.empty() || row[i].IsNull() ||
          (list != nullptr && list->empty())) {
        continue;
      }
      AddData(out, key, text != nullptr ? *text : JsonText(row[i]));
    }
    write_(out + "</node>\n");
  }

  void Edge(std::string_view kind, const std::string& from,
            const std::string& to) {
    write_(
        fmt::format("<edge source=\"{}\" target=\"{}\"><data "
                    "key=\"edge\">{}</data></edge>\n",
                    from, to, kind));
  }

  void Edges() {
    const ModuleTree& tree = tagging_.modules;
    for (const ModuleId id : tree.All()) {
      if (id == ModuleTree::kRoot) continue;
      Edge("contains", IdOf(tree.Parent(id)), IdOf(id));
    }
    for (const NodeId node : model_.model().Nodes()) {
      const Tag& tag = tagging_.tags[node];
      if (tag.tagged()) Edge("contains", IdOf(tag.module), IdOf(node));
    }
    for (const auto& [from, to] : DataEdges(model_.model())) {
      Edge("data", IdOf(from), IdOf(to));
    }
  }

  const TaggedModel& model_;
  const Tagging& tagging_;
  const Sink& write_;
  const ModuleFormat format_;
  const NodeTable nodes_;
  const std::vector<Column> columns_ = NodeTable::Columns();
  const IdVector<ModuleId, std::uint32_t> places_;
};

// Nodes of the model and modules are nodes of one flat graph, which every
// reader understands: `contains` edges for the tree, `data` edges for values.
void WriteGraphml(const TaggedModel& model, const Sink& write) {
  GraphmlWriter(model, write).Run();
}

using Writer = void (*)(const TaggedModel&, const Sink&);

// In the order of ExportFormat.
constexpr std::array<Writer, kExportFormatNames.size()> kWriters = {
    WriteGraphml, WriteTsv<Format::kTsv>, WriteNetron, WriteSidecarOf};

}  // namespace

Result RunExport(const ExportOptions& options, Terminal& terminal) {
  const TaggedModel model = TaggedModel::Load(options, terminal);
  const Writer writer = options.safe ? WriteTsv<Format::kTsvSafe>
                                     : kWriters[Index(options.format)];
  const MappedFile nothing = MappedFile::FromBytes("", options.model);
  WriteOptions write;
  write.force = options.force;
  PendingOutputs outputs(
      model.file() != nullptr ? model.file()->file() : nothing, model.inputs(),
      write, terminal);
  outputs.AddDocument(
      options.output.empty() ? "-" : options.output, "",
      [&](wire::Rewrite::Sink& sink) {
        writer(model, [&](std::string_view text) { sink.Write(text); });
      });
  outputs.Finish();
  return {};
}

}  // namespace onnx_tag
