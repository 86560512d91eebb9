// Tags carried from one version of a model to another.
//
// Optimizers, quantizers and exporters change nodes and drop what is written
// on them; most of the graph stays what it was. A transfer finds for each node
// of the new version the node or nodes of the old one that it was, and gives
// it their tag. It carries the old answer: nothing in here reads a scope.
//
//   const NodeList nodes(old_model);
//   const Tagging carried = TransferTags({nodes, &old_model}, tags, model);
#ifndef ONNX_TAG_TRANSFER_H_
#define ONNX_TAG_TRANSFER_H_

#include <cstdint>

#include "onnx_tag/tagging.h"
#include "tagging/node_list.h"

namespace onnx_tag {

// A version of a model: the model, or what a sidecar says of its nodes.
struct Version {
  const NodeList& nodes;
  const Model* model;  // null: only the sidecar is at hand
};

// For each node of `to` the node of `from` that it is, or kNo. Each node of
// `from` is given once.
IdVector<NodeId, NodeId> FindCounterparts(const Version& from,
                                          const Version& to);

// How the nodes of the new version were found; they add up to its nodes.
struct TransferCounts {
  std::uint64_t by_name = 0;       // the node or its output is called the same
  std::uint64_t by_structure = 0;  // the same place between nodes so found
  std::uint64_t fused = 0;         // made out of several
  std::uint64_t helpers = 0;       // put in by a tool, for what they serve
  std::uint64_t nearby = 0;        // no counterpart; told by what is around
  std::uint64_t untagged = 0;      // not found, or the old one has no tag
};

Tagging TransferTags(const Version& from, const Tagging& tags, const Model& to,
                     TransferCounts* counts = nullptr);

}  // namespace onnx_tag

#endif  // ONNX_TAG_TRANSFER_H_
