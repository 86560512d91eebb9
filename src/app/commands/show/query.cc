#include <memory>

#include "app/commands/commands.h"
#include "app/commands/read/nodes.h"

namespace onnx_tag {

Result RunQuery(const QueryOptions& options, Terminal& terminal) {
  const auto selection = std::make_shared<const Selection>(
      SelectNodes(options, options.query, terminal));
  const TaggedModel& model = selection->model;
  Table nodes{NodeTable::Columns(), {}, [selection](const Table::Use& use) {
                const TaggedModel& from = selection->model;
                const NodeTable table(from.model(), from.tagging());
                for (const NodeId node : selection->nodes) use(table.Row(node));
              }};
  // For people, names alone. A node without a name is called by its place.
  Table names{{{.longest = std::string::npos}}, {}, {}};
  names.more = [selection](const Table::Use& use) {
    const Model& list = selection->model.model();
    for (const NodeId node : selection->nodes) {
      use({list[node].name.empty() ? Datum(list.Address(node))
                                   : Datum(list[node].name)});
    }
  };
  Result result;
  result.Add(std::move(names));
  result.data = Datum::Object({{"file", model.about().file},
                               {"tags_from", model.source()},
                               {"query", options.query},
                               {"total_nodes", model.model().node_count()},
                               {"matched", selection->nodes.size()},
                               {"nodes", nodes}});
  result.rows.push_back(std::move(nodes));
  if (selection->nodes.empty()) result.exit_code = ExitCode::kFindings;
  return result;
}

}  // namespace onnx_tag
