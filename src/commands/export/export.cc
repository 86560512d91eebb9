#include <fmt/core.h>

#include "commands/commands.h"
#include "commands/export/graph_formats.h"
#include "commands/output/pending_outputs.h"
#include "commands/read/nodes.h"
#include "onnx_tag/error.h"
#include "tagging/module_format.h"
#include "tagging/tag_format.h"
#include "tagging/words.h"
#include "weights/weight_map.h"

namespace onnx_tag {
namespace {

// A line for each node.
void WriteTsv(const TaggedModel& model, const Sink& write) {
  const NodeTable nodes(model.model(), model.tagging());
  Result result;
  result.rows.push_back({NodeTable::Columns(), {}, [&](const Table::Use& use) {
                           for (const NodeId node : model.model().Nodes())
                             use(nodes.Row(node));
                         }});
  Render(result, Format::kTsv, false, write);
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
      Add(keys::kHierarchyTag, format.HierarchyTag(tag.module));
      Add(keys::kTagModule, tree.Path(format.TagModule(tag.module)));
      Add(keys::kSemantic,
          fmt::format("{}{}{}", EnumToWord(kRoleTypeNames, role.type),
                      role.component.empty() ? "" : "/", role.component));
      if (role.layer >= 0) Add(keys::kLayer, std::to_string(role.layer));
      Add(keys::kConfidence, EnumToWord(kConfidenceNames, tag.confidence));
      Add(keys::kSource, EnumToWord(kSourceNames, tag.source));
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

using Writer = void (*)(const TaggedModel&, const Sink&);

// In the order of ExportFormat.
constexpr std::array<Writer, kExportFormatNames.size()> kWriters = {
    WriteGraphml, WriteDot, WriteTsv, WriteNetron, WriteSidecarOf};

}  // namespace

Result RunExport(const ExportOptions& options, Terminal& terminal) {
  const TaggedModel model =
      TaggedModel::Load(options.model, options.source, terminal);
  const Writer writer = kWriters[static_cast<std::size_t>(options.format)];
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
