// Amounts of nodes, summed by a key: any measure by any key, for `show`,
// `profile`, `query --by` and the sums of `diff`.
//
//   const NodeKey key(model, "layer");
//   Rollup<std::uint64_t> counts;
//   for (const NodeId node : nodes) ++counts[key.Of(node)];
//   for (const auto& row : counts.rows()) ... row.label.name, row.amounts
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/commands/read/nodes.h"
#include "app/commands/read/tagged_model.h"

namespace onnx_tag {

// What a row stands for.
struct RowLabel {
  std::string name;    // "[untagged]" where the key says nothing of a node
  std::string detail;  // the class of a module, the module of a node, code
  bool placed = true;
};

class NodeKey {
 public:
  // `name` is one of RowKeyNames(): a key of its own, or a column of
  // `query --tsv`. `model` must outlive it. Throws Error(kUsage) with the
  // nearest name.
  NodeKey(const TaggedModel& model, std::string_view name);

  const std::string& name() const { return name_; }
  // Whether rows are in rows: modules.
  bool is_tree() const { return name_ == "module"; }
  // What a label's detail is: "class", or "".
  std::string_view detail() const;

  RowLabel Of(NodeId node) const;
  // Of a node that `module` runs, which calls the function that it is in.
  RowLabel Of(NodeId node, ModuleId module) const;

 private:
  const TaggedModel& model_;
  std::string name_;
  // Where the key is a column of the query's table.
  std::optional<NodeTable> nodes_;
  std::size_t column_ = 0;
};

// Sums of amounts that know `+=`.
template <typename Amounts>
class Rollup {
 public:
  struct Row {
    RowLabel label;
    Amounts amounts = {};
  };

  Amounts& operator[](const RowLabel& label) {
    const auto [at, added] =
        places_.try_emplace(std::pair(!label.placed, label.name), rows_.size());
    if (added) rows_.push_back({label});
    return rows_[at->second].amounts;
  }

  // In the order of their labels; what the key does not say comes last.
  std::vector<Row> Take() {
    std::vector<Row> sorted;
    for (const auto& [key, place] : places_) {
      sorted.push_back(std::move(rows_[place]));
    }
    return sorted;
  }

 private:
  std::map<std::pair<bool, std::string>, std::size_t> places_;
  std::vector<Row> rows_;
};

}  // namespace onnx_tag
