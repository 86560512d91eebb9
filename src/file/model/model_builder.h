// Makes a Model of a list of nodes, as a sidecar has it.
//
//   ModelBuilder builder;
//   builder.Add({.graph = "", .index = 0, .name = "Add_7", .op = "Add", ...});
//   const Model model = builder.Build(inputs, outputs);
//
// The model has names and edges, but no weights, types, attributes or metadata
// besides scope paths.
// A value without a producer is an input of the main graph or a weight; inputs
// of branches and functions are not listed either.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "file/model/reader.h"
#include "onnx_tag/model.h"

namespace onnx_tag {

// The key of the one entry that a node of such a model may have; never in a
// file.
inline constexpr std::string_view kScopePathKey = "scope_path";

// All texts are copied.
struct NodeRow {
  std::string_view graph;  // its path
  std::uint32_t index = 0;
  std::string_view name;
  std::string_view op;
  std::string_view domain;
  std::optional<std::string> scope_path = {};  // none: not said
  std::span<const std::string_view> inputs;    // "" for an omitted one
  std::span<const std::string_view> outputs;
};

class ModelBuilder {
 public:
  // Gives a node of a model another name, which is copied.
  static void Rename(Model& model, NodeId node, std::string_view name) {
    model.nodes_[node].name = model.owned_texts_.Keep(name);
  }

  ModelBuilder();

  // In the order of the file: nodes get the ids 0, 1, 2, ...
  void Add(const NodeRow& row);
  // Of the main graph. Call it once.
  Model Build(std::span<const std::string> inputs,
              std::span<const std::string> outputs);

 private:
  NameId Intern(std::string_view text);
  GraphId GraphAt(std::string_view path);
  void DescribeGraph(GraphId id);
  void MakeFunction(GraphId id);
  NodeId NodeAt(GraphId graph, std::uint32_t index) const;
  void MarkOutputs();

  Model model_;
  std::vector<GraphNames> names_;
  std::unordered_map<std::string_view, GraphId> graphs_;  // by path
  GraphId last_graph_{0};
};

}  // namespace onnx_tag
