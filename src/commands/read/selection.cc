#include "commands/read/selection.h"

#include <fmt/core.h>

#include "query/fields.h"
#include "query/matcher.h"
#include "query/parser.h"
#include "query/suggest.h"

namespace onnx_tag {
namespace {

// A tagged file has no room for origins; a sidecar and a mapping do.
void WarnOfMissingFields(const query::Expression& expression,
                         const TaggedModel& model, Terminal& terminal) {
  if (model.source() != "tags in the file") return;
  for (const query::Condition& condition : expression.conditions) {
    if (condition.field != query::Field::kOrigin) continue;
    terminal.Err(fmt::format(
        "onnx-tag: tags in a file do not contain {}; query the sidecar, or add "
        "--remap\n",
        query::InfoOf(condition.field).name));
    return;
  }
}

}  // namespace

Selection SelectNodes(const std::string& model, const std::string& query,
                      const TagSourceOptions& source, Terminal& terminal) {
  const query::Expression expression = query::Parse(query);
  Selection selection{TaggedModel::Load(model, source, terminal), {}};
  const Tagging& tagging = selection.model.tagging();
  const NodeList& nodes = selection.model.nodes();
  WarnOfMissingFields(expression, selection.model, terminal);
  const query::Matcher matcher(expression, tagging, nodes);
  selection.nodes = matcher.All();
  if (selection.nodes.empty()) {
    for (const std::string& line :
         query::WhyNothingFits(expression, tagging, nodes, matcher)) {
      terminal.Complain(fmt::format("onnx-tag: {}\n", line));
    }
  }
  return selection;
}

}  // namespace onnx_tag
