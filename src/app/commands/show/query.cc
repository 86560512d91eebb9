#include <algorithm>
#include <map>
#include <memory>

#include "app/commands/commands.h"
#include "app/commands/read/nodes.h"
#include "app/commands/read/rollup.h"
#include "app/render/render.h"

namespace onnx_tag {

namespace {

// How many nodes have each combination of keys, the most common first.
Result CountByKeys(const QueryOptions& options, const Selection& selection) {
  const TaggedModel& model = selection.model;
  std::vector<NodeKey> keys;
  for (const std::string& name : options.by) keys.emplace_back(model, name);
  std::map<std::vector<std::string>, std::uint64_t> counts;
  for (const NodeId node : selection.nodes) {
    ++counts[Mapped(keys,
                    [&](const NodeKey& key) { return key.Of(node).name; })];
  }
  std::vector<std::pair<std::vector<std::string>, std::uint64_t>> rows(
      counts.begin(), counts.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.second > b.second;
  });
  const auto facts_of = [&](const auto& row) {
    Facts facts = {{NumberColumn("nodes", "nodes", 8), row.second}};
    for (std::size_t i = 0; i < keys.size(); ++i) {
      facts.push_back(
          {{.key = keys[i].name(), .heading = keys[i].name(), .longest = 70},
           row.first[i]});
    }
    return facts;
  };
  Result result;
  result.Add(TableOf(rows, facts_of));
  result.rows.push_back(TableOf(rows, facts_of));
  result.data = Datum::Object({{"file", model.about().file},
                               {"tags_from", model.source()},
                               {"query", options.query},
                               {"total_nodes", model.model().node_count()},
                               {"matched", selection.nodes.size()},
                               {"by", options.by},
                               {"rows", ObjectsOf(rows, facts_of)}});
  if (selection.nodes.empty()) result.exit_code = ExitCode::kFindings;
  return result;
}

}  // namespace

Result RunQuery(const QueryOptions& options, Terminal& terminal) {
  const auto selection = std::make_shared<const Selection>(
      SelectNodes(options, options.query, terminal));
  if (options.count || !options.by.empty())
    return CountByKeys(options, *selection);
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
      use({list[node].name.empty() ? Datum(list.Address(node)).Colored("33")
                                   : Datum(list[node].name).Colored("36")});
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
