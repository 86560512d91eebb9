// Nodes of a tagged model: those that the user means, and what is said of each.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "app/commands/read/tagged_model.h"
#include "app/render/result.h"
#include "core/tagging/module_format.h"
#include "file/io/terminal.h"

namespace onnx_tag {

// `#17`, `12:then_branch#3`, `name=...`, `output=...`, or a bare word: a name
// or an output. Throws Error(kUsage) if none or more than one is meant.
NodeId SelectNode(const Model& model, std::string_view selector);

struct Selection {
  TaggedModel model;
  std::vector<NodeId> nodes;  // in the order of the file
};

// The nodes that fit a query. Where nothing fits, says on stderr why, with the
// closest matches. A query that cannot be read is refused before the model is.
Selection SelectNodes(const TaggedModelOptions& options,
                      const std::string& query, Terminal& terminal);

// Nodes as programs read them, a column for each fact. A new fact about nodes
// is a column here: `query`, `explain` and `export` then have it.
class NodeTable {
 public:
  // All must outlive it.
  NodeTable(const Model& model, const Tagging& tagging)
      : model_(model), tagging_(tagging), format_(tagging) {}

  static std::vector<Column> Columns();
  Table::Row Row(NodeId node) const;

 private:
  const Model& model_;
  const Tagging& tagging_;
  ModuleFormat format_;
};

// Says how many of the nodes that a result rests on have tags of low
// confidence, and in which modules. With --strict that is a finding of `result`
// and gives false: nothing may be written.
[[nodiscard]] bool MayRestOn(const std::vector<NodeId>& nodes,
                             const TaggedModel& model,
                             const TaggedModelOptions& options,
                             Terminal& terminal, Result& result);

// The module of a node as people see it; `none` if it has no tag.
std::string ModuleOf(const Tagging& tagging, NodeId node,
                     std::string_view none);

// "#17 MatMul /encoder/MatMul"; each word is cut after so many bytes.
std::string NodeText(const Model& model, NodeId node, std::size_t longest);

// "#17  /encoder/MatMul: it has no module"
std::string NodeLine(const Model& model, NodeId node, std::string_view why);

// A node that something cannot be done with, and why.
struct Obstacle {
  NodeId node;
  std::string why;
};
std::vector<std::string> ObstacleLines(const Model& model,
                                       const std::vector<Obstacle>& obstacles);

// How many nodes have each name.
class NameUses {
 public:
  // `model` must outlive it.
  explicit NameUses(const Model& model) : model_(model) {
    for (const NodeId node : model.Nodes()) ++uses_[model[node].name];
  }
  std::uint64_t Of(NodeId node) const { return uses_.at(model_[node].name); }
  // The name; the address where the name does not tell it from another.
  std::string Label(NodeId node) const {
    const std::string_view name = model_[node].name;
    return name.empty() || Of(node) > 1 ? model_.Address(node)
                                        : std::string(name);
  }

 private:
  const Model& model_;
  std::unordered_map<std::string_view, std::uint64_t> uses_;
};

// {"file", "line", "function", "text"}
Datum LineValue(const SourceLine& line);

// `"graph": ..., "index": ..., "name": ..., "op": ...`
Datum NodeValue(const Model& model, NodeId node);

}  // namespace onnx_tag
