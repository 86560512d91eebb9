// The part of a graph that a transfer uses. It is the same for a model and for
// a sidecar, which has names and edges, but no weights.
#ifndef ONNX_TAG_TRANSFER_OUTLINE_H_
#define ONNX_TAG_TRANSFER_OUTLINE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/interner.h"
#include "onnx_tag/model.h"
#include "tagging/node_list.h"

namespace onnx_tag::transfer {

// Operators and names of both versions. Equal ids are equal texts.
enum class TextId : std::uint32_t {};
using Texts = Interner<TextId>;

struct OutlineNode {
  TextId op;
  TextId name;
  GraphId graph;
  std::uint32_t first_operand;
  std::uint32_t input_count;
  std::uint32_t output_count;
};

struct OutlineValue {
  TextId name;
  GraphId graph;
  NodeId producer = kNo<NodeId>;
  std::uint32_t output = 0;  // of its producer
  std::uint64_t shape = 0;   // hash of a weight's shape; 0: none or unknown
  bool is_output = false;    // of its graph
};

struct OutlineGraph {
  NodeId parent = kNo<NodeId>;  // of a subgraph
  TextId label{0};              // its attribute, or a function's name
  std::vector<NodeId> nodes;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
};

class Outline {
 public:
  // Keeps views of the texts of the model or of the list.
  Outline(const Model& model, Texts& texts);
  // `inputs` and `outputs` are of the main graph.
  Outline(const NodeList& nodes, std::span<const std::string> inputs,
          std::span<const std::string> outputs, Texts& texts);

  std::size_t node_count() const { return nodes_.size(); }
  std::size_t value_count() const { return values_.size(); }
  AllIds<NodeId> Nodes() const { return AllIds<NodeId>(nodes_.size()); }
  AllIds<ValueId> Values() const { return AllIds<ValueId>(values_.size()); }
  AllIds<GraphId> Graphs() const { return AllIds<GraphId>(graphs_.size()); }
  const OutlineNode& operator[](NodeId id) const { return nodes_[id]; }
  const OutlineValue& operator[](ValueId id) const { return values_[id]; }
  const OutlineGraph& operator[](GraphId id) const { return graphs_[id]; }

  // kNo for an omitted input.
  std::span<const ValueId> Inputs(NodeId id) const {
    const OutlineNode& node = nodes_[id];
    return {operands_.data() + node.first_operand, node.input_count};
  }
  std::span<const ValueId> Outputs(NodeId id) const {
    const OutlineNode& node = nodes_[id];
    return {operands_.data() + node.first_operand + node.input_count,
            node.output_count};
  }
  // A node that reads the value twice occurs twice.
  std::span<const NodeId> Consumers(ValueId id) const {
    const std::uint32_t first = first_consumer_[Index(id)];
    return {consumers_.data() + first, first_consumer_[Index(id) + 1] - first};
  }
  // The graphs in a node's attributes.
  std::vector<GraphId> Subgraphs(NodeId id) const;

 private:
  void Link();

  IdVector<NodeId, OutlineNode> nodes_;
  IdVector<ValueId, OutlineValue> values_;
  IdVector<GraphId, OutlineGraph> graphs_;
  std::vector<ValueId> operands_;
  std::vector<std::uint32_t> first_consumer_;
  std::vector<NodeId> consumers_;
  std::vector<std::pair<NodeId, GraphId>> subgraphs_;  // sorted
};

}  // namespace onnx_tag::transfer

#endif  // ONNX_TAG_TRANSFER_OUTLINE_H_
