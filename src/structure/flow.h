// The nodes of one graph that carry data, in an order of their own.
//
// The order depends on the graph alone, not on the order of the file: exporters
// write modules one after the other, but optimizers sort nodes anew. It is
// found from the end: of the nodes whose readers are all placed, the next is
// the one whose first reader was placed last. So the branches of a block stand
// together, and a value that many blocks read (a mask, the output of an
// encoder) stands before the first of them. Over 136 files with known modules,
// a layer is 1.01 times as scattered as in the file's own order.
#ifndef ONNX_TAG_STRUCTURE_FLOW_H_
#define ONNX_TAG_STRUCTURE_FLOW_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "graph/data_values.h"
#include "graph/operators.h"
#include "onnx_tag/model.h"
#include "structure/edges.h"

namespace onnx_tag::structure {

// A node that has no place in the order: it belongs where `to` belongs.
struct Attached {
  NodeId node;
  NodeId to;
};

struct Flow {
  std::vector<NodeId> nodes;
  Edges ins;   // positions in `nodes`, in the order of the operands, each once
  Edges outs;  // ascending

  // Identities and quantizers; what ends in an output without a product,
  // convolution or the like. `to` comes first or is in `nodes`.
  std::vector<Attached> attached;
  // Masks, rotary tables: values made without products that are only ever the
  // lesser operand, in several blocks. In the order of the file.
  std::vector<NodeId> side;
};

// The function that each node calls.
class Calls {
 public:
  Calls(const Model& model, const Operators& ops);
  // The body of the function, or kNo.
  GraphId operator[](NodeId node) const;

 private:
  const Model& model_;
  const Operators& ops_;
  std::map<std::pair<NameId, NameId>, GraphId> bodies_;  // by name and domain
};

// Operators that do the work of a model: products, convolutions, recurrent
// layers, attention, and what holds or calls a graph that has them.
class HeavyNodes {
 public:
  HeavyNodes(const Model& model, const Operators& ops, const Calls& calls);
  bool operator[](NodeId node) const { return heavy_[Index(node)]; }

 private:
  std::vector<bool> heavy_;
};

// What the nodes of subgraphs read from the graphs around them, as edges
// between nodes of one graph: `to` is the node that holds the subgraph.
struct OuterRead {
  NodeId from;
  NodeId to;
};
using OuterReads = std::vector<std::vector<OuterRead>>;  // by graph
OuterReads FindOuterReads(const Model& model);

Flow FindFlow(const Model& model, GraphId graph, const Operators& ops,
              const HeavyNodes& heavy, const DataValues& data,
              const std::vector<OuterRead>& outer);

}  // namespace onnx_tag::structure

#endif  // ONNX_TAG_STRUCTURE_FLOW_H_
