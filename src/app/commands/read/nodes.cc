#include "app/commands/read/nodes.h"

#include <algorithm>
#include <optional>

#include "app/render/render.h"
#include "base/like_words.h"
#include "base/parse_number.h"
#include "core/hierarchy/name_parts.h"
#include "core/query/matcher.h"
#include "core/query/parser.h"
#include "core/tagging/scope_path.h"
#include "core/tagging/words.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

// How many of several nodes an error lists.
constexpr std::size_t kListedNodes = 10;

// `GRAPH#INDEX`; nothing if it does not read like one.
std::optional<NodeId> ByAddress(const Model& model, std::string_view selector) {
  const std::size_t hash = selector.rfind('#');
  if (hash == std::string_view::npos) return std::nullopt;
  const auto index = ParseWhole<std::uint32_t>(selector.substr(hash + 1));
  if (!index) return std::nullopt;
  for (const GraphId graph : model.Graphs()) {
    if (model.GraphPath(graph) != selector.substr(0, hash)) continue;
    const std::vector<NodeId>& nodes = model[graph].nodes;
    if (*index < nodes.size()) return nodes[*index];
    Fail(ErrorKind::kUsage, "no node {}: the graph has {}", selector,
         Count(nodes.size(), "node"));
  }
  return std::nullopt;
}

bool HasOutput(const Model& model, NodeId node, std::string_view name) {
  for (const ValueId output : model.Outputs(node)) {
    if (output != kNo<ValueId> && model.ValueName(output) == name) return true;
  }
  return false;
}

// ", did you mean '/encoder/MatMul'?": names of nodes that are like `word`.
std::string LikeNodes(const Model& model, std::string_view word) {
  // Comparing with more names would take too long for a hint.
  constexpr std::size_t kMostNames = 20'000;
  constexpr std::size_t kListed = 3;
  std::vector<std::string_view> names;
  for (const NodeId node : model.Nodes()) {
    if (names.size() == kMostNames) break;
    if (!model[node].name.empty()) names.push_back(model[node].name);
  }
  const std::vector<std::string_view> like = LikeWords(word, names, kListed);
  if (like.empty()) return "";
  return like.size() == 1 ? Message(", did you mean '{}'?", Short{like[0], 200})
                          : "; similar: " + FirstOf(like, kListed, 100);
}

// Version 0.2 wrote no origins into files.
void WarnOfMissingFields(const query::Expression& expression,
                         const TaggedModel& model, Terminal& terminal) {
  if (!model.tagging().facts.empty()) return;
  for (const query::Condition& condition : expression.conditions) {
    if (condition.field != query::Field::kOrigin &&
        condition.field != query::Field::kClassConfidence) {
      continue;
    }
    terminal.Note(
        "the tags in this file do not contain {}; tag it again, query its "
        "sidecar, or add --remap",
        query::InfoOf(condition.field).name);
    return;
  }
}

}  // namespace

NodeId SelectNode(const Model& model, std::string_view selector) {
  if (const std::optional<NodeId> node = ByAddress(model, selector)) {
    return *node;
  }
  std::string_view word = selector;
  const bool by_output = !hierarchy::ConsumePrefix(word, "name=");
  const bool by_name = !by_output || !hierarchy::ConsumePrefix(word, "output=");
  std::vector<NodeId> found;
  for (const NodeId node : model.Nodes()) {
    if ((by_name && model[node].name == word) ||
        (by_output && HasOutput(model, node, word))) {
      found.push_back(node);
    }
  }
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    Fail(ErrorKind::kUsage,
         "no node '{}'{}\n  give its name, one of its outputs, or its index: "
         "#INDEX or GRAPH#INDEX",
         selector, Ours{LikeNodes(model, word)});
  }
  const auto lines = Mapped(found, [&](NodeId node) {
    return Message("{}  {} {}", model.Address(node),
                   Short{model.OpType(node), 40}, Short{model[node].name, 60});
  });
  Fail(ErrorKind::kUsage, "'{}' matches {}; choose one:{}", selector,
       Count(found.size(), "node"), Ours{ListLines(lines, kListedNodes)});
}

Selection SelectNodes(const TaggedModelOptions& options,
                      const std::string& query, Terminal& terminal) {
  const query::Expression expression = query::Parse(query);
  Selection selection{TaggedModel::Load(options, terminal), {}};
  const Tagging& tagging = selection.model.tagging();
  const Model& nodes = selection.model.model();
  WarnOfMissingFields(expression, selection.model, terminal);
  const query::Matcher matcher(expression, tagging, nodes);
  selection.nodes = matcher.All();
  if (selection.nodes.empty()) {
    for (const std::string& line :
         query::WhyNothingFits(expression, tagging, nodes, matcher)) {
      terminal.Report("{}", line);
    }
  }
  return selection;
}

std::vector<Column> NodeTable::Columns() {
  return {{"graph", "graph"},
          {"index", "index"},
          {"name", "name"},
          {"op", "op"},
          {"domain", "domain"},
          {"module", "module", For::kAll, "-"},
          {"class", "class"},
          {"class_confidence", "class_confidence", For::kJson},
          {"hierarchy_tag", "hierarchy_tag"},
          {"tag_module", "tag_module", For::kJson},
          {"tag_module_class", "tag_module_class", For::kJson},
          {"tag_class_confidence", "tag_class_confidence", For::kJson},
          {"role_path", "role_path"},
          {"semantic.type", "type"},
          {"semantic.component", "component"},
          {"semantic.attention_kind", "attention"},
          {"semantic.layer", "layer"},
          {"semantic.confidence", "type_confidence", For::kJson},
          {"confidence", "confidence"},
          {"source", "source"},
          {"evidence", "evidence", For::kJson},
          {"origins", "origins"},
          {"scope_path", "scope_path", For::kJson},
          {"source_line", "", For::kJson},
          {"", "file", For::kPrograms},
          {"", "line", For::kPrograms},
          {"", "function", For::kPrograms}};
}

Table::Row NodeTable::Row(NodeId node) const {
  Table::Row row = {model_.GraphPath(node), model_[node].index,
                    model_[node].name, model_.OpType(node),
                    model_.Domain(node)};
  const Tag& tag = tagging_.tags[node];
  if (tag.tagged()) {
    const Role& role = tagging_.roles[tag.role];
    const ModuleTree& tree = tagging_.modules;
    const ModuleId tag_module = format_.TagModule(tag.module);
    row.insert(
        row.end(),
        {Datum::Module(tree.Path(tag.module)),
         Datum::OrNull(ClassOf(tagging_, tag.module)),
         Datum::OrNull(tagging_.ClassConfidenceName(tag.module)),
         format_.HierarchyTag(tag), tree.Path(tag_module),
         Datum::OrNull(ClassOf(tagging_, tag_module)),
         Datum::OrNull(format_.TagClassConfidence(tag.module)),
         format_.RolePath(tag.module), EnumToWord(kRoleTypeNames, role.type),
         Datum::OrNull(role.component),
         Datum::OrNull(EnumToWord(kAttentionKindNames, role.attention_kind)),
         role.layer < 0 ? Datum() : role.layer,
         EnumToWord(kConfidenceNames, role.confidence),
         EnumToWord(kConfidenceNames, tag.confidence),
         EnumToWord(kSourceNames, tag.source),
         EnumToWord(kEvidenceNames, tag.evidence)});
  } else {
    row.resize(row.size() + 16);
  }
  // The further modules of a fused node.
  row.push_back(ListOf(tagging_.OriginsOf(node), [&](const Origin& origin) {
    return tagging_.modules.Path(origin.module);
  }));
  row.push_back(Datum::OrNull(ScopePath(model_, node)));
  if (const std::optional<SourceLine> line = tagging_.lines.Of(node)) {
    row.insert(row.end(),
               {LineValue(*line), line->file, line->line, line->function});
  } else {
    row.resize(row.size() + 4);
  }
  return row;
}

Datum LineValue(const SourceLine& line) {
  return Datum::Object({{"file", line.file},
                        {"line", line.line},
                        {"function", Datum::OrNull(line.function)},
                        {"text", Datum::OrNull(line.text)}});
}

std::string ModuleOf(const Tagging& tagging, NodeId node,
                     std::string_view none) {
  const Tag& tag = tagging.tags[node];
  return tag.tagged() ? tagging.modules.Shown(tag.module) : std::string(none);
}

std::string NodeText(const Model& model, NodeId node, std::size_t longest) {
  std::string text = Message("{}", model.Address(node));
  for (const std::string_view word : {model.OpType(node), model[node].name}) {
    if (!word.empty()) text += Message(" {}", Short{word, longest});
  }
  return text;
}

std::string NodeLine(const Model& model, NodeId node, std::string_view why) {
  return Message("{}  {}: {}", model.Address(node),
                 Short{model[node].name, 100}, why);
}

std::vector<std::string> ObstacleLines(const Model& model,
                                       const std::vector<Obstacle>& obstacles) {
  return Mapped(obstacles, [&](const Obstacle& obstacle) {
    return NodeLine(model, obstacle.node, obstacle.why);
  });
}

Datum NodeValue(const Model& model, NodeId node) {
  return Datum::Object({{"graph", model.GraphPath(node)},
                        {"index", model[node].index},
                        {"name", model[node].name},
                        {"op", model.OpType(node)}});
}

bool MayRestOn(const std::vector<NodeId>& nodes, const TaggedModel& model,
               const TaggedModelOptions& options, Terminal& terminal,
               Result& result) {
  constexpr std::size_t kNamed = 3;
  const Tagging& tagging = model.tagging();
  std::size_t guessed = 0;
  std::vector<std::string> modules;
  for (const NodeId node : nodes) {
    const Tag& tag = tagging.tags[node];
    if (!tag.tagged() || tag.confidence > Confidence::kLow) continue;
    ++guessed;
    const std::string path = tagging.modules.Shown(tag.module);
    const bool is_new =
        std::find(modules.begin(), modules.end(), path) == modules.end();
    if (modules.size() <= kNamed && is_new) modules.push_back(path);
  }
  if (guessed == 0) return true;
  const bool more = modules.size() > kNamed;
  if (more) modules.resize(kNamed);
  const std::string text = Message("the confidence of {} of {} is low, in {}{}",
                                   guessed, Count(nodes.size(), "node"),
                                   Join(modules), more ? " and others" : "");
  if (options.source.strict) {
    result.Finding(
        "{}: {}\n  --strict refuses that; see the reasons with: onnx-tag "
        "explain",
        options.model, Ours{text});
    return false;
  }
  terminal.Note("{}; --strict refuses that", Ours{text});
  return true;
}

}  // namespace onnx_tag
