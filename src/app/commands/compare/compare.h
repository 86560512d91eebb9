// What differs between two models: module by module, node by node.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "app/commands/read/tagged_model.h"
#include "app/render/result.h"
#include "onnx_tag/model.h"

namespace onnx_tag {

// compare_tags.cc: two tagged versions of a model, module by module.

using OperatorCounts = std::map<std::string, std::uint64_t>;

// What is different about a module, without those below it.
struct ModuleDifference {
  bool untagged = false;  // the nodes without a module
  std::string path;
  std::string class_a;
  std::string class_b;
  bool in_a = false;  // it, or one below it, has nodes
  bool in_b = false;
  std::uint64_t nodes_a = 0;
  std::uint64_t nodes_b = 0;
  OperatorCounts added;    // nodes that only B has
  OperatorCounts removed;  // nodes that only A has
  // Nodes that are another operator in B.
  std::map<std::pair<std::string, std::string>, std::uint64_t> changed;
  // Nodes with other inputs, attributes, types or shapes of weights: "Conv
  // strides [1, 1] -> [2, 2]", "MatMul reads layers.0 instead of layers.1".
  OperatorCounts altered;
  std::uint64_t moved_in = 0;   // nodes that A has elsewhere
  std::uint64_t moved_out = 0;  // nodes that B has elsewhere
  std::uint64_t roles = 0;      // nodes with another role

  bool other_class() const {
    return !class_a.empty() && !class_b.empty() && class_a != class_b;
  }
  bool only_in_one() const { return !untagged && in_a != in_b; }
  bool differs() const;
};

// One node whose tag names another module in B.
struct MovedNode {
  NodeId a;
  NodeId b;
};

struct TagDifference {
  std::vector<ModuleDifference> modules;  // those that differ
  std::vector<MovedNode> moved;           // in B's order
  std::uint64_t modules_a = 0;            // that have nodes, or hold some
  std::uint64_t modules_b = 0;
  std::uint64_t added = 0;
  std::uint64_t removed = 0;
  std::uint64_t changed = 0;
  std::uint64_t altered = 0;
  std::uint64_t roles = 0;
  std::vector<std::string> opsets;  // "ai.onnx 17 -> 18"
  // "input x float32 [1, 3] -> float32 [1, 4]"
  std::vector<std::string> interface;
  // If weights were compared: pairs of tensors. Unread are those with values
  // that are missing or outside the folder of their model.
  std::uint64_t equal_weights = 0;
  std::uint64_t changed_weights = 0;
  std::uint64_t unread_weights = 0;

  bool empty() const {
    return modules.empty() && moved.empty() && opsets.empty() &&
           interface.empty();
  }
};

// `weights`: also the values of weights. Then both must be models.
TagDifference CompareTags(const TaggedModel& a, const TaggedModel& b,
                          bool weights = false);

// Calls `use(place, x, y)` with the values of two nodes at the same place,
// where both have one.
template <typename Use>
void ForEachPair(std::span<const ValueId> a, std::span<const ValueId> b,
                 const Use& use) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i] != kNo<ValueId> && b[i] != kNo<ValueId>) use(i, a[i], b[i]);
  }
}

// compare_nodes.cc: what differs between two nodes, and between the outsides of
// two models.

// What differs between two nodes with the same operator: "strides [1, 1] ->
// [2, 2]", "weight [64, 64] -> [64, 128]", "output float32 -> float16", "input
// 1 [1, 8, 4, 8] -> [1, 8, 2, 16]". The values of weights are not compared.
// `settings` has the pairs of constants that were compared before: thousands of
// nodes may read one.
using ComparedSettings = std::map<std::pair<ValueId, ValueId>, std::string>;
std::vector<std::string> CompareNodes(const Model& a, NodeId node_a,
                                      const Model& b, NodeId node_b,
                                      ComparedSettings& settings);

// "ai.onnx 17 -> 18"
std::vector<std::string> CompareOpsets(const Model& a, const Model& b);

// Inputs and outputs of the graph: "input x float32 [1, 3] -> float32 [1, 4]",
// "output y only in B".
std::vector<std::string> CompareInterfaces(const Model& a, const Model& b);

}  // namespace onnx_tag
