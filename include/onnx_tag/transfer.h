// Copies tags from one version of a model to another.
//
// Optimizers, quantizers and exporters change nodes and drop their metadata,
// but most of the graph stays the same. For each node of the new version, a
// transfer finds the corresponding node or nodes of the old version and copies
// their tag. It never reads a scope.
//
//   const Tagging carried = TransferTags(old_model, tags, model);
//
// The old version may be the `graph` of a sidecar.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "onnx_tag/tagging.h"

namespace onnx_tag {

struct MappingOptions;  // onnx_tag/mapping.h

// For each node of `to`, the corresponding node of `from`, or kNo. Each node of
// `from` occurs at most once.
IdVector<NodeId, NodeId> FindCounterparts(const Model& from, const Model& to);

// How the counterparts of the new nodes were found. The counts add up to the
// number of new nodes.
struct TransferCounts {
  std::uint64_t by_name = 0;         // the node or its output has the same name
  std::uint64_t by_structure = 0;    // the same place between matched nodes
  std::uint64_t fused = 0;           // made of several nodes
  std::uint64_t helpers = 0;         // inserted by a tool
  std::uint64_t nearby = 0;          // no counterpart; tagged by neighbours
  std::uint64_t no_counterpart = 0;  // untagged
  std::uint64_t open_in_from = 0;    // untagged, as its counterpart is

  std::uint64_t counterparts() const { return by_name + by_structure + fused; }
};

// Where the nodes and tensors of `to` come from, and what became of the nodes
// and weights of `from` that are gone. docs/guide/transfer.md has the words.
struct Lineage {
  struct Node {
    std::vector<NodeId> from;  // the node that it stands for comes first
    std::string_view how;
    Confidence confidence;
  };
  struct Tensor {
    ValueId to;
    ValueId from;  // kNo: it is new
    std::string_view how;
  };
  struct Gone {
    NodeId node;
    std::string_view why;
    NodeId into;  // of `to`, or kNo
  };
  IdVector<NodeId, Node> nodes;
  std::vector<Tensor> tensors;
  std::vector<Gone> gone;
  std::vector<std::pair<ValueId, std::string_view>> gone_tensors;
};

Tagging TransferTags(const Model& from, const Tagging& tags, const Model& to,
                     TransferCounts* counts = nullptr,
                     Lineage* lineage = nullptr);

// Gives untagged nodes the tags of a new mapping of the same file, and replaces
// carried tags that are less sure, unless the two name modules differently or
// the mapping only found a block. Returns the number of tags it took.
std::uint64_t TakeSurer(const Tagging& mapped, Tagging& carried);

struct Transferred {
  Tagging tagging;
  TransferCounts counts;
  std::uint64_t mapped = 0;  // tags that a mapping of `to` gave
  // Whether most nodes of one version have a counterpart in the other.
  bool same_model = true;
};

// TransferTags, then the tags of a mapping of `to` where those are surer.
// Of the options, recipes and frames count; the rest is as in `tags`.
Transferred TransferOrMap(const Model& from, const Tagging& tags,
                          const Model& to, const MappingOptions& options,
                          Lineage* lineage = nullptr);

}  // namespace onnx_tag
