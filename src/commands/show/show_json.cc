#include "commands/read/tag_summary.h"
#include "commands/show/show_view.h"
#include "json/writer.h"
#include "tagging/words.h"

namespace onnx_tag {
namespace {

void AddList(JsonWriter& json, std::string_view key,
             const std::vector<std::string>& list) {
  json.Key(key).BeginArray();
  for (const std::string& text : list) json.String(text);
  json.EndArray();
}

class ShowJson {
 public:
  ShowJson(const ShowView& view, const ShowOptions& options, Terminal& terminal)
      : view_(view), options_(options), terminal_(terminal) {}

  void Print() const {
    JsonWriter json;
    json.BeginObject();
    AddHeader(json);
    json.Key("modules").BeginArray();
    FoldOptions folding{false, std::nullopt};
    if (options_.depth) folding.depth = *options_.depth;
    for (const ModuleId top : view_.tops) {
      view_.tree.ForEachRow(top, folding, [&](const FoldedRow& row) {
        AddModule(json, row.modules.front());
        terminal_.Out(json.Take());
      });
    }
    json.EndArray();
    if (options_.nodes && view_.whole()) {
      AddNodes(json.Key("untagged_nodes"), kNo<ModuleId>);
    }
    json.EndObject();
    terminal_.Out(json.Take() + "\n");
  }

 private:
  void AddNodes(JsonWriter& json, ModuleId module) const {
    const NodeList& nodes = view_.model.nodes();
    json.BeginArray();
    for (const NodeId node : view_.nodes.Of(module)) {
      json.BeginObject();
      json.Key("graph").String(nodes.Graph(node));
      json.Key("index").Number(nodes.IndexOf(node));
      json.Key("name").String(nodes.Name(node));
      json.Key("op").String(nodes.Op(node));
      json.EndObject();
    }
    json.EndArray();
  }

  void AddHeader(JsonWriter& json) const {
    const SidecarModel& about = view_.model.about();
    json.Key("file").String(about.file);
    json.Key("tags_from").String(view_.model.source());
    AddCoverage(json, view_.coverage);
    AddCounts(json, "by_type", kRoleTypeNames, view_.coverage.by_type);
    json.Key("parameters").Number(view_.parameters.all);
    json.Key("unplaced_parameters").Number(view_.parameters.unplaced);
    AddSizes(json, view_.sizes);
    json.Key("producer").StringOrNull(about.producer);
    json.Key("dialect").StringOrNull(about.dialect);
    json.Key("root_class").StringOrNull(view_.tagging.root.name);
    json.Key("root_confidence")
        .StringOrNull(view_.tagging.root.ConfidenceName());
    AddList(json, "root_alternatives", view_.tagging.root.alternatives);
    json.Key("strategy").StringOrNull(view_.tagging.strategy);
  }

  void AddModule(JsonWriter& json, ModuleId module) const {
    json.BeginObject();
    json.Key("path").String(view_.tagging.modules.Path(module));
    json.Key("class").StringOrNull(view_.tagging.modules.Class(module));
    AddList(json, "candidates",
            Index(module) < view_.tagging.facts.size()
                ? view_.tagging.facts[module].candidates
                : std::vector<std::string>());
    json.Key("nodes").Number(view_.counts.Own(module));
    json.Key("total_nodes").Number(view_.counts.Total(module));
    json.Key("parameters").Number(view_.parameters.own[module]);
    json.Key("total_parameters").Number(view_.total_parameters[module]);
    if (view_.sizes) {
      json.Key("bytes").Number(view_.sizes->own[module].bytes);
      json.Key("total_bytes").Number(view_.totals[module].bytes);
      json.Key("flops").Number(view_.sizes->own[module].flops);
      json.Key("total_flops").Number(view_.totals[module].flops);
      json.Key("total_unknown_flops")
          .Number(view_.totals[module].unknown_flops);
    }
    AddCounts(json, "by_confidence", kConfidenceNames,
              view_.counts.ByConfidence(module));
    if (options_.nodes) AddNodes(json.Key("node_list"), module);
    json.EndObject();
  }

  const ShowView& view_;
  const ShowOptions& options_;
  Terminal& terminal_;
};

}  // namespace

void PrintShowJson(const ShowView& view, const ShowOptions& options,
                   Terminal& terminal) {
  ShowJson(view, options, terminal).Print();
}

}  // namespace onnx_tag
