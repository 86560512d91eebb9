#include <fmt/core.h>

#include "base/text.h"
#include "commands/commands.h"
#include "commands/read/node_rows.h"
#include "commands/read/selection.h"
#include "json/writer.h"

namespace onnx_tag {
namespace {

// A node without a name is called by its place.
void PrintNames(const Selection& selection, Terminal& terminal) {
  const NodeList& nodes = selection.model.nodes();
  for (const NodeId node : selection.nodes) {
    const std::string_view name = nodes.Name(node);
    terminal.Out((name.empty() ? Printable(nodes.Address(node))
                               : Printable(name, name.size())) +
                 "\n");
  }
}

void PrintTsv(const Selection& selection, Terminal& terminal) {
  const NodeRows rows(selection.model);
  terminal.Out(NodeRows::TsvHeader());
  for (const NodeId node : selection.nodes) terminal.Out(rows.TsvLine(node));
}

void PrintJson(const Selection& selection, const std::string& query,
               Terminal& terminal) {
  const TaggedModel& model = selection.model;
  const NodeRows rows(model);
  JsonWriter json;
  json.BeginObject();
  json.Key("file").String(model.about().file);
  json.Key("tags_from").String(model.source());
  json.Key("query").String(query);
  json.Key("total_nodes").Number(model.nodes().size());
  json.Key("matched").Number(selection.nodes.size());
  json.Key("nodes").BeginArray();
  for (const NodeId node : selection.nodes) {
    rows.AddJson(json, node);
    terminal.Out(json.Take());
  }
  json.EndArray().EndObject();
  terminal.Out(json.Take() + "\n");
}

}  // namespace

ExitCode RunQuery(const QueryOptions& options, Terminal& terminal) {
  const Selection selection =
      SelectNodes(options.model, options.query, options.source, terminal);
  if (options.json) {
    PrintJson(selection, options.query, terminal);
  } else if (options.tsv) {
    PrintTsv(selection, terminal);
  } else {
    PrintNames(selection, terminal);
  }
  return selection.nodes.empty() ? ExitCode::kFindings : ExitCode::kOk;
}

}  // namespace onnx_tag
