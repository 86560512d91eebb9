// The nodes of a model or of a sidecar, with one interface for both.
//
//   const NodeList nodes(model);  // or the rows of a sidecar
//   for (NodeId id : nodes.All()) Use(nodes.Name(id), nodes.Inputs(id));
//
// A NodeId is the same as in Tagging::tags: the place of the node in the file.
#ifndef ONNX_TAG_TAGGING_NODE_LIST_H_
#define ONNX_TAG_TAGGING_NODE_LIST_H_

#include <string>
#include <string_view>
#include <vector>

#include "onnx_tag/model.h"
#include "tagging/sidecar.h"

namespace onnx_tag {

class NodeList {
 public:
  NodeList() = default;
  // `model` must outlive the list.
  explicit NodeList(const Model& model);
  explicit NodeList(std::vector<SidecarNode> rows) : rows_(std::move(rows)) {}

  std::size_t size() const {
    return model_ != nullptr ? model_->node_count() : rows_.size();
  }
  AllIds<NodeId> All() const { return AllIds<NodeId>(size()); }

  // Views are valid as long as the list lives, also after the list is moved.
  std::string_view Name(NodeId node) const {
    return model_ != nullptr ? (*model_)[node].name : Row(node).name;
  }
  std::string_view Op(NodeId node) const {
    return model_ != nullptr ? model_->OpType(node) : Row(node).op;
  }
  std::string_view Domain(NodeId node) const {
    return model_ != nullptr ? model_->Domain(node) : Row(node).domain;
  }
  // "" for the main graph, "12:then_branch", "fn:domain::name".
  std::string_view Graph(NodeId node) const {
    return model_ != nullptr ? graph_paths_[Index((*model_)[node].graph)]
                             : Row(node).graph;
  }
  // In its graph.
  std::uint32_t IndexOf(NodeId node) const {
    return model_ != nullptr ? (*model_)[node].index : Row(node).index;
  }
  // "" for an omitted input.
  std::vector<std::string_view> Inputs(NodeId node) const;
  std::vector<std::string_view> Outputs(NodeId node) const;

  // "#17", "12:then_branch#3": the form that `explain` accepts.
  std::string Address(NodeId node) const;

 private:
  const SidecarNode& Row(NodeId node) const { return rows_[Index(node)]; }

  const Model* model_ = nullptr;  // null: the nodes of a sidecar, in:
  std::vector<SidecarNode> rows_;
  std::vector<std::string> graph_paths_;  // of the model, by graph
};

}  // namespace onnx_tag

#endif  // ONNX_TAG_TAGGING_NODE_LIST_H_
