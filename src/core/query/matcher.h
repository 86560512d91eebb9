// Finds the nodes that match an expression.
//
//   const Matcher matcher(expression, tagging, model);
//   for (NodeId node : matcher.All()) ...
#pragma once

#include <string>
#include <vector>

#include "core/query/parser.h"
#include "core/tagging/module_format.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag::query {

class Matcher {
 public:
  // All three must outlive the matcher. Conditions on modules and roles are
  // evaluated here, once for each module and role.
  Matcher(const Expression& expression, const Tagging& tagging,
          const Model& model);

  bool Fits(NodeId node) const;
  bool FitsCondition(std::size_t condition, NodeId node) const;
  // In the order of the file.
  std::vector<NodeId> All() const;

 private:
  using Table = std::vector<char>;

  Table TableFor(const Condition& condition) const;
  Table ByModule(const Condition& condition) const;
  // The modules of `table` and all modules below them.
  Table WithDescendants(Table table) const;
  Table ByOrigin(const Condition& condition) const;
  // By LineId; the last entry is for nodes without a line.
  Table ByLine(const Condition& condition) const;

  const Expression& expression_;
  const Tagging& tagging_;
  const Model& model_;
  Table used_;                 // modules that have nodes of their own
  std::vector<Table> tables_;  // by condition; empty: evaluated for each node
};

// Whether `text` matches one of the values, which may be patterns.
bool FitsText(const Condition& condition, std::string_view text);

// Hints for a query that matches no node.

// One sentence for each condition without a match, with the most similar
// values. If each condition has matches, one sentence with their counts. Ready
// to print.
std::vector<std::string> WhyNothingFits(const Expression& expression,
                                        const Tagging& tagging,
                                        const Model& model,
                                        const Matcher& matcher);

}  // namespace onnx_tag::query
